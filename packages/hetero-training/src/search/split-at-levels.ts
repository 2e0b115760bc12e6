import { LEFT_OUT } from './option-table.js'
import type { LevelShares } from './share-hull.js'

/** Halvings of the price of a sample: shares of a batch are integers, so that few of them tell. */
const MAX_HALVINGS = 60

/**
 * A good split within a deadline where the level of each GPU is given: samples are priced, and what is left over at the last price goes to
 * whoever takes more at a slightly higher one.
 *
 * @param highestPrice at which a sample outweighs all energy, J a sample
 * @returns shares, one per GPU; null where the deadline cannot be kept, or the last samples found no place
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
