import type { PublishedAllocation } from './published/published-search.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'
import { type Assignment, evaluateAssignments, type TrainingPlan } from './training-plan.js'

/** What one would do without a search, to compare a plan with. */
export type SimplePlanName = `${'even' | 'proportional'} split, ${'largest' | 'best'} limits`

/**
 * The plans that need no search for a split: even, and in proportion to the speed at an even share under the largest limits; each
 * at the largest limits (what happens where nobody sets any) and with the cheapest limits for it. Those that do not fit the GPUs
 * are left out.
 */
export function simplePlans(job: TrainingJob): ReadonlyMap<SimplePlanName, TrainingPlan> {
  const prepared = prepareJob(job)
  const { globalBatch } = job
  const evenShare = Math.max(1, Math.round(globalBatch / job.gpus.length))
  const speeds = prepared.curves.map((gpu, i) => evenShare / gpu.timeS(prepared.limitIndices[i]!.at(-1)!, evenShare))
  const plans = new Map<SimplePlanName, TrainingPlan>()
  for (const [kind, weights] of [
    ['even', speeds.map(() => 1)],
    ['proportional', speeds],
  ] as const) {
    const shares = splitInProportion(globalBatch, weights)
    const atLargest = atLargestLimits(prepared, shares)
    const atBest = withBestLimits(prepared, shares)
    if (atLargest) plans.set(`${kind} split, largest limits`, atLargest)
    if (atBest) plans.set(`${kind} split, best limits`, atBest)
  }
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
    return share === 0 ? mayBeLeftOut : timeS(powerLimitsW.indexOf(powerLimitW!), share) < Number.POSITIVE_INFINITY
  })
}

function atLargestLimits(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  const assignments = shares.map((share, i) => ({ share, powerLimitW: prepared.options[i]!.powerLimitsW.at(-1)! }))
  return fits(prepared, assignments) ? evaluateAssignments(prepared, assignments) : null
}

/** For fixed shares the time is one of at most (GPUs x limits) values; for each the thriftiest limit of every GPU is taken. */
function withBestLimits(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  const { options } = prepared
  const deadlines = options.flatMap(({ timeS, powerLimitsW }, i) =>
    shares[i] === 0 ? [0] : powerLimitsW.map((_, limit) => timeS(limit, shares[i]!)),
  )
  let best: TrainingPlan | null = null
  for (const deadlineS of deadlines) {
    const assignments = shares.map((share, i): Assignment => {
      if (share === 0) return { share, powerLimitW: null }
      const { timeS, activeEnergyJ, powerLimitsW } = options[i]!
      let chosen = -1
      powerLimitsW.forEach((_, limit) => {
        if (timeS(limit, share) > deadlineS) return
        if (chosen < 0 || activeEnergyJ(limit, share) < activeEnergyJ(chosen, share)) chosen = limit
      })
      return { share, powerLimitW: chosen < 0 ? null : powerLimitsW[chosen]! }
    })
    if (assignments.some(({ share, powerLimitW }) => share > 0 && powerLimitW === null) || !fits(prepared, assignments))
      continue
    const plan = evaluateAssignments(prepared, assignments)
    if (best === null || plan.cost < best.cost) best = plan
  }
  return best
}
