/** Number of search nodes after which the search stops and returns the relaxation's bound. */
const NODE_LIMIT = 4000
/** Relative shortfall that counts as rounding error. */
const TOLERANCE = 1e-9

/** One way to use an instance: the rate that it answers, and its price. */
export interface CoverItem {
  readonly ratePerS: number
  readonly price: number
}

/**
 * Lower bound on the price of instances that together answer a rate. It is nearly always the exact minimum. The search
 * is depth-first, in order of price per request/s (an integer knapsack cover).
 */
export function cheapestCover(items: readonly CoverItem[], ratePerS: number): number {
  // For each price, the item with the highest rate.
  const best = new Map<number, CoverItem>()
  for (const item of items) {
    if (item.ratePerS > (best.get(item.price)?.ratePerS ?? 0)) best.set(item.price, item)
  }
  const order = [...best.values()]
  order.sort((a, b) => a.price / a.ratePerS - b.price / b.ratePerS || b.ratePerS - a.ratePerS)
  if (order.length === 0) return Infinity
  const enough = ratePerS * TOLERANCE
  const ratio = (i: number) => order[i]!.price / order[i]!.ratePerS
  let least = Infinity
  let nodes = 0
  const visit = (i: number, left: number, cost: number): void => {
    const item = order[i]!
    const isLast = i === order.length - 1
    for (let count = Math.max(0, Math.ceil((left - enough) / item.ratePerS)); count >= 0; count--) {
      const spent = cost + count * item.price
      const rest = left - count * item.ratePerS
      if (rest <= enough) least = Math.min(least, spent)
      else if (isLast || spent + rest * ratio(i + 1) >= least - 1e-12 || ++nodes > NODE_LIMIT) return
      else visit(i + 1, rest, spent)
    }
  }
  visit(0, ratePerS, 0)
  return nodes > NODE_LIMIT ? Math.min(least, ratePerS * ratio(0)) : least
}
