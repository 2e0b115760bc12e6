import { segmentSizes } from '@pctodl/mig-deploy'
import { throughputOf } from '../profile.js'
import { capacityNeeded, type ServiceDemand } from '../service-demand.js'
import { SIZES } from './size-counts.js'

/**
 * The packing question in numbers: choose how many segments of each size every service gets, so that each rate is covered and
 * `fewestGpus` of the total is least. Rows of `throughput` are services, its columns sizes.
 */
export interface CoverProblem {
  readonly services: number
  /** Items/s that the segments of a service must have together. */
  readonly rates: Float64Array
  /** Items/s of a segment; 0 where the service cannot run in that size. */
  readonly throughput: Float64Array
}

/** Relative shortfall of capacity that counts as none: the rounding of a sum. */
export const COVER_TOLERANCE = 1e-9

export function coverProblem(demands: readonly ServiceDemand[]): CoverProblem {
  const throughput = new Float64Array(demands.length * SIZES)
  demands.forEach(({ best }, m) => {
    segmentSizes.forEach((size, s) => {
      const point = best.get(size)
      if (point) throughput[m * SIZES + s] = throughputOf(point)
    })
  })
  return {
    services: demands.length,
    rates: Float64Array.from(demands, capacityNeeded),
    throughput,
  }
}

/** Items/s of a service from so many segments of each size. */
export function capacityOf({ throughput }: CoverProblem, m: number, counts: ArrayLike<number>, offset = 0): number {
  let sum = 0
  for (let s = 0; s < SIZES; s++) sum += throughput[m * SIZES + s]! * counts[offset + s]!
  return sum
}

export function isCovered(problem: CoverProblem, m: number, counts: ArrayLike<number>, offset = 0): boolean {
  return capacityOf(problem, m, counts, offset) >= problem.rates[m]! * (1 - COVER_TOLERANCE)
}
