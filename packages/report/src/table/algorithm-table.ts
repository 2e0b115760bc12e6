import { groupBy } from '@pctodl/platform'
import { chartOrder } from '../chart/algorithm-colors.js'
import { holds } from '../verdict/ranking.js'
import { type RunSummary, taskKey } from '../verdict/run-summary.js'
import { geometricMean } from '../verdict/spread.js'
import { figure, type ReportTable } from './report-table.js'

/**
 * Algorithms that can be the baseline, in order of preference: a plan with one step of feedback, then algorithms
 * without a plan.
 */
const usualBaselines = ['plan-limit-step', 'fixed-clock', 'equal-shares', 'equal-split', 'powercap-tuned', 'powercap']

/** Returns the baseline of a table: the most preferred one that was run, otherwise the first algorithm. */
export function baselineOf(summaries: readonly RunSummary[]): string {
  const usual = usualBaselines.find((name) => summaries.some(({ algorithm }) => algorithm === name))
  return usual ?? summaries[0]!.algorithm
}

/**
 * Table of a board's algorithms, in the order of the board's chart. Means of ratios are geometric, so that swapping
 * algorithm and baseline gives the reciprocal.
 *
 * @param summaries one of each algorithm and task
 */
export function algorithmTable(summaries: readonly RunSummary[], baseline: string): ReportTable {
  const byAlgorithm = groupBy(summaries, ({ algorithm }) => algorithm)
  const ofBaseline = new Map(byAlgorithm.get(baseline)!.map((run) => [taskKey(run), run]))
  return {
    head: ['algorithm', 'tasks', 'violating', 'compared', `throughput vs ${baseline}`, `J each vs ${baseline}`],
    rows: chartOrder([...byAlgorithm.keys()]).map((algorithm) => {
      const own = byAlgorithm.get(algorithm)!
      const count = (wanted: string) => own.filter(({ verdict: { status } }) => status === wanted).length
      const pairs = own.flatMap((run) => {
        const against = ofBaseline.get(taskKey(run))
        return holds(run) && holds(against) ? [{ run, against }] : []
      })
      const ratio = (of: (run: RunSummary) => number | null) =>
        figure(geometricMean(pairs.map(({ run, against }) => (of(run) ?? NaN) / (of(against) ?? NaN))), 3)
      const unknown = count('unknown') > 0 ? ` (+ ${count('unknown')} unknown)` : ''
      return [
        algorithm,
        `${own.length}`,
        `${count('violates')}${unknown}`,
        `${pairs.length}`,
        ratio(({ throughput }) => throughput),
        ratio(({ energyPerSampleJ }) => energyPerSampleJ),
      ]
    }),
  }
}

export function algorithmCaption(baseline: string): string {
  return `Ratios: geometric means over the "compared" tasks, on which both the algorithm and ${baseline} hold the cap.`
}
