import { InvalidInputError } from '@pctodl/platform'
import type { GpuProfile } from '../profile/gpu-profile.js'
import { fitPublishedCurves, type PublishedCurve } from './published-fit.js'
import { evaluateQuadratic } from './quadratic-fit.js'

/** The published weight of energy against limit times time; it has no option there. */
const ETA = 0.5

/** The published global batch; it has no option there. */
export const PUBLISHED_BATCH = 4096

export const publishedMethods = ['bruteForce', 'heuristic', 'baseline'] as const
export type PublishedMethod = (typeof publishedMethods)[number]

/** What the published allocator answers, with its own cost (W s), which adds the two GPUs' times up. */
export interface PublishedAllocation {
  readonly method: PublishedMethod
  readonly shares: readonly [number, number]
  readonly powerLimitsW: readonly [number, number]
  readonly cost: number
  /** The largest cost among the candidates, as the published results file has it. */
  readonly maxCost: number
  readonly candidates: number
}

/** Cost of a share on one GPU, W s: fitted values below zero count as zero. */
export function publishedCost({ powerLimitW, timeS, powerW }: PublishedCurve, share: number): number {
  const seconds = Math.max(0, evaluateQuadratic(timeS, share))
  const watts = Math.max(0, evaluateQuadratic(powerW, share))
  return (ETA * watts + (1 - ETA) * powerLimitW) * seconds
}

/**
 * The published allocation of two GPUs, equal to what the published code prints: `bruteForce` over all splits and limits,
 * `heuristic` with the first GPU pinned to its lowest limit, `baseline` at an even split. It minimises a formula in which
 * nobody waits for the slower GPU, and whose fitted power may reach zero; for plans to be carried out see `findPlan`.
 *
 * The cost is a sum of one term per GPU, so that for a split each GPU's best limit is found on its own: B (|L1| + |L2|)
 * evaluations instead of B^2 |L1| |L2|.
 *
 * @throws InvalidInputError for other than two GPUs and for limits with fewer than three batch sizes
 */
export function publishedAllocation(
  profiles: readonly GpuProfile[],
  method: PublishedMethod,
  globalBatch: number = PUBLISHED_BATCH,
): PublishedAllocation {
  if (profiles.length !== 2) {
    throw new InvalidInputError('profiles', profiles.length, 'two GPUs: the published method knows no other number')
  }
  if (!Number.isInteger(globalBatch) || globalBatch < 2) {
    throw new InvalidInputError('globalBatch', globalBatch, 'an integer of at least 2')
  }
  const [first, second] = profiles.map(fitPublishedCurves) as [PublishedCurve[], PublishedCurve[]]
  const lowest = Math.min(...first.map(({ powerLimitW }) => powerLimitW))
  const firstCurves = method === 'heuristic' ? first.filter(({ powerLimitW }) => powerLimitW === lowest) : first
  const even = Math.floor(globalBatch / 2)
  const [from, to] = method === 'baseline' ? [even, even] : [1, globalBatch - 1]
  let best = { cost: Number.POSITIVE_INFINITY, share: 0, limits: [0, 0] as [number, number] }
  let maxCost = Number.NEGATIVE_INFINITY
  for (let share = from; share <= to; share++) {
    const one = extremes(firstCurves, share)
    const other = extremes(second, globalBatch - share)
    const cost = one.least + other.least
    if (cost < best.cost) best = { cost, share, limits: [one.limitW, other.limitW] }
    maxCost = Math.max(maxCost, one.most + other.most)
  }
  return {
    method,
    shares: [best.share, globalBatch - best.share],
    powerLimitsW: best.limits,
    cost: best.cost,
    maxCost,
    candidates: (to - from + 1) * firstCurves.length * second.length,
  }
}

function extremes(curves: readonly PublishedCurve[], share: number) {
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  let limitW = 0
  for (const curve of curves) {
    const cost = publishedCost(curve, share)
    if (cost < least) {
      least = cost
      limitW = curve.powerLimitW
    }
    if (cost > most) most = cost
  }
  return { least, most, limitW }
}
