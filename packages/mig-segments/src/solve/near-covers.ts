import { COVER_TOLERANCE, type CoverProblem } from './cover-problem.js'
import { SIZES } from './size-counts.js'

/** Nodes visited at most in one enumeration. */
const NODE_LIMIT = 20_000

/** Covers, and whether they are all that there are. */
export interface NearCovers {
  readonly covers: readonly Int32Array[]
  readonly complete: boolean
}

/**
 * Covers of a rate that cost at most `maxCost` and from which no segment could be taken away, the cheapest first.
 *
 * @param most covers returned at most
 */
export function nearCovers(
  { throughput }: CoverProblem,
  m: number,
  prices: ArrayLike<number>,
  rate: number,
  maxCost: number,
  most: number,
): NearCovers {
  const items = (s: number) => throughput[m * SIZES + s]!
  const order: number[] = []
  for (let s = 0; s < SIZES; s++) if (items(s) > 0) order.push(s)
  order.sort((a, b) => prices[a]! / items(a) - prices[b]! / items(b) || b - a)
  const found: { counts: Int32Array; cost: number }[] = []
  const counts = new Int32Array(SIZES)
  const enough = rate * COVER_TOLERANCE
  let nodes = 0
  const visit = (depth: number, left: number, cost: number): void => {
    const s = order[depth]!
    const isLast = depth === order.length - 1
    for (let x = Math.max(0, Math.ceil((left - enough) / items(s))); x >= 0; x--) {
      const spent = cost + x * prices[s]!
      const rest = left - x * items(s)
      counts[s] = x
      if (rest <= enough) {
        if (spent <= maxCost && isMinimal(counts, rest, enough, items))
          found.push({ counts: counts.slice(), cost: spent })
      } else if (isLast) {
        break
      } else {
        const next = order[depth + 1]!
        if (spent + (rest * prices[next]!) / items(next) > maxCost || ++nodes > NODE_LIMIT) break
        visit(depth + 1, rest, spent)
      }
    }
    counts[s] = 0
  }
  if (rate <= 0) return { covers: [counts], complete: true }
  visit(0, rate, 0)
  found.sort((a, b) => a.cost - b.cost)
  const covers = found.slice(0, most).map(({ counts }) => counts)
  return { covers, complete: nodes <= NODE_LIMIT && found.length <= most }
}

/** @param rest rate minus capacity, at most `enough` */
function isMinimal(counts: Int32Array, rest: number, enough: number, items: (s: number) => number): boolean {
  for (let s = 0; s < SIZES; s++) if (counts[s]! > 0 && rest + items(s) <= enough) return false
  return true
}
