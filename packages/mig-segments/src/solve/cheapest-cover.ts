import { COVER_TOLERANCE, type CoverProblem } from './cover-problem.js'
import { SIZES } from './size-counts.js'

export interface PricedCover {
  /** Segments by size. */
  readonly counts: Int32Array
  readonly cost: number
  /** No cover costs less than this. */
  readonly bound: number
}

/** Nodes after which a search settles for the bound of the relaxation. */
const NODE_LIMIT = 4000

/**
 * Segments that serve a rate at the least total price: an integer knapsack cover, by depth-first search over the sizes in the
 * order of their price per item/s, where what is left would cost at least the cheapest rate.
 *
 * @param rate items/s to cover; the problem's own where absent
 */
export function cheapestCover(
  { throughput, rates }: CoverProblem,
  m: number,
  prices: ArrayLike<number>,
  rate: number = rates[m]!,
): PricedCover {
  const order: number[] = []
  for (let s = 0; s < SIZES; s++) if (throughput[m * SIZES + s]! > 0) order.push(s)
  const ratio = (s: number) => prices[s]! / throughput[m * SIZES + s]!
  order.sort((a, b) => ratio(a) - ratio(b) || b - a)
  const best = new Int32Array(SIZES)
  const counts = new Int32Array(SIZES)
  let least = Number.POSITIVE_INFINITY
  let nodes = 0
  const enough = rate * COVER_TOLERANCE
  const relaxed = rate * ratio(order[0]!)
  const visit = (depth: number, left: number, cost: number): void => {
    const s = order[depth]!
    const items = throughput[m * SIZES + s]!
    const most = Math.max(0, Math.ceil((left - enough) / items))
    const isLast = depth === order.length - 1
    const nextRatio = isLast ? Number.POSITIVE_INFINITY : ratio(order[depth + 1]!)
    for (let x = most; x >= 0; x--) {
      const spent = cost + x * prices[s]!
      const rest = left - x * items
      counts[s] = x
      if (rest <= enough) {
        if (spent < least - 1e-12) {
          least = spent
          best.set(counts)
        }
      } else if (isLast || spent + rest * nextRatio >= least - 1e-12 || ++nodes > NODE_LIMIT) {
        break
      } else {
        visit(depth + 1, rest, spent)
      }
    }
    counts[s] = 0
  }
  visit(0, rate, 0)
  return { counts: best, cost: least, bound: nodes > NODE_LIMIT ? Math.min(least, relaxed) : least }
}
