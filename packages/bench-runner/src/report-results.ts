import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { given, InvalidInputError, PctodlError } from '@pctodl/platform'
import {
  addReportOptions,
  parseRunRecord,
  type RawReportOptions,
  type ReportedRun,
  type ReportInput,
  writeReports,
} from '@pctodl/report'
import { loadStem } from './cell.js'
import type { Manifest } from './manifest.js'
import { oracleExplanation, oracleThroughput } from './oracle-throughput.js'
import { playgroundAddress, playgroundFragment } from './playground-address.js'
import { ResultStore } from './result-store.js'
import { capsWOf, contentOf, isServed } from './tasks.js'

interface RawOptions extends RawReportOptions {
  readonly out?: string
  readonly oracle: boolean
  readonly playground?: string
}

/** `bench-runner report FOLDER`: reports a folder of results as a page, Markdown, CSV and pictures. */
export const reportResults: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner report',
      description: 'Write the results of a folder as one self-contained page, Markdown, CSV and pictures.',
      example: 'bench-runner report ./benchmark_results --pictures',
    },
    terminal,
  )
    .argument('<folder>', 'the --result-dir of the runs')
    .option('--out <folder>', 'where the report goes (default: <folder>/report)')
    .option(
      '--playground <address>',
      'link runs to a playground: an address, or its folder (default: <out>/playground)',
    )
    .option('--no-oracle', 'omit the oracle, which takes about half a second per power cap')
  await parseCommand(addReportOptions(command), argv)
  const folder = command.args[0]!
  const raw = command.opts<RawOptions>()
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`${folder}: there is no such folder`)
  const out = raw.out ?? path.join(folder, 'report')
  const playground = playgroundAddress(raw.playground, out)
  const { results, failures } = new ResultStore(folder).readAll()
  if (results.length === 0) {
    throw new PctodlError('NO_RESULTS', `${folder}: no finished runs; run bench-runner --result-dir ${folder} first`)
  }
  // The oracle exists for simulated boards only.
  const simulated = results.flatMap(
    ({
      manifest: {
        cell: { task, ...cell },
      },
    }) => (cell.real || isServed(task) ? [] : [{ task, ...cell }]),
  )
  const best = raw.oracle ? oracleThroughput(simulated, folder) : new Map<string, number | null>()
  const input: ReportInput = {
    runs: results.map(({ manifest, recordFile }) => reportedRun(manifest, recordFile)),
    failures: failures.map(({ cell: { task, algorithm }, message }) => ({ task, algorithm, message })),
    oracle: { throughput: ({ stem }) => best.get(stem) ?? null, explanation: oracleExplanation },
  }
  return writeReports(input, { ...raw, out, playground }, terminal)
}

/** Converts a result to a run of a report. */
export function reportedRun(manifest: Manifest, recordFile: string): ReportedRun {
  const { cell, summary } = manifest
  const { task } = cell
  const { board, id } = task
  const fragment = playgroundFragment(cell)
  return {
    task: { board, id, ...contentOf(task), capsW: capsWOf(task), stem: path.basename(`${board}_${loadStem(cell)}`) },
    summary,
    repetition: cell.seed + 1000 * (cell.variant ?? 0),
    record: () => {
      if (!existsSync(recordFile))
        throw new InvalidInputError(recordFile, undefined, 'the record of a run; run it again')
      return parseRunRecord(readFileSync(recordFile, 'utf8'), recordFile)
    },
    recordFile,
    madeBy: makerOf(manifest),
    ...given({ playgroundFragment: fragment }),
  }
}

function makerOf({ madeBy, board, cell }: Manifest): string {
  const where = cell.real
    ? `${board.name} (${board.uuid}, driver ${board.driverVersion}; ${board.tenants})`
    : `the simulated ${board.name}`
  return `bench-runner ${madeBy.benchRunner} on ${where}, predictor parameters ${madeBy.predictorParameters.slice(0, 12)}`
}
