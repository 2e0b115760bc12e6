import { coverProblem } from '../solve/cover-problem.js'
import { fewestGpus } from '../solve/fewest-gpus.js'
import { solveHeuristically } from '../solve/heuristic.js'
import { leanPlan } from '../solve/lean-plan.js'
import { priceBound } from '../solve/price-bound.js'
import { SIZES } from '../solve/size-counts.js'
import { type DayProblem, servingW } from './day-problem.js'

/** Plans that are made at most for one schedule. */
const MOST_WINDOWS = 1200

/**
 * Segments for every period: a day is cut into windows with one plan each, which covers the most that each service needs in it. Of all
 * ways to cut it, by dynamic programming, the one that takes the least energy, with what is created at each cut.
 *
 * @param single plans for each period alone
 * @returns counts by service and size, one for each period
 */
export function planWindows(problem: DayProblem, single: readonly Int32Array[], seed: number): Int32Array[] {
  const { periods } = problem
  const longest = Math.max(1, Math.min(periods, Math.floor(MOST_WINDOWS / periods)))
  const known = new Map<string, Int32Array>()
  const windows: { first: number; last: number; counts: Int32Array; energyJ: number }[] = []
  for (let first = 0; first < periods; first++) {
    for (let last = first; last < Math.min(periods, first + longest); last++) {
      const peak = peakNeeds(problem, first, last)
      const key = peak.join()
      const counts = first === last ? single[first]! : (known.get(key) ?? countsFor(problem, peak, seed))
      known.set(key, counts)
      let energyJ = 0
      for (let h = first; h <= last; h++) energyJ += periodEnergyJ(problem, h, counts)
      windows.push({ first, last, counts, energyJ })
    }
  }
  // The whole day, too, where windows are shorter.
  if (longest < periods) {
    const counts = staticCounts(problem, seed)
    let energyJ = 0
    for (let h = 0; h < periods; h++) energyJ += periodEnergyJ(problem, h, counts)
    windows.push({ first: 0, last: periods - 1, counts, energyJ })
  }
  const best = windows.map(() => ({ cost: Number.POSITIVE_INFINITY, before: -1 }))
  const order = windows.map((_, w) => w).sort((a, b) => windows[a]!.first - windows[b]!.first)
  for (const w of order) {
    const { first, counts, energyJ } = windows[w]!
    if (first === 0) best[w] = { cost: energyJ, before: -1 }
    windows.forEach((previous, p) => {
      if (previous.last !== first - 1) return
      const cost = best[p]!.cost + creationJ(problem, previous.counts, counts) + energyJ
      if (cost < best[w]!.cost) best[w] = { cost, before: p }
    })
  }
  let at = -1
  windows.forEach(({ last }, w) => {
    if (last === periods - 1 && (at < 0 || best[w]!.cost < best[at]!.cost)) at = w
  })
  const counts = new Array<Int32Array>(periods)
  for (; at >= 0; at = best[at]!.before) {
    const window = windows[at]!
    for (let h = window.first; h <= window.last; h++) counts[h] = window.counts
  }
  return counts
}

/** One plan for the highest rate that each service ever has. */
export function staticCounts(problem: DayProblem, seed: number): Int32Array {
  return countsFor(problem, peakNeeds(problem, 0, problem.periods - 1), seed)
}

function peakNeeds({ needs, served }: DayProblem, first: number, last: number): Float64Array {
  const peak = new Float64Array(served.length)
  for (let h = first; h <= last; h++) {
    served.forEach((_, m) => {
      peak[m] = Math.max(peak[m]!, needs[h * served.length + m]!)
    })
  }
  return peak
}

/** The fewest boards, then the fewest compute slices, for what services need. @param needs items/s of each service */
export function countsFor({ served }: DayProblem, needs: ArrayLike<number>, seed: number): Int32Array {
  const present = served.flatMap((demand, m) =>
    needs[m]! > 0 ? [{ m, demand: { ...demand, capacityPerS: needs[m]! } }] : [],
  )
  const counts = new Int32Array(served.length * SIZES)
  if (present.length === 0) return counts
  const problem = coverProblem(present.map(({ demand }) => demand))
  const { solution } = leanPlan(problem, solveHeuristically(problem, priceBound(problem), { seed }), seed)
  present.forEach(({ m }, row) => {
    counts.set(solution.counts.subarray(row * SIZES, (row + 1) * SIZES), m * SIZES)
  })
  return counts
}

export function totalOf(counts: Int32Array): Int32Array {
  const total = new Int32Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  return total
}

/** Energy of a period above all boards parked, J. @param boards in use; default: the fewest that hold the segments */
export function periodEnergyJ(
  problem: DayProblem,
  h: number,
  counts: Int32Array,
  boards: number = fewestGpus(totalOf(counts)),
): number {
  const { served, rates, periodS, idleW, parkedW } = problem
  let watts = boards * (idleW - parkedW)
  served.forEach((_, m) => {
    watts += servingW(problem, m, counts, rates[h * served.length + m]!)
  })
  return watts * periodS
}

/** Energy of what is created between two plans, J. */
export function creationJ({ powerW, migrationS }: DayProblem, from: Int32Array, to: Int32Array): number {
  let watts = 0
  to.forEach((count, i) => {
    watts += Math.max(0, count - from[i]!) * powerW[i]!
  })
  return watts * migrationS
}
