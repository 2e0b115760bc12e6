import { sum } from '@pctodl/numerics'
import { minEnergyOf, objectiveOf, planOf } from './find-plan.js'
import { DeadlineSearch, SAME_TIME } from './search/best-deadline.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'
import { settingIndex, type TrainingPlan } from './training-plan.js'

/** Names of plans that need no search, for comparison. */
export type SimplePlanName = `${'even' | 'proportional'} split, ${'largest' | 'best'} limits`

/**
 * Returns plans whose split needs no search: an even one, or one proportional to the speed at an even share under the
 * maximum limits. Each is evaluated at the maximum limits (the default of any GPU) and with the cheapest limits for it.
 * No clock is locked. Plans that do not fit the GPUs are left out.
 */
export function simplePlans(job: TrainingJob): ReadonlyMap<SimplePlanName, TrainingPlan> {
  const { globalBatch } = job
  const gpus = job.gpus.map((gpu) => ({ ...gpu, smClocksMhz: [] }))
  const best = prepareJob({ ...job, gpus })
  const largestW = best.options.map(({ settings }) => settings.at(-1)!.powerLimitW)
  const largest = prepareJob({ ...job, gpus: gpus.map((gpu, i) => ({ ...gpu, powerLimitsW: [largestW[i]!] })) })
  const evenShare = Math.max(1, Math.round(globalBatch / gpus.length))
  const speeds = largest.curves.map(
    (gpu, i) => evenShare / gpu.timeS(settingIndex(gpu, largest.options[i]!.settings[0]!), evenShare),
  )
  const plans = new Map<SimplePlanName, TrainingPlan>()
  for (const kind of ['even', 'proportional'] as const) {
    const shares = splitInProportion(globalBatch, kind === 'even' ? speeds.map(() => 1) : speeds)
    for (const [limits, prepared] of Object.entries({ largest, best }) as ['largest' | 'best', PreparedJob][]) {
      const plan = cheapestWithShares(prepared, shares)
      if (plan) plans.set(`${kind} split, ${limits} limits`, plan)
    }
  }
  return plans
}

/** Integer shares in proportion to the weights. Those with the largest remainders are rounded up. */
export function splitInProportion(globalBatch: number, weights: readonly number[]): number[] {
  const total = sum(weights)
  const exact = weights.map((weight) => (globalBatch * weight) / total)
  const shares = exact.map(Math.floor)
  const byRemainder = exact.map((value, i) => ({ i, rest: value - Math.floor(value) })).sort((a, b) => b.rest - a.rest)
  for (const { i } of byRemainder.slice(0, globalBatch - sum(shares))) shares[i]!++
  return shares
}

/** Finds the cheapest limits for fixed shares; null if a share does not fit its GPU. */
function cheapestWithShares(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  const ranges = shares.map((share) => ({ first: share, last: share }))
  const search = new DeadlineSearch(prepared.options, prepared.job.globalBatch, ranges)
  const split = search.cheapest(objectiveOf(prepared, {}))
  if (split === null || prepared.eta > 0) return split && planOf(prepared, split)
  // If only time counts, several limits can be equally fast. The ones with the lowest energy are taken.
  const asFast = { ...minEnergyOf(prepared), longestS: split.timeS * (1 + SAME_TIME) }
  return planOf(prepared, search.cheapest(asFast)!)
}
