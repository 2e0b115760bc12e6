import { mean } from '@pctodl/numerics'
import { given, groupBy } from '@pctodl/platform'
import { type RunSummary, taskKey } from './run-summary.js'
import { spreadOf } from './spread.js'
import type { Verdict } from './verdict.js'

/**
 * Combines repeated runs into one summary per board, task and algorithm, in order of appearance. Figures are means, the
 * peak is the highest, and the verdict is the worst. So an algorithm that breaks the cap on one board of three does not
 * hold it.
 */
export function combineRepeatedRuns(summaries: readonly RunSummary[]): RunSummary[] {
  return [...groupBy(summaries, (summary) => `${taskKey(summary)} ${summary.algorithm}`).values()].map(combined)
}

function combined(runs: readonly RunSummary[]): RunSummary {
  const first = runs[0]!
  if (runs.length === 1) return first
  const throughputSpread = spreadOf(runs.map(({ throughput }) => throughput)) ?? undefined
  const { instance: _, ...shared } = first
  return {
    ...shared,
    ...figuresOf(runs, mean, 'throughput', 'steadyThroughput', 'meanPowerW', 'timeAboveCapPercent', 'energyPerSampleJ'),
    ...figuresOf(runs, max, 'peakPowerW'),
    ...given({ throughputSpread }),
    runs: runs.length,
    ...combinedLatency(runs),
    ...combinedRequests(runs),
    verdict: combinedVerdict(runs.map((run) => run.verdict)),
    ...(runs.every(({ startUp }) => startUp) ? { startUp: combinedVerdict(runs.map(({ startUp }) => startUp!)) } : {}),
    notes: [...new Set(runs.flatMap((run) => run.notes))],
  }
}

const max = (values: readonly number[]) => Math.max(...values)
const min = (values: readonly number[]) => Math.min(...values)

/**
 * Combines figures of several runs. A figure is null if any run lacks it, because it would be a different quantity for
 * the others.
 */
function figuresOf<Figure extends string, Run extends Readonly<Record<Figure, number | null>>>(
  runs: readonly Run[],
  combine: (values: readonly number[]) => number,
  ...figures: readonly Figure[]
): Pick<Run, Figure> {
  const entries = figures.map((figure) => {
    const values = runs.map((run) => run[figure])
    return [figure, values.includes(null as never) ? null : combine(values as number[])]
  })
  return Object.fromEntries(entries)
}

/**
 * Combines latencies: the mean of the means, but the highest 99th percentile, because each run must meet the objective.
 */
function combinedLatency(runs: readonly RunSummary[]): Pick<RunSummary, 'latency'> {
  const first = runs[0]!.latency
  if (first === undefined || runs.some(({ latency }) => latency === undefined)) return {}
  return {
    latency: first.map((network) => {
      const same = runs.flatMap(({ latency }) => latency!.filter(({ model }) => model === network.model))
      const means = same.flatMap(({ meanMs }) => meanMs ?? [])
      return { ...network, ...figuresOf(same, max, 'p99Ms'), ...(means.length === 0 ? {} : { meanMs: mean(means) }) }
    }),
  }
}

/** Combines the results of requests: means of figures, but the worst attainment and p99. */
function combinedRequests(runs: readonly RunSummary[]): Pick<RunSummary, 'requests'> {
  const all = runs.flatMap(({ requests }) => requests ?? [])
  if (all.length < runs.length) return {}
  const maxLoads = all.flatMap(({ maxLoad }) => maxLoad ?? [])
  return {
    requests: {
      ...figuresOf(all, mean, 'meanPowerW', 'energyPerRequestJ'),
      ...(maxLoads.length === 0 ? {} : { maxLoad: mean(maxLoads) }),
      services: all[0]!.services.map(({ service }) => {
        const same = all.flatMap(({ services }) => services.filter((each) => each.service === service))
        return {
          service,
          ...figuresOf(same, mean, 'goodputPerS', 'shed', 'failed'),
          ...figuresOf(same, min, 'attainment'),
          ...figuresOf(same, max, 'p99Ms'),
          objectiveMet: same.every(({ objectiveMet }) => objectiveMet !== false),
        }
      }),
    },
  }
}

function combinedVerdict(verdicts: readonly Verdict[]): Verdict {
  for (const status of ['violates', 'unknown'] as const) {
    const such = verdicts.filter((each) => each.status === status)
    if (such.length > 0) {
      const broken = new Set(such.map(({ breaks }) => breaks))
      const breaks = broken.size === 1 ? [...broken][0] : ('cap and latency' as const)
      const reason = `in ${such.length} of ${verdicts.length} runs, e.g. ${such[0]!.reason}`
      return { status, ...(status === 'violates' && breaks ? { breaks } : {}), reason }
    }
  }
  return { status: 'holds', reason: `in all ${verdicts.length} runs` }
}
