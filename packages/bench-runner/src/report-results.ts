import { existsSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import {
  addReportOptions,
  type RawReportOptions,
  type ReportedRun,
  type ReportInput,
  reportContent,
  writePaper,
  writeReport,
  writtenFiles,
} from '@pctodl/report'
import { loadStem } from './cell.js'
import type { Manifest } from './manifest.js'
import { type OracleThroughput, oracleExplanation, oracleThroughput } from './oracle-throughput.js'
import { playgroundAddress, playgroundFragment } from './playground-address.js'
import { ResultStore } from './result-store.js'
import { capsWOf, contentOf, isServed } from './tasks.js'

interface RawPlace {
  readonly out?: string
  readonly oracle: boolean
  readonly playground?: string
}

/** `bench-runner report FOLDER`: report a folder of results as a page, Markdown, CSV and pictures. */
export const reportResults: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner report',
      description: 'Set the results of a folder as one self-contained page, Markdown, CSV and pictures.',
      example: 'bench-runner report ./benchmark_results --pictures',
    },
    terminal,
  )
    .argument('<folder>', 'the --result-dir of the runs')
    .option('--out <folder>', 'where the report goes (default: <folder>/report)')
    .option(
      '--playground <address>',
      'link runs into a playground there: an address, or the folder of one that was exported (default: playground in the folder of the report, where it is)',
    )
    .option('--no-oracle', 'leave out the oracle, which takes about half a second a power cap')
  await parseCommand(addReportOptions(command), argv)
  const folder = command.args[0]!
  const raw = command.opts<RawReportOptions & RawPlace>()
  if (!existsSync(folder)) throw new UsageError(`${folder}: there is no such folder`)
  const out = raw.out ?? path.join(folder, 'report')
  const playground = playgroundAddress(raw.playground, out)
  const content = reportContent(reportedResults(new ResultStore(folder), { withOracle: raw.oracle }))
  if (content.boards.length === 0) {
    throw new PctodlError(
      'NO_RESULTS',
      `${folder}: no finished runs; run bench-runner with --result-dir ${folder} first`,
    )
  }
  const files = await writeReport(content, out, {
    pictures: raw.pictures ?? false,
    signal: terminal.signal,
    ...(playground === undefined ? {} : { playground }),
  })
  if (raw.paper !== undefined) files.push(...(await writePaper(content, raw.paper, terminal.signal)))
  terminal.stdout.write(writtenFiles(files, out, raw.json ?? false))
  return 0
}

/** Results of a folder as the input of a report. @throws InvalidInputError for a manifest that is none */
function reportedResults(store: ResultStore, { withOracle }: { readonly withOracle: boolean }): ReportInput {
  const { manifests, failures } = store.readAll()
  // The oracle exists for simulated boards only.
  const simulated = manifests.flatMap(({ cell: { task, ...cell } }) =>
    cell.real || isServed(task) ? [] : [{ task, ...cell }],
  )
  const best: OracleThroughput = withOracle ? oracleThroughput(simulated, store.folder) : new Map()
  return {
    runs: manifests.map((manifest) => reportedRun(manifest, store)),
    failures: failures.map(({ cell: { task, algorithm }, message }) => ({ task, algorithm, message })),
    oracle: { throughput: (task) => best.get(task.stem) ?? null, explanation: oracleExplanation },
  }
}

/** A result as a run of a report. */
export function reportedRun(manifest: Manifest, store: ResultStore): ReportedRun {
  const { cell, summary } = manifest
  const { task } = cell
  const { board, id } = task
  const fragment = playgroundFragment(cell)
  return {
    task: { board, id, ...contentOf(task), capsW: capsWOf(task), stem: `${board}_${loadStem(cell)}` },
    summary,
    repetition: cell.seed + 1000 * (cell.variant ?? 0),
    record: () => store.readRecord(cell),
    recordFile: store.recordFile(cell),
    madeBy: makerOf(manifest),
    ...(fragment === undefined ? {} : { playgroundFragment: fragment }),
  }
}

function makerOf({ madeBy, board, cell }: Manifest): string {
  const where = cell.real
    ? `${board.name} (${board.uuid}, driver ${board.driverVersion}; ${board.tenants})`
    : `the simulated ${board.name}`
  return `bench-runner ${madeBy.benchRunner} on ${where}, predictor parameters ${madeBy.predictorParameters.slice(0, 12)}`
}
