import { mean } from '@pctodl/numerics'
import { groupBy } from '@pctodl/platform'
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
  const throughputs = runs.map((run) => run.throughput)
  const spread = spreadOf(throughputs)
  const { instance: _, ...shared } = first
  return {
    ...shared,
    throughput: mean(throughputs),
    ...(spread === null ? {} : { throughputSpread: spread }),
    runs: runs.length,
    steadyThroughput: meanOf(runs, (run) => run.steadyThroughput),
    meanPowerW: meanOf(runs, (run) => run.meanPowerW),
    peakPowerW: worst(runs.map((run) => run.peakPowerW)),
    timeAboveCapPercent: meanOf(runs, (run) => run.timeAboveCapPercent),
    energyPerSampleJ: meanOf(runs, (run) => run.energyPerSampleJ),
    ...combinedLatency(runs),
    ...combinedRequests(runs),
    verdict: combinedVerdict(runs.map((run) => run.verdict)),
    ...(runs.every(({ startUp }) => startUp) ? { startUp: combinedVerdict(runs.map(({ startUp }) => startUp!)) } : {}),
    notes: [...new Set(runs.flatMap((run) => run.notes))],
  }
}

/**
 * Mean over the runs. It is null if any run lacks the figure, because a mean over the others would be a different
 * quantity.
 */
function meanOf(runs: readonly RunSummary[], figure: (run: RunSummary) => number | null): number | null {
  const values = runs.map(figure)
  return values.includes(null) ? null : mean(values as number[])
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
      const p99s = same.map(({ p99Ms }) => p99Ms)
      return {
        ...network,
        ...(means.length === 0 ? {} : { meanMs: mean(means) }),
        p99Ms: worst(p99s),
      }
    }),
  }
}

function worst(values: readonly (number | null)[], of: typeof Math.max = Math.max): number | null {
  return values.includes(null) ? null : of(...(values as number[]))
}

/** Combines the results of requests: means of figures, but the worst attainment and p99. */
function combinedRequests(runs: readonly RunSummary[]): Pick<RunSummary, 'requests'> {
  const first = runs[0]!.requests
  if (!first || !runs.every(({ requests }) => requests)) return {}
  const maxLoads = runs.flatMap(({ requests }) => requests!.maxLoad ?? [])
  return {
    requests: {
      meanPowerW: mean(runs.map(({ requests }) => requests!.meanPowerW)),
      energyPerRequestJ: meanOf(runs, ({ requests }) => requests!.energyPerRequestJ),
      ...(maxLoads.length === 0 ? {} : { maxLoad: mean(maxLoads) }),
      services: first.services.map(({ service }) => {
        const same = runs.flatMap(({ requests }) => requests!.services.filter((each) => each.service === service))
        return {
          service,
          goodputPerS: mean(same.map(({ goodputPerS }) => goodputPerS)),
          attainment: worst(
            same.map(({ attainment }) => attainment),
            Math.min,
          ),
          objectiveMet: same.every(({ objectiveMet }) => objectiveMet !== false),
          p99Ms: worst(same.map(({ p99Ms }) => p99Ms)),
          shed: mean(same.map(({ shed }) => shed)),
          failed: mean(same.map(({ failed }) => failed)),
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
