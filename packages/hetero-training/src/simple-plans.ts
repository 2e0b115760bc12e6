import type { PublishedAllocation } from './published/published-search.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'
import { type Assignment, evaluateAssignments, type TrainingPlan } from './training-plan.js'

/** What one would do without a search, to compare a plan with. */
export const simplePlanNames = ['even split', 'even split, best limits', 'proportional split'] as const
export type SimplePlanName = (typeof simplePlanNames)[number]

/**
 * The plans that need no search: an even split at the largest limits, an even split with the best limits for it, and a split in
 * proportion to the speed at the largest limits. Those that do not fit the GPUs are left out.
 */
export function simplePlans(job: TrainingJob): ReadonlyMap<SimplePlanName, TrainingPlan> {
  const prepared = prepareJob(job)
  const even = prepared.curves.map(() => 1)
  const speeds = prepared.curves.map((gpu) => {
    const share = Math.max(1, Math.round(job.globalBatch / prepared.curves.length))
    return share / gpu.timeS(gpu.powerLimitsW.length - 1, share)
  })
  const plans = new Map<SimplePlanName, TrainingPlan>()
  const add = (name: SimplePlanName, plan: TrainingPlan | null) => plan && plans.set(name, plan)
  add('even split', atLargestLimits(prepared, splitInProportion(job.globalBatch, even)))
  add('even split, best limits', withBestLimits(prepared, splitInProportion(job.globalBatch, even)))
  add('proportional split', atLargestLimits(prepared, splitInProportion(job.globalBatch, speeds)))
  return plans
}

/** What the published allocation would take under the synchronous model. */
export function publishedPlan(job: TrainingJob, { shares, powerLimitsW }: PublishedAllocation): TrainingPlan {
  return evaluateAssignments(
    prepareJob(job),
    shares.map((share, i) => ({ share, powerLimitW: powerLimitsW[i]! })),
  )
}

/** Whole shares in proportion to weights that add up to the batch: largest remainders get what rounding down leaves. */
export function splitInProportion(globalBatch: number, weights: readonly number[]): number[] {
  const total = weights.reduce((a, b) => a + b, 0)
  const exact = weights.map((weight) => (globalBatch * weight) / total)
  const shares = exact.map(Math.floor)
  const byRemainder = exact.map((value, i) => ({ i, rest: value - Math.floor(value) })).sort((a, b) => b.rest - a.rest)
  let left = globalBatch - shares.reduce((a, b) => a + b, 0)
  for (const { i } of byRemainder) {
    if (left-- <= 0) break
    shares[i]!++
  }
  return shares
}

function fits({ options }: PreparedJob, assignments: readonly Assignment[]): boolean {
  return assignments.every(({ share, powerLimitW }, i) => {
    const { timeS, powerLimitsW, mayBeLeftOut } = options[i]!
    return share === 0 ? mayBeLeftOut : timeS[powerLimitsW.indexOf(powerLimitW!)]![share]! < Number.POSITIVE_INFINITY
  })
}

function atLargestLimits(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  const assignments = shares.map((share, i) => ({ share, powerLimitW: prepared.options[i]!.powerLimitsW.at(-1)! }))
  return fits(prepared, assignments) ? evaluateAssignments(prepared, assignments) : null
}

/** For fixed shares the time is one of at most (GPUs x limits) values; for each the thriftiest limit of every GPU is taken. */
function withBestLimits(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  const { options } = prepared
  const deadlines = options.flatMap(({ timeS }, i) => timeS.map((times) => times[shares[i]!]!))
  let best: TrainingPlan | null = null
  for (const deadlineS of deadlines) {
    const assignments = shares.map((share, i): Assignment => {
      const { timeS, activeEnergyJ, powerLimitsW } = options[i]!
      let chosen = -1
      timeS.forEach((times, limit) => {
        if (times[share]! > deadlineS) return
        if (chosen < 0 || activeEnergyJ[limit]![share]! < activeEnergyJ[chosen]![share]!) chosen = limit
      })
      return { share, powerLimitW: chosen < 0 ? null : powerLimitsW[chosen]! }
    })
    if (assignments.some(({ powerLimitW }) => powerLimitW === null) || !fits(prepared, assignments)) continue
    const plan = evaluateAssignments(prepared, assignments)
    if (best === null || plan.cost < best.cost) best = plan
  }
  return best
}
