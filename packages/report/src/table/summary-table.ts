import Table from 'cli-table3'
import { EXCESS_TOLERANCE, START_UP_TOLERANCE, STEADY_TOLERANCE } from '../evaluate/index.js'
import type { AlgorithmAggregate } from '../verdict/algorithm-aggregate.js'
import { assertOneTask } from '../verdict/one-task.js'
import { rankRuns } from '../verdict/ranking.js'
import type { RunSummary } from '../verdict/run-summary.js'
import type { Standings } from '../verdict/standings.js'
import { anyLatency, latencyText } from './latency-text.js'
import { headlineTable, standingsCaption, standingsHeading, standingsTable } from './standings-table.js'

/** `rich` draws with box characters and colours violations; `plain` is pure ASCII without escape sequences. */
export type TableStyle = 'plain' | 'rich'

/** What a stream can show: `rich` on a terminal, unless the user asked for none of it (https://no-color.org). */
export function tableStyle(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): TableStyle {
  const refused = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return stream.isTTY === true && !refused ? 'rich' : 'plain'
}

/**
 * The closing table of one task: runs that keep the cap first, fastest on top, then those that break it, each marked
 * `VIOLATES`; below it the reasons and remarks.
 *
 * @throws InvalidInputError for runs of different tasks
 */
export function formatTaskTable(summaries: readonly RunSummary[], style: TableStyle): string {
  if (summaries.length === 0) return 'No runs.'
  assertOneTask('summaries', summaries)
  const ranked = rankRuns(summaries)
  const columns = ranked.some(({ requests }) => requests) ? requestColumns(ranked) : batchColumns(ranked)
  const table = newTable(style, [...columns.map(([head]) => head), 'start-up', 'power cap'])
  for (const run of ranked) {
    const cells = [
      ...columns.map(([, cell]) => printable(cell(run), style)),
      run.startUp === undefined ? '-' : statusWords[run.startUp.status],
      run.verdict.breaks === 'latency' ? '! LATENCY' : statusWords[run.verdict.status],
    ]
    table.push(run.verdict.status === 'violates' ? cells.map((cell) => alarm(cell, style)) : cells)
  }
  return [heading(ranked, style), table.toString(), ...remarks(ranked, style)].join('\n')
}

type Column = readonly [head: string, cell: (run: RunSummary) => string]

function batchColumns(runs: readonly RunSummary[]): Column[] {
  return [
    ['algorithm', (run) => run.algorithm],
    ['samples/s', (run) => number(run.throughput, 1)],
    ...(anyLatency(runs) ? [['p99 ms', (run: RunSummary) => latencyText(run.latency)] as const] : []),
    ['steady', (run) => number(run.steadyThroughput, 1)],
    ['mean W', (run) => number(run.meanPowerW, 1)],
    ['peak W (1 s)', (run) => number(run.peakPowerW, 1)],
    ['above cap', (run) => (run.timeAboveCapPercent === null ? '-' : `${run.timeAboveCapPercent.toFixed(2)} %`)],
    ['J/sample', (run) => number(run.energyPerSampleJ, 4)],
  ]
}

/** Of services the worst of each figure, by name. */
function requestColumns(runs: readonly RunSummary[]): Column[] {
  const services = ({ requests }: RunSummary) => requests?.services ?? []
  const withLoad = runs.some(({ requests }) => requests?.mostLoad !== undefined)
  return [
    ['algorithm', (run) => run.algorithm],
    ...(withLoad ? [['most load', (run: RunSummary) => number(run.requests?.mostLoad ?? null, 2)] as const] : []),
    [
      'worst attainment',
      (run) => {
        const worst = services(run).reduce((a, b) => ((b.attainment ?? 1) < (a.attainment ?? 1) ? b : a))
        return `${worst.attainment === null ? '-' : `${(100 * worst.attainment).toFixed(2)} %`} ${worst.service}`
      },
    ],
    ['in time/s', (run) => number(run.throughput, 0)],
    [
      'worst p99',
      (run) => {
        const slowest = services(run).reduce((a, b) => ((b.p99Ms ?? 0) > (a.p99Ms ?? 0) ? b : a))
        return `${slowest.p99Ms?.toFixed(0) ?? '-'} ms ${slowest.service}`
      },
    ],
    ['mean W', (run) => number(run.meanPowerW, 1)],
    ['mJ/request', (run) => (run.energyPerSampleJ === null ? '-' : (1000 * run.energyPerSampleJ).toFixed(1))],
    [
      'shed',
      (run) =>
        services(run)
          .reduce((sum, { shed, failed }) => sum + shed + failed, 0)
          .toFixed(0),
    ],
  ]
}

/** The first table of many tasks: an algorithm against the best other one of each, losses marked. */
export function formatStandings(standings: Standings, style: TableStyle): string {
  const { head, rows } = standingsTable(standings)
  const table = newTable(style, [...head])
  for (const row of rows) {
    const cells = row.map((cell) => printable(cell, style))
    table.push(row.at(-1) === 'loss' ? cells.map((cell) => alarm(cell, style)) : cells)
  }
  const headline = headlineTable(standings)
  const short = newTable(style, [...headline.head])
  for (const row of headline.rows) short.push(row.map((cell) => printable(cell, style)))
  return [standingsHeading, table.toString(), short.toString(), standingsCaption(standings)].join('\n')
}

