import { medianEstimate, quantile } from '@pctodl/numerics'
import { compareWithBaselines, type GateOutcome, gates, judge, stepDownRatios } from './gates.js'
import type { CaseResult } from './run-case.js'

const baselines = ['morak', 'batchdvfs', 'directcap', 'powercap']

/** What each gate says, for `--json` and for the exit code. */
export interface Report {
  readonly markdown: string
  /** Whether every gate passes at the median of the undisturbed runs, and the comparisons with it. */
  readonly passes: boolean
}

export function report(results: readonly CaseResult[]): Report {
  const ours = results.filter(({ algorithm }) => algorithm === 'pctodl')
  const undisturbed = ours.filter(({ disturbance }) => disturbance === 'none')
  const outcomes = gates.map((gate) => judge(gate, undisturbed)).filter((outcome) => outcome !== undefined)
  const reference = results.filter(({ algorithm }) => algorithm === 'reference')
  const down = stepDownRatios(undisturbed, reference)
  const comparison = compareWithBaselines(results, baselines)
  const comparisonPasses = comparison.every(({ ours: mine, best }) => mine > best)
  const downPasses = down.length === 0 || Math.min(...down) >= 5
  const parts = [
    '| gate | bound | median (95 % interval) | | worst | | runs within |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...outcomes.map(gateRow),
    ...(down.length > 0 ? [stepDownRow(down)] : []),
    comparisonRow(comparison),
    '',
    stepTimes(undisturbed),
    '',
    ...disturbedTable(ours),
    '',
    ...algorithmTable(results),
    '',
    ...lostTasks(comparison),
  ]
  return {
    markdown: parts.join('\n'),
    passes: outcomes.every(({ medianPasses }) => medianPasses) && comparisonPasses && downPasses,
  }
}

function gateRow(outcome: GateOutcome): string {
  const { gate, bound, median, worst, worstCase, keptPercent } = outcome
  const f = (value: number) => figure(value, gate.digits)
  return (
    `| ${gate.name} | ${gate.sense} ${bound} ${gate.unit} | ${f(median.value)} (${f(median.low)} to ${f(median.high)}) ` +
    `| ${verdict(outcome.medianPasses)} | ${f(worst)} (${worstCase}) | ${verdict(outcome.worstPasses)} | ${keptPercent.toFixed(0)} % |`
  )
}

function stepDownRow(ratios: readonly number[]): string {
  const median = medianEstimate(ratios)!
  const worst = Math.min(...ratios)
  const f = (value: number) => `${figure(value, 0)}x`
  const kept = (100 * ratios.filter((ratio) => ratio >= 5).length) / ratios.length
  return (
    `| excess energy after a step down, below the reference mode's | at least 5x | ${f(median.value)} (${f(median.low)} to ${f(median.high)}) ` +
    `| ${verdict(median.value >= 5)} | ${f(worst)} | ${verdict(worst >= 5)} | ${kept.toFixed(0)} % |`
  )
}

function comparisonRow(comparison: ReturnType<typeof compareWithBaselines>): string {
  const gains = comparison.map(({ ours, best }) => 100 * (ours / best - 1))
  const median = medianEstimate(gains)!
  const worst = Math.min(...gains)
  const at = comparison[gains.indexOf(worst)]!
  const f = (value: number) => `${value > 0 ? '+' : ''}${figure(value, 1)}`
  const kept = (100 * gains.filter((gain) => gain > 0).length) / gains.length
  return (
    `| compliant throughput over the best baseline's, by task | above 0 % | ${f(median.value)} (${f(median.low)} to ${f(median.high)}) ` +
    `| ${verdict(median.value > 0)} | ${f(worst)} (${at.board} ${at.taskId}, ${at.bestAlgorithm}) | ${verdict(worst > 0)} | ${kept.toFixed(0)} % |`
  )
}

