// The allocator of the Zeus² study for two GPUs. Its results equal the published ones.
import { leastSquares } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'

/**
 * Measurements of a GPU that the published method needs. A `GpuProfile` of `@pctodl/hetero-training` has all of them.
 */
export interface ProfiledGpu {
  readonly name: string
  readonly rows: readonly {
    /** Samples that this GPU processed in the measured window. */
    readonly batchSize: number
    readonly powerLimitW: number
    /** Locked SM clock, MHz; absent or null if none was locked. */
    readonly smClockMhz?: number | null | undefined
    readonly timeS: number
    readonly energyJ: number
  }[]
}

/** Coefficients of c2 x^2 + c1 x + c0. */
export type Quadratic = readonly [c2: number, c1: number, c0: number]

/**
 * The published model of one GPU under one power limit: time (s) and mean power (W) as quadratic functions of the GPU's
 * batch size.
 */
export interface PublishedCurve {
  readonly powerLimitW: number
  readonly timeS: Quadratic
  readonly powerW: Quadratic
}

/**
 * Fits one pair of curves per power limit, in the order in which the limits first occur in the rows. The published
 * search breaks ties by this order. Rows with a locked clock are skipped.
 *
 * @throws InvalidInputError for a limit with fewer than three batch sizes
 */
export function fitPublishedCurves({ name, rows: all }: ProfiledGpu): PublishedCurve[] {
  const rows = all.filter(({ smClockMhz = null }) => smClockMhz === null)
  return [...new Set(rows.map(({ powerLimitW }) => powerLimitW))].map((powerLimitW) => {
    const ofLimit = rows.filter((row) => row.powerLimitW === powerLimitW)
    const batches = ofLimit.map(({ batchSize }) => batchSize)
    if (new Set(batches).size < 3) {
      throw new InvalidInputError(
        `${name}, ${powerLimitW} W: batch sizes`,
        batches.length,
        'at least three for a parabola',
      )
    }
    return {
      powerLimitW,
      timeS: fitQuadratic(
        batches,
        ofLimit.map(({ timeS }) => timeS),
      ),
      powerW: fitQuadratic(
        batches,
        ofLimit.map(({ timeS, energyJ }) => energyJ / timeS),
      ),
    }
  })
}

/** Unweighted least squares. x is scaled by its maximum for numerical accuracy. */
function fitQuadratic(x: readonly number[], y: readonly number[]): Quadratic {
  const scale = Math.max(...x)
  const design = x.map((value) => [(value / scale) ** 2, value / scale, 1])
  const [c2, c1, c0] = leastSquares(design, y) as unknown as Quadratic
  return [c2 / scale ** 2, c1 / scale, c0]
}

function evaluateQuadratic([c2, c1, c0]: Quadratic, x: number): number {
  return (c2 * x + c1) * x + c0
}

/**
 * Weight of energy in the published cost; 1 - ETA is the weight of power limit x time. A constant in the published
 * code.
 */
const ETA = 0.5

/** Global batch size, samples: a constant in the published code. */
const PUBLISHED_BATCH = 4096

export const publishedMethods = ['bruteForce', 'heuristic', 'baseline'] as const
export type PublishedMethod = (typeof publishedMethods)[number]

/** Result of the published allocator. The cost, W s, is the published measure, summed over both GPUs. */
export interface PublishedAllocation {
  readonly method: PublishedMethod
  readonly shares: readonly [number, number]
  readonly powerLimitsW: readonly [number, number]
  readonly cost: number
  /** Cost of the worst candidate, W s, as in the published results file. */
  readonly maxCost: number
  readonly candidates: number
}

/** Cost of a part of the batch on one GPU, W s. Negative fitted times and powers count as 0. */
function publishedCost({ powerLimitW, timeS, powerW }: PublishedCurve, share: number): number {
  const seconds = Math.max(0, evaluateQuadratic(timeS, share))
  const watts = Math.max(0, evaluateQuadratic(powerW, share))
  return (ETA * watts + (1 - ETA) * powerLimitW) * seconds
}

/**
 * Divides a batch over two GPUs exactly as the published code does. `bruteForce` searches all splits and power limits,
 * `heuristic` keeps the first GPU at its lowest limit, `baseline` splits evenly. The cost ignores that the faster GPU
 * waits for the slower one, and the fitted power may reach zero. For plans to use, call `findPlan`.
 *
 * The cost is a sum of one term per GPU, so the best limit of each GPU is found separately for each split. For a batch
 * of B and two GPUs with m and n limits this takes B (m + n) evaluations instead of B m n.
 *
 * @throws InvalidInputError for other than two GPUs, and for limits with fewer than three batch sizes
 */
export function publishedAllocation(
  profiles: readonly ProfiledGpu[],
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
