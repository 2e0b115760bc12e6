import { quantileOfSorted, sum } from '@pctodl/numerics'
import type { SimulationResult } from './simulate.js'

/** Figures for comparing schedules. Times in seconds, shares in percent. */
export interface ScheduleSummary {
  readonly policy: string
  readonly mechanism: string
  readonly jobs: number
  readonly meanCompletionS: number
  readonly medianCompletionS: number
  readonly p99CompletionS: number
  readonly maxCompletionS: number
  /** Last finish minus first arrival. */
  readonly makespanS: number
  /** Between arrival and first start. */
  readonly meanQueueingS: number
  /** Mean finish-time ratio: completion time over the time that the same work takes alone with its fair share. */
  readonly meanRho: number
  readonly maxRho: number
  /** Jain's index of 1 / rho: 1 if all jobs are slowed by the same factor, 1/n if one of n jobs gets everything. */
  readonly fairnessIndex: number
  readonly restarts: number
  readonly gpuPercent: number
  readonly cpuPercent: number
  readonly memoryPercent: number
  /** GPU time lost while a job waited. */
  readonly idleWhileWaitingPercent: number
  /** GPU time held by jobs that run on several servers, percent of all held GPU time. */
  readonly spreadPercent: number
}

export function summarize(result: SimulationResult): ScheduleSummary {
  const { jobs, usage } = result
  const completion = Float64Array.from(jobs, ({ completionS }) => completionS).sort()
  const pace = jobs.map(({ rho }) => 1 / rho)
  const n = jobs.length
  return {
    policy: result.policy,
    mechanism: result.mechanism,
    jobs: n,
    meanCompletionS: sum(completion) / n,
    medianCompletionS: quantileOfSorted(completion, 0.5),
    p99CompletionS: quantileOfSorted(completion, 0.99),
    maxCompletionS: completion[n - 1]!,
    makespanS: result.lastFinishS - result.firstArrivalS,
    meanQueueingS: sum(jobs.map(({ job, firstStartS }) => firstStartS - job.arrivalS)) / n,
    meanRho: sum(jobs.map(({ rho }) => rho)) / n,
    maxRho: jobs.reduce((most, { rho }) => Math.max(most, rho), 0),
    fairnessIndex: sum(pace) ** 2 / (n * sum(pace.map((value) => value * value))),
    restarts: sum(jobs.map(({ restarts }) => restarts)),
    gpuPercent: usage.gpu * 100,
    cpuPercent: usage.cpu * 100,
    memoryPercent: usage.memory * 100,
    idleWhileWaitingPercent: result.idleWhileWaiting * 100,
    spreadPercent: result.spreadShare * 100,
  }
}
