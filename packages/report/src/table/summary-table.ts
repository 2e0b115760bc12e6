import { STEADY_TOLERANCE } from '../evaluate/index.js'
import { EXCESS_TOLERANCE, START_UP_TOLERANCE } from '../evaluate/power-metrics.js'
import { algorithmTable } from '../page/report-tables.js'
import type { AlgorithmAggregate } from '../verdict/algorithm-aggregate.js'
import { assertOneTask, rankRuns } from '../verdict/ranking.js'
import type { RunSummary } from '../verdict/run-summary.js'
import type { Standings } from '../verdict/standings.js'
import { anyLatency, latencyText } from './latency-text.js'
import { figure, printable, type TableStyle, textTable } from './report-table.js'
import { headlineTable, standingsCaption, standingsHeading, standingsTable } from './standings-table.js'

/**
 * Formats the table of one task: first the runs that hold the cap, the fastest on top, then the runs that break it,
 * marked `VIOLATES`. Reasons and remarks follow the table.
 *
 * @throws InvalidInputError for runs of different tasks
 */
export function formatTaskTable(summaries: readonly RunSummary[], style: TableStyle): string {
  if (summaries.length === 0) return 'No runs.'
  assertOneTask('summaries', summaries)
  const ranked = rankRuns(summaries)
  const columns = ranked.some(({ requests }) => requests) ? requestColumns(ranked) : batchColumns(ranked)
  const head = [...columns.map(([name]) => name), 'start-up', 'power cap']
  const rows = ranked.map((run) => [
    ...columns.map(([, cell]) => cell(run)),
    run.startUp === undefined ? '-' : statusWords[run.startUp.status],
    run.verdict.breaks === 'latency' ? '! LATENCY' : statusWords[run.verdict.status],
  ])
  const table = textTable({ head, rows }, style, (row) => row.at(-1)!.startsWith('!'))
  return [heading(ranked, style), table, ...remarks(ranked, style)].join('\n')
}

type Column = readonly [head: string, cell: (run: RunSummary) => string]

function batchColumns(runs: readonly RunSummary[]): Column[] {
  return [
    ['algorithm', (run) => run.algorithm],
    ['samples/s', (run) => figure(run.throughput, 1)],
    ...(anyLatency(runs) ? [['p99 ms', (run: RunSummary) => latencyText(run.latency)] as const] : []),
    ['steady', (run) => figure(run.steadyThroughput, 1)],
    ['mean W', (run) => figure(run.meanPowerW, 1)],
    ['peak W (1 s)', (run) => figure(run.peakPowerW, 1)],
    ['above cap', (run) => (run.timeAboveCapPercent === null ? '-' : `${run.timeAboveCapPercent.toFixed(2)} %`)],
    ['J/sample', (run) => figure(run.energyPerSampleJ, 4)],
  ]
}

/** For services, a figure is the worst value among the services, with the name of that service. */
function requestColumns(runs: readonly RunSummary[]): Column[] {
  const services = ({ requests }: RunSummary) => requests?.services ?? []
  const withLoad = runs.some(({ requests }) => requests?.maxLoad !== undefined)
  return [
    ['algorithm', (run) => run.algorithm],
    ...(withLoad ? [['most load', (run: RunSummary) => figure(run.requests?.maxLoad ?? null, 2)] as const] : []),
    [
      'worst attainment',
      (run) => {
        const worst = services(run).reduce((a, b) => ((b.attainment ?? 1) < (a.attainment ?? 1) ? b : a))
        return `${worst.attainment === null ? '-' : `${(100 * worst.attainment).toFixed(2)} %`} ${worst.service}`
      },
    ],
    ['in time/s', (run) => figure(run.throughput, 0)],
    [
      'worst p99',
      (run) => {
        const slowest = services(run).reduce((a, b) => ((b.p99Ms ?? 0) > (a.p99Ms ?? 0) ? b : a))
        return `${slowest.p99Ms?.toFixed(0) ?? '-'} ms ${slowest.service}`
      },
    ],
    ['mean W', (run) => figure(run.meanPowerW, 1)],
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

/**
 * Formats the first table of a benchmark with many tasks: an algorithm compared with the best other algorithm of each
 * task, with losses marked, and the totals.
 */
export function formatStandings(standings: Standings, style: TableStyle): string {
  return [
    standingsHeading,
    textTable(standingsTable(standings), style, (row) => row.at(-1) === 'loss'),
    textTable(headlineTable(standings), style),
    standingsCaption(standings),
  ].join('\n')
}

/**
 * Formats the last table of a benchmark with many tasks, one line per algorithm. Ratios are relative to `baseline`.
 */
export function formatAggregateTable(
  algorithms: readonly AlgorithmAggregate[],
  baseline: string,
  style: TableStyle,
): string {
  const table = textTable(algorithmTable({ algorithms, baseline }), style, ([, , violating]) => violating !== '0')
  const legend = `Ratios: geometric means over the "compared" tasks, on which both the algorithm and ${baseline} hold the cap.`
  return [table, legend].join('\n')
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

/** Words for the true power of a simulated board. It is on the scale of the board's own sensor, because caps are. */
const WHAT_FLOWS = "what really flows, in the watts of the board's own sensor"

function powerSource(runs: readonly RunSummary[]): string {
  const bySensor = runs.filter((run) => run.powerSource === 'sensor').map((run) => run.algorithm)
  if (bySensor.length === 0) return WHAT_FLOWS
  if (bySensor.length === runs.length) return "readings of the board's sensor"
  return `${WHAT_FLOWS}; the sensor's readings for ${bySensor.join(', ')}`
}
