import { EXCESS_TOLERANCE, START_UP_TOLERANCE, STEADY_TOLERANCE } from '../evaluate/power-metrics.js'
import type { RunSummary } from '../verdict/run-summary.js'
import { spreadText } from '../verdict/spread.js'
import { latencyText } from './latency-text.js'
import { figure, type ReportTable } from './report-table.js'

type Column = readonly [head: string, cell: (run: RunSummary, oracle: number | null) => string]

const columns: readonly Column[] = [
  ['algorithm', ({ algorithm }) => algorithm],
  ['per s', ({ throughput }) => figure(throughput, 1)],
  ['p99, ms', ({ latency }) => latencyText(latency)],
  ['interval or range', ({ throughputSpread }) => spreadText(throughputSpread, 1)],
  ['of oracle, %', ({ throughput }, oracle) => figure(oracle === null ? null : (100 * throughput) / oracle, 1)],
  ['steady per s', ({ requests, steadyThroughput }) => (requests ? '-' : figure(steadyThroughput, 1))],
  ['max load', ({ requests }) => figure(requests?.maxLoad, 2)],
  ['worst attainment', worstAttainment],
  ['shed', shed],
  ['mean W', ({ meanPowerW }) => figure(meanPowerW, 1)],
  ['peak W', ({ peakPowerW }) => figure(peakPowerW, 1)],
  ['above cap, %', ({ timeAboveCapPercent }) => figure(timeAboveCapPercent, 2)],
  ['excess, J', ({ meanPowerW, power }) => figure(meanPowerW && power.excessEnergyJ, 1)],
  ['J each', ({ energyPerSampleJ }) => figure(energyPerSampleJ, 4)],
  ['start-up', ({ startUp }) => (startUp ? statusWords[startUp.status] : '-')],
  ['power cap', ({ verdict }) => (verdict.breaks === 'latency' ? 'MISSES latency' : statusWords[verdict.status])],
]

const statusWords = { holds: 'holds', violates: 'VIOLATES', unknown: 'unknown' } as const

/** Table of the combined runs of one task. Cells that do not apply to a run are `-`. */
export function taskTable(runs: readonly RunSummary[], oracle: number | null = null): ReportTable {
  return {
    head: columns.map(([head]) => head),
    rows: runs.map((run) => columns.map(([, cell]) => cell(run, oracle))),
  }
}

/** Whether a row of a task's table is about a run that breaks its cap or misses its latency objective. */
export function isViolating(row: readonly string[]): boolean {
  return /^(VIOLATES|MISSES)/.test(row.at(-1)!)
}

function worstAttainment({ requests }: RunSummary): string {
  const [worst] = requests?.services.toSorted((a, b) => (a.attainment ?? 1) - (b.attainment ?? 1)) ?? []
  if (worst === undefined) return '-'
  return worst.attainment === null ? '-' : `${(100 * worst.attainment).toFixed(2)} % ${worst.service}`
}

function shed({ requests }: RunSummary): string {
  return figure(
    requests?.services.reduce((sum, { shed, failed }) => sum + shed + failed, 0),
    0,
  )
}

/**
 * Heading of a task: what is run, on which board, under which caps and latency objectives.
 *
 * @param run any run of the task
 * @param caps text of the caps
 */
export function taskHeading(run: RunSummary, caps: string): string {
  const { board, taskId, model, dataset, latency = [], requests } = run
  const objectives = latency.flatMap(({ objectiveMs }) => objectiveMs ?? [])
  const promised =
    objectives.length === 0 ? '' : `, 99 % of ${requests ? 'requests' : 'batches'} within ${objectives.join(', ')} ms`
  return `Task ${taskId}: ${model} on ${dataset}, ${board}, ${caps}${promised}`
}

/** Explains the verdicts and figures of the tables, one sentence per line. */
export function explanation(runs: readonly RunSummary[], ofOracle?: string): string[] {
  const [tolerance, steady, startUp] = [EXCESS_TOLERANCE, STEADY_TOLERANCE, START_UP_TOLERANCE].map(
    (each) => 100 * each,
  )
  const served = runs.some(({ requests }) => requests)
    ? ' or, for services, requests/s answered within the objective'
    : ''
  const bySensor = runs.filter(({ powerSource }) => powerSource === 'sensor').map(({ algorithm }) => algorithm)
  const exceptions = bySensor.length === 0 ? '' : `; for ${[...new Set(bySensor)].join(', ')}, readings of the sensor`
  const spread =
    'Figures are means over several boards or repetitions. For 16 or more, intervals are 95 % confidence intervals by Student\u2019s t; for fewer, tables show the range.'
  return [
    `A run holds its cap if its power, averaged over 1 s, is more than ${tolerance} % above the cap for at most ${steady} % of the steady state. ` +
      `The 10 s after the start and after each reconfiguration (start-up) are judged separately: at most ${startUp} %.`,
    `Per s: samples/s${served}${served && ','} over the whole run, with loading and restarts.`,
    bySensor.length === runs.length
      ? "Power: readings of the board's sensor. Peak: the highest 1 s average."
      : `Power: true power of the simulated board, in the watts of its own sensor, in which caps are set${exceptions}. Peak: the highest 1 s average.`,
    ...(ofOracle === undefined ? [] : [ofOracle]),
    ...(runs.some(({ runs: combined }) => combined) ? [spread] : []),
  ]
}
