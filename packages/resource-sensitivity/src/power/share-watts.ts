/** What somebody gains with so many watts. */
export interface Way {
  readonly watts: number
  readonly gain: number
}

export interface WattShares {
  /** For each, which of its ways. */
  readonly chosen: readonly number[]
  readonly gain: number
  readonly watts: number
  /** What a watt more would gain; 0 where everybody has all that helps. */
  readonly price: number
}

/**
 * Share watts out among those who each choose one way: everybody has the first, and what gains most for a watt comes next, along the concave
 * hull of each one's ways (a multiple-choice knapsack; the linear bound is at most one step above). What is left then goes to whoever gains
 * most with it in one step.
 *
 * @param all of each, watts and gain strictly ascending, at least one
 * @param watts where they do not suffice for everybody's first, everybody has the first
 */
export function shareWatts(all: readonly (readonly Way[])[], watts: number): WattShares {
  const chosen = all.map(() => 0)
  let left = watts - all.reduce((sum, ways) => sum + ways[0]!.watts, 0)
  const steps = all.flatMap((ways, who) => hullSteps(ways).map((step) => ({ who, ...step })))
  // Along a hull the ratio falls, so each one's steps keep their order.
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
  for (;;) {
    let best: { who: number; to: number; gained: number; costW: number } | null = null
    for (const who of stuck) {
      const ways = all[who]!
      const now = ways[chosen[who]!]!
      for (let to = chosen[who]! + 1; to < ways.length && ways[to]!.watts - now.watts <= left; to++) {
        const gained = ways[to]!.gain - now.gain
        if (best === null || gained > best.gained) best = { who, to, gained, costW: ways[to]!.watts - now.watts }
      }
    }
    if (best === null) break
    chosen[best.who] = best.to
    left -= best.costW
  }
  const sum = (of: (way: Way) => number) => all.reduce((total, ways, who) => total + of(ways[chosen[who]!]!), 0)
  return { chosen, gain: sum((way) => way.gain), watts: sum((way) => way.watts), price }
}

/** Steps from vertex to vertex of the upper concave hull. */
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
