import type { DeadlineRelaxation } from './deadline-relaxation.js'
import type { ShareRange } from './option-table.js'

/** Relative difference in cost below which two solutions are equal. */
export const SAME_COST = 1e-10

/**
 * Finds the cheapest split within a deadline, exactly. The relaxation leaves a few shares of each GPU that could be
 * part of a better solution than its own; dynamic programming searches these.
 *
 * @param relaxation solved for the deadline and these ranges
 * @returns shares, one per GPU; null if the deadline cannot be met
 */
export function cheapestSplit(
  relaxation: DeadlineRelaxation,
  ranges: readonly ShareRange[],
  globalBatch: number,
): Int32Array | null {
  if (relaxation.bound === Number.POSITIVE_INFINITY) return null
  const gap = relaxation.cost - relaxation.bound
  const isFound = relaxation.cost < Number.POSITIVE_INFINITY
  if (isFound && gap <= SAME_COST * Math.abs(relaxation.cost)) return Int32Array.from(relaxation.shares)
  const narrowed = ranges.map((range, gpu) => relaxation.shrink(gpu, range, gap))
  return dynamicProgram(relaxation, narrowed, globalBatch)
}

function dynamicProgram(
  relaxation: DeadlineRelaxation,
  ranges: readonly ShareRange[],
  globalBatch: number,
): Int32Array | null {
  const offset = ranges.reduce((sum, { first }) => sum + first, 0)
  const width = globalBatch - offset + 1
  if (width < 1) return null
  let cost = new Float64Array(width).fill(Number.POSITIVE_INFINITY)
  cost[0] = 0
  const choice = ranges.map(() => new Int32Array(width))
  let reached = 0
  ranges.forEach(({ first, last }, gpu) => {
    const next = new Float64Array(width).fill(Number.POSITIVE_INFINITY)
    const chosen = choice[gpu]!
    for (let share = first; share <= last; share++) {
      const added = relaxation.costOf(gpu, share)
      if (added === Number.POSITIVE_INFINITY) continue
      const shift = share - first
      const end = Math.min(reached, width - 1 - shift)
      for (let before = 0; before <= end; before++) {
        const value = cost[before]! + added
        if (value < next[before + shift]!) {
          next[before + shift] = value
          chosen[before + shift] = share
        }
      }
    }
    cost = next
    reached = Math.min(width - 1, reached + last - first)
  })
  if (cost[width - 1] === Number.POSITIVE_INFINITY) return null
  const shares = new Int32Array(ranges.length)
  let at = width - 1
  for (let gpu = ranges.length - 1; gpu >= 0; gpu--) {
    shares[gpu] = choice[gpu]![at]!
    at -= shares[gpu]! - ranges[gpu]!.first
  }
  return shares
}
