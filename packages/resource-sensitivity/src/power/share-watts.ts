import { exactAllocation } from '../mechanisms/server-allocation.js'

/** Gain at a power level. */
export interface Way {
  readonly watts: number
  readonly gain: number
}

export interface WattShares {
  /** Chosen point of each party. */
  readonly chosen: readonly number[]
  readonly gain: number
  /** Marginal gain of one more watt; 0 if every job is at its maximum. */
  readonly price: number
}

/**
 * Distributes watts among parties that choose one operating point each. All start with their first point; then the best
 * gain per watt is taken along the concave hull of each party's points (a multiple-choice knapsack). This greedy result
 * is a lower bound for an exact search, which is skipped if it would take too long.
 *
 * @param all operating points of each party, at least one, watts and gain strictly ascending
 * @param watts total power; if it is below the sum of all first points, every party still gets its first point
 */
export function shareWatts(all: readonly (readonly Way[])[], watts: number): WattShares {
  const chosen = all.map(() => 0)
  let left = watts - all.reduce((sum, ways) => sum + ways[0]!.watts, 0)
  const steps = all.flatMap((ways, who) => hullSteps(ways).map((step) => ({ who, ...step })))
  // Along a hull the gain per watt falls, so the steps of each party keep their order.
  steps.sort((a, b) => b.ratio - a.ratio || a.who - b.who || a.to - b.to)
  const stuck = new Set<number>()
  let price = 0
  for (const { who, to, costW, ratio } of steps) {
    if (stuck.has(who)) continue
    if (costW <= left) {
      left -= costW
      chosen[who] = to
    } else {
      stuck.add(who)
      price = Math.max(price, ratio)
    }
  }
  const gainOf = (choice: readonly number[]) => all.reduce((sum, ways, who) => sum + ways[choice[who]!]!.gain, 0)
  const gain = gainOf(chosen)
  if (stuck.size === 0 || left < 0) return { chosen, gain, price }
  const options = all.map((ways) => ({
    gpus: 1,
    options: ways.map((way) => ({ cpus: way.watts, memoryGb: 0, throughput: way.gain })),
  }))
  const best = exactAllocation(options, watts, 0, gain)
  return best === null ? { chosen, gain, price } : { chosen: best, gain: gainOf(best), price }
}

/** Steps between the vertices of the upper concave hull. */
function hullSteps(ways: readonly Way[]): { to: number; costW: number; ratio: number }[] {
  const steps: { to: number; costW: number; ratio: number }[] = []
  for (let from = 0; from < ways.length - 1; ) {
    let to = from + 1
    for (let next = to + 1; next < ways.length; next++) {
      if (slope(ways[from]!, ways[next]!) >= slope(ways[from]!, ways[to]!)) to = next
    }
    steps.push({ to, costW: ways[to]!.watts - ways[from]!.watts, ratio: slope(ways[from]!, ways[to]!) })
    from = to
  }
  return steps
}

function slope(a: Way, b: Way): number {
  return (b.gain - a.gain) / (b.watts - a.watts)
}
