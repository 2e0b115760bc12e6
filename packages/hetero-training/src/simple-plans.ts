import { planOf } from './find-plan.js'
import { isLocked } from './profile/setting.js'
import { LEFT_OUT } from './search/option-table.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'
import type { TrainingPlan } from './training-plan.js'

/** Names of plans that need no search, for comparison. */
export type SimplePlanName = `${'even' | 'proportional'} split, ${'largest' | 'best'} limits`

/**
 * Returns plans whose split needs no search: an even one, or one proportional to the speed at an even share under the
 * maximum limits. Each is evaluated at the maximum limits (the default of any GPU) and with the cheapest limits for it.
 * Plans that do not fit the GPUs are left out.
 */
export function simplePlans(job: TrainingJob): ReadonlyMap<SimplePlanName, TrainingPlan> {
  const prepared = prepareJob(job)
  const { globalBatch } = job
  const evenShare = Math.max(1, Math.round(globalBatch / job.gpus.length))
  const speeds = prepared.curves.map((gpu, i) => {
    const largest = prepared.limitIndices[i]![limitsOf(prepared, i).at(-1)!]!
    return evenShare / gpu.timeS(largest, evenShare)
  })
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

/**
 * Returns integer shares that add up to the batch, in proportion to the weights. Shares are rounded down; those with
 * the largest remainders get the samples that are left.
 */
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

function atLargestLimits(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  return evaluated(
    prepared,
    shares,
    shares.map((_, i) => limitsOf(prepared, i).at(-1)!),
  )
}

/**
 * Finds the cheapest limits for fixed shares. The time is then one of at most (GPUs x limits) values; for each, every
 * GPU takes its limit of lowest energy.
 */
function withBestLimits(prepared: PreparedJob, shares: readonly number[]): TrainingPlan | null {
  const { options } = prepared
  const deadlines = options.flatMap(({ table }, i) =>
    shares[i] === 0 ? [0] : limitsOf(prepared, i).map((limit) => table(limit).timeS[shares[i]!]!),
  )
  let best: TrainingPlan | null = null
  for (const deadlineS of deadlines) {
    const chosen = options.map(({ table }, i) => {
      const share = shares[i]!
      const within = limitsOf(prepared, i).filter((limit) => share === 0 || table(limit).timeS[share]! <= deadlineS)
      const energyJ = (limit: number) => table(limit).activeEnergyJ[share]!
      if (within.length === 0) return null
      return within.reduce((a, b) => (energyJ(b) < energyJ(a) ? b : a))
    })
    if (chosen.some((limit) => limit === null)) continue
    const plan = evaluated(prepared, shares, chosen as number[])
    if (plan !== null && (best === null || plan.cost < best.cost)) best = plan
  }
  return best
}

/**
 * Returns the options of a GPU that set a power limit. Options with a locked clock are excluded: the simple plans do
 * not use them.
 */
function limitsOf({ curves, limitIndices }: PreparedJob, gpu: number): number[] {
  return limitIndices[gpu]!.flatMap((s, option) => (isLocked(curves[gpu]!.settings[s]!) ? [] : [option]))
}

/** @returns null if a share does not fit its GPU */
function evaluated(prepared: PreparedJob, shares: readonly number[], chosen: readonly number[]): TrainingPlan | null {
  const { options } = prepared
  const fits = options.every(({ table, mayBeLeftOut }, i) =>
    shares[i] === 0 ? mayBeLeftOut : table(chosen[i]!).timeS[shares[i]!]! < Number.POSITIVE_INFINITY,
  )
  if (!fits) return null
  return planOf(prepared, { shares, limits: shares.map((share, i) => (share === 0 ? LEFT_OUT : chosen[i]!)) })
}