/** The closing table of many tasks: one line per algorithm. `baseline` is the algorithm that the ratios refer to. */
export function formatAggregateTable(
  aggregates: readonly AlgorithmAggregate[],
  baseline: string,
  style: TableStyle,
): string {
  const table = newTable(style, [
    'algorithm',
    'tasks',
    'violating',
    'compared',
    `throughput vs ${baseline}`,
    `J/sample vs ${baseline}`,
  ])
  for (const row of aggregates) {
    const violating = row.violatingTasks > 0 ? alarm(`! ${row.violatingTasks}`, style) : '0'
    table.push([
      printable(row.algorithm, style),
      row.tasksRun,
      row.unknownTasks > 0 ? `${violating} (+ ${row.unknownTasks} unknown)` : violating,
      row.comparedTasks,
      row.throughputRatio === null ? '-' : `${row.throughputRatio.toFixed(3)} x`,
      row.energyPerSampleRatio === null ? '-' : `${row.energyPerSampleRatio.toFixed(3)} x`,
    ])
  }
  const legend = `Ratios: geometric means over the "compared" tasks, on which both the algorithm and ${baseline} hold the cap.`
  return [table.toString(), legend].join('\n')
}

const statusWords = { holds: 'holds', violates: '! VIOLATES', unknown: '? unknown' } as const

function heading(runs: readonly RunSummary[], style: TableStyle): string {
  const first = runs[0]!
  const cap = first.capW === 'dynamic' ? 'changing power cap' : `power cap ${first.capW} W`
  const objectives = (first.latency ?? []).flatMap(({ model, objectiveMs }) =>
    objectiveMs === undefined ? [] : [first.latency!.length > 1 ? `${model} ${objectiveMs} ms` : `${objectiveMs} ms`],
  )
  const promised =
    objectives.length === 0
      ? ''
      : `, 99 % of ${first.requests ? 'requests' : 'batches'} within ${objectives.join(', ')}`
  return printable(`Task ${first.taskId}: ${first.model} on ${first.dataset}, ${first.board}, ${cap}${promised}`, style)
}

function remarks(runs: readonly RunSummary[], style: TableStyle): string[] {
  const lines: string[] = []
  for (const run of runs) {
    if (run.verdict.status !== 'holds') lines.push(`${run.algorithm}: ${run.verdict.reason}`)
    if (run.startUp?.status === 'violates') lines.push(`${run.algorithm}, start-up: ${run.startUp.reason}`)
    for (const note of run.notes) lines.push(`${run.algorithm}: ${note}`)
  }
  const tolerance = `${100 * EXCESS_TOLERANCE} %`
  lines.push(
    `above cap: share of the steady state with the 1 s average power more than ${tolerance} above the cap; a run holds with at most ` +
      `${100 * STEADY_TOLERANCE} %. start-up: the same of the first 10 s after the start and each reconfiguration, at most ${100 * START_UP_TOLERANCE} %`,
    `power: ${powerSource(runs)}`,
    ...(anyLatency(runs) && !runs[0]!.requests
      ? ['p99 ms: what 99 of 100 batches keep once the algorithm has come to rest']
      : []),
  )
  return lines.map((line) => printable(line, style))
}

/** What a simulated board draws at every instant, as its own sensor would have it: caps are set in these watts. */
const WHAT_FLOWS = "what really flows, in the watts of the board's own sensor"

function powerSource(runs: readonly RunSummary[]): string {
  const bySensor = runs.filter((run) => run.powerSource === 'sensor').map((run) => run.algorithm)
  if (bySensor.length === 0) return WHAT_FLOWS
  if (bySensor.length === runs.length) return "readings of the board's sensor"
  return `${WHAT_FLOWS}; the sensor's readings for ${bySensor.join(', ')}`
}

function newTable(style: TableStyle, head: string[]): Table.Table {
  const colAligns: Table.HorizontalAlignment[] = head.map((_, i) => (i === 0 ? 'left' : 'right'))
  const bare = { head: [], border: [], compact: true }
  if (style === 'rich') return new Table({ head, colAligns, style: bare })
  return new Table({ head, colAligns, style: bare, chars: asciiBorders })
}

const asciiBorders = {
  top: '-',
  'top-mid': '+',
  'top-left': '+',
  'top-right': '+',
  bottom: '-',
  'bottom-mid': '+',
  'bottom-left': '+',
  'bottom-right': '+',
  left: '|',
  'left-mid': '+',
  mid: '-',
  'mid-mid': '+',
  right: '|',
  'right-mid': '+',
  middle: '|',
}

function alarm(text: string, style: TableStyle): string {
  return style === 'rich' ? `\u001B[31m${text}\u001B[39m` : text
}

function number(value: number | null, decimals: number): string {
  return value === null ? '-' : value.toFixed(decimals)
}

/** Names and notes come from elsewhere: control characters never reach a terminal, a plain table is ASCII throughout. */
function printable(text: string, style: TableStyle): string {
  return text.replace(style === 'rich' ? /\p{Cc}/gu : /[^ -~]/gu, '?')
}
