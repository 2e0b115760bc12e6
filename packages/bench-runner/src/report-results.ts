import { existsSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import {
  addReportOptions,
  costFactorsOf,
  type RawReportOptions,
  reportContent,
  writePaper,
  writeReport,
  writtenFiles,
} from '@pctodl/report'
import { playgroundAddress } from './playground-address.js'
import { reportedResults } from './reported-results.js'
import { ResultStore } from './result-store.js'

interface RawPlace {
  readonly out?: string
  readonly oracle: boolean
  readonly playground?: string
}

/** `bench-runner report FOLDER`: the results of a folder as a page, as Markdown, as CSV and as pictures. */
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
  const content = reportContent({
    ...reportedResults(new ResultStore(folder), { withOracle: raw.oracle }),
    factors: costFactorsOf(raw),
  })
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
