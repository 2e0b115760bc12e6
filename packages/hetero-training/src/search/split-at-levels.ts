import { LEFT_OUT } from './option-table.js'
import type { LevelShares } from './share-hull.js'

/** Bisections of the price per sample: shares are integers, so few of them matter. */
const MAX_HALVINGS = 60

/**
 * A good split within a deadline for given levels of the GPUs: samples are priced, and those left over at the last
 * price go to GPUs that take more at a slightly higher price.
 *
 * @param highestPrice price at which a sample outweighs all energy, J per sample
 * @returns shares, one per GPU; null if the deadline cannot be met, or the last samples find no place
 */
export function splitAtLevels(
  levelShares: readonly (readonly LevelShares[])[],
  levels: ArrayLike<number>,
  globalBatch: number,
  deadlineS: number,
  highestPrice: number,
): Int32Array | null {
  const shares = (price: number): Int32Array | null => {
    const found = new Int32Array(levels.length)
    for (let gpu = 0; gpu < levels.length; gpu++) {
      if (levels[gpu] === LEFT_OUT) continue
      const own = levelShares[gpu]![levels[gpu]!]!
      if (own.cheapest(price, deadlineS) === Number.POSITIVE_INFINITY) return null
      found[gpu] = own.share
    }
    return found
  }
  let low = -highestPrice
  let high = highestPrice
  let few = shares(low)
  let many = shares(high)
  if (few === null || many === null || sum(few) > globalBatch || sum(many) < globalBatch) return null
  for (let i = 0; i < MAX_HALVINGS && sum(few) < globalBatch; i++) {
    const price = (low + high) / 2
    const found = shares(price)!
    if (sum(found) <= globalBatch) {
      low = price
      few = found
    } else {
      high = price
      many = found
    }
  }
  let left = globalBatch - sum(few)
  for (let gpu = 0; gpu < few.length && left > 0; gpu++) {
    const more = Math.max(0, Math.min(left, many[gpu]! - few[gpu]!))
    few[gpu]! += more
    left -= more
  }
  return left === 0 ? few : null
}

function sum(shares: Int32Array): number {
  let total = 0
  for (const share of shares) total += share
  return total
}
