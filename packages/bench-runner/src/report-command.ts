import { existsSync } from 'node:fs'
import path from 'node:path'
import { renderPng, renderSvg } from '@pctodl/charts'
import {
  type CommandFunction,
  newCommand,
  numberBetween,
  parseCommand,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { usualCostFactors } from './page/cost.js'
import { htmlReport } from './page/html-report.js'
import { markdownReport } from './page/markdown-report.js'
import { oracleThroughput } from './page/reference-lines.js'
import { reportContent } from './page/report-content.js'
import { algorithmTable, everyTaskTable, tableAsCsv } from './page/report-tables.js'
import { ResultStore } from './result-store.js'

interface RawReportOptions {
  readonly out?: string
  readonly oracle: boolean
  readonly pictures?: boolean
  readonly pricePerKwh: number
  readonly currency: string
  readonly carbonPerKwh: number
  readonly json?: boolean
}

/** `bench-runner report FOLDER`: the results of a folder as a page, as Markdown, as CSV and as pictures. */
export const report: CommandFunction = async (argv, terminal) => {
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
    .option('--no-oracle', 'leave out the oracle, which takes about half a second a power cap')
    .option('--pictures', 'draw every chart as SVG and PNG too')
    .option('--price-per-kwh <price>', 'price of electricity', numberBetween(0, 1000), usualCostFactors.pricePerKwh)
    .option('--currency <name>', 'its currency', usualCostFactors.currency)
    .option(
      '--carbon-per-kwh <kg>',
      'emissions of electricity, kg CO2',
      numberBetween(0, 10),
      usualCostFactors.carbonKgPerKwh,
    )
    .option('--json', 'print the list of files as JSON')
  await parseCommand(command, argv)
  const folder = command.args[0]!
  const raw = command.opts<RawReportOptions>()
  if (!existsSync(folder)) throw new UsageError(`${folder}: there is no such folder`)
  const content = reportContent(
    new ResultStore(folder),
    (tasks) => (raw.oracle ? oracleThroughput(tasks, folder) : new Map()),
    { pricePerKwh: raw.pricePerKwh, currency: raw.currency, carbonKgPerKwh: raw.carbonPerKwh },
  )
  if (content.boards.length === 0) {
    throw new PctodlError(
      'NO_RESULTS',
      `${folder}: no finished runs; run bench-runner with --result-dir ${folder} first`,
    )
  }
  const out = raw.out ?? path.join(folder, 'report')
  const files: string[] = []
  const write = (name: string, text: string | Uint8Array) => {
    const file = path.join(out, name)
    writeFileAtomically(file, text)
    files.push(file)
  }
  write('index.html', await htmlReport(content))
  write('report.md', markdownReport(content, { pictures: raw.pictures ?? false }))
  write('tasks.csv', tableAsCsv(everyTaskTable(content)))
  for (const board of content.boards) write(`${board.board}_algorithms.csv`, tableAsCsv(algorithmTable(board)))
  if (raw.pictures) {
    for (const { board, chart, tasks } of content.boards) {
      const charts = [...(chart ? [{ stem: `${board}_matrix`, chart }] : []), ...tasks]
      for (const { stem, chart: spec } of charts) {
        terminal.signal.throwIfAborted()
        const svg = await renderSvg(spec)
        write(`charts/${stem}.svg`, svg)
        write(`charts/${stem}.png`, await renderPng(svg))
      }
    }
  }
  terminal.stdout.write(
    raw.json
      ? `${JSON.stringify({ files }, null, 2)}\n`
      : `${files.slice(0, 3).join('\n')}\n${files.length > 3 ? `and ${files.length - 3} more in ${out}\n` : ''}`,
  )
  return 0
}