function stepTimes(runs: readonly CaseResult[]): string {
  const times = runs.map(({ stepP99Us }) => stepP99Us)
  const f = (value: number) => figure(value, 0)
  return `The policy's control step takes ${f(quantile(times, 0.5))} us at the 99th percentile (median run; worst run ${f(Math.max(...times))} us).`
}

function disturbedTable(ours: readonly CaseResult[]): string[] {
  const names = [...new Set(ours.map(({ disturbance }) => disturbance))].filter((name) => name !== 'none')
  if (names.length === 0) return []
  return [
    'Disturbed, with bounds twice as loose: median / worst of each figure, and pass or FAIL of each. Where setters are refused, in',
    'tasks 29 and 30 across the first cap step, settling counts from when they are granted again.',
    '',
    `| disturbance | ${gates.map(({ name, unit, relaxedBound, sense }) => `${name}, ${sense} ${relaxedBound} ${unit}`).join(' | ')} | longest time above the cap, s | highest 1 s average above the cap, % |`,
    `| --- |${' --- |'.repeat(gates.length + 2)}`,
    ...names.map((name) => {
      const runs = ours.filter(({ disturbance }) => disturbance === name)
      const cells = gates.map((gate) => {
        const outcome = judge(gate, runs, true)
        if (!outcome) return '-'
        const { median, worst, medianPasses, worstPasses } = outcome
        return `${figure(median.value, gate.digits)} ${verdict(medianPasses)} / ${figure(worst, gate.digits)} ${verdict(worstPasses)}`
      })
      const longest = Math.max(...runs.map((run) => run.longestExcessWholeMs)) / 1000
      const highest = Math.max(...runs.map((run) => run.peakExcessWholePercent))
      return `| ${name} | ${cells.join(' | ')} | ${longest.toFixed(1)} | ${highest.toFixed(1)} |`
    }),
  ]
}

function algorithmTable(results: readonly CaseResult[]): string[] {
  const names = [...new Set(results.map(({ algorithm }) => algorithm))]
  const undisturbed = results.filter(({ disturbance }) => disturbance === 'none')
  const row = (name: string) => {
    const runs = undisturbed.filter(({ algorithm }) => algorithm === name)
    const of = (pick: (result: CaseResult) => number) => quantile(runs.map(pick), 0.5)
    const keeps = (100 * runs.filter((run) => run.violationPercent <= 1).length) / runs.length
    const figures = [
      figure(100 * of((run) => run.oracleRatioWhole), 1),
      figure(
        of((run) => run.violationPercent),
        2,
      ),
      figure(Math.max(...runs.map((run) => run.violationPercent)), 1),
      figure(
        of((run) => run.excessEnergyPercent),
        4,
      ),
      figure(
        of((run) => run.capUtilisationPercent),
        1,
      ),
      figure(
        of((run) => run.actuationsPerMinute),
        1,
      ),
      keeps.toFixed(0),
    ]
    return `| ${name} | ${figures.join(' | ')} |`
  }
  return [
    'All algorithms, undisturbed, medians over all tasks and seeds.',
    '',
    '| algorithm | throughput over the oracle, whole run, % | above the cap (1 s), % | the same, worst run | violation energy, % | cap used, % | actuations/min | runs within 1 %, % |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...names.map(row),
  ]
}

function lostTasks(comparison: ReturnType<typeof compareWithBaselines>): string[] {
  const lost = comparison.filter(({ ours, best }) => ours <= best)
  if (lost.length === 0) return ['pctodl has more compliant throughput than every baseline on every task.']
  const lines = lost.map(
    ({ board, taskId, ours, best, bestAlgorithm }) =>
      `${board} ${taskId} (${bestAlgorithm} ${best.toFixed(0)}, pctodl ${ours.toFixed(0)} samples/s)`,
  )
  return [`Tasks on which a baseline completes more within the cap: ${lines.join('; ')}.`]
}

function figure(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : 'never'
}

function verdict(passes: boolean): string {
  return passes ? 'pass' : '**FAIL**'
}
