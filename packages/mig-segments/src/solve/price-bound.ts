import { cheapestCover } from './cheapest-cover.js'
import { type CoverProblem, capacityOf, isCovered } from './cover-problem.js'
import { maximize } from './simplex.js'
import { gpcsOf, maximalPatterns, SIZES } from './size-counts.js'

/** What prices of sizes tell about a problem. */
export interface PriceBound {
  /** No plan has fewer GPUs. */
  readonly gpus: number
  /** The bound before it is rounded up. */
  readonly fraction: number
  /** Price of a segment of each size, GPUs. */
  readonly prices: Float64Array
  /** Segments by service and size of the relaxed solution: mixtures of whole covers. */
  readonly relaxed: Float64Array
}

/** What rounding may have added to a bound, GPUs. */
const ROUNDING = 1e-7
/** Rows of the linear program grow with the groups that the services are put in: at most so many. */
const GROUPS = 40

/** Covers of all services of a group. */
export interface GroupCover {
  readonly group: number
  /** Segments by size of the whole group. */
  readonly total: Float64Array
  /** By service of the group and size. */
  readonly counts: Int32Array
}

/**
 * Lower bound by column generation (Dantzig-Wolfe, in the form of Kelley's cutting planes). With prices of sizes under which no
 * full board is worth more than 1, every plan needs at least the sum over the services of their cheapest cover. The best
 * prices are found by a linear program over the covers met so far; the covers that are cheapest at its prices join them, until
 * none is new. Above `GROUPS` services several share one row of the program, which slows the convergence, not the answer.
 */
export function priceBound(problem: CoverProblem, rounds = 40): PriceBound {
  const groups = groupServices(problem.services)
  const covers = groups.flatMap((group, g) => singleSizeCovers(problem, group, g))
  let prices: Float64Array = Float64Array.from(gpcsOf, (gpcs) => gpcs / 7)
  let best = { fraction: -1, prices }
  let relaxed = new Float64Array(problem.services * SIZES)
  for (let round = 0; round < rounds; round++) {
    const master = solveMaster(groups.length, covers)
    if (master) {
      relaxed = mix(problem, groups, covers, master.duals)
      prices = withinBoards(master.x.subarray(0, SIZES))
    }
    let fraction = 0
    let news = 0
    for (const [g, group] of groups.entries()) {
      const found = cheapestCovers(problem, group, g, prices)
      fraction += found.bound
      const known = master ? master.x[SIZES + g]! : Number.POSITIVE_INFINITY
      if (found.cost >= known - 1e-7 * Math.max(1, known)) continue
      covers.push(found.cover)
      news++
    }
    if (fraction > best.fraction) best = { fraction, prices }
    if (news === 0 || !master || Math.ceil(master.objective - ROUNDING) <= Math.ceil(best.fraction - ROUNDING)) break
  }
  return { gpus: Math.max(0, Math.ceil(best.fraction - ROUNDING)), ...best, relaxed: plausible(problem, relaxed) }
}

/** Services by group, one each where there are few. */
export function groupServices(services: number): number[][] {
  const groups: number[][] = Array.from({ length: Math.min(services, GROUPS) }, () => [])
  for (let m = 0; m < services; m++) groups[m % GROUPS]!.push(m)
  return groups
}

export function groupCover(group: number, counts: Int32Array): GroupCover {
  const total = new Float64Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  return { group, total, counts }
}

/** For each size the cover of the group by that size alone; services that cannot run in it take one that they can. */
export function singleSizeCovers(problem: CoverProblem, group: readonly number[], g: number): GroupCover[] {
  return gpcsOf.map((_, wanted) => {
    const counts = new Int32Array(group.length * SIZES)
    group.forEach((m, i) => {
      const items = (s: number) => problem.throughput[m * SIZES + s]!
      const s = items(wanted) > 0 ? wanted : gpcsOf.findIndex((_, size) => items(size) > 0)
      counts[i * SIZES + s] = Math.ceil(problem.rates[m]! / items(s))
      if (!isCovered(problem, m, counts, i * SIZES)) counts[i * SIZES + s]!++
    })
    return groupCover(g, counts)
  })
}

export function cheapestCovers(
  problem: CoverProblem,
  group: readonly number[],
  g: number,
  prices: Float64Array,
): { cover: GroupCover; cost: number; bound: number } {
  const counts = new Int32Array(group.length * SIZES)
  let cost = 0
  let bound = 0
  group.forEach((m, i) => {
    const cover = cheapestCover(problem, m, prices)
    counts.set(cover.counts, i * SIZES)
    cost += cover.cost
    bound += cover.bound
  })
  return { cover: groupCover(g, counts), cost, bound }
}

/** Variables: the prices of the sizes, then what each group costs at least. */
function solveMaster(groups: number, covers: readonly GroupCover[]) {
  const width = SIZES + groups
  const rows = covers.map(({ group, total }) => {
    const row = new Array<number>(width).fill(0)
    const scale = rowScale(total)
    for (let s = 0; s < SIZES; s++) row[s] = -total[s]! * scale
    row[SIZES + group] = scale
    return row
  })
  for (const pattern of maximalPatterns) {
    const row = new Array<number>(width).fill(0)
    for (let s = 0; s < SIZES; s++) row[s] = pattern[s]!
    rows.push(row)
  }
  const cost = Array.from({ length: width }, (_, j) => (j < SIZES ? 0 : 1))
  return maximize({ cost, rows, limits: rows.map((_, i) => (i < covers.length ? 0 : 1)) })
}

/** Rows are scaled to the size of the cover, so that a thousand segments and one are alike to the simplex. */
export function rowScale(total: Float64Array): number {
  return 1 / Math.max(1, ...total)
}

/** Scale prices so that the dearest full board costs 1. */
function withinBoards(prices: Float64Array): Float64Array {
  let dearest = 0
  for (const pattern of maximalPatterns) {
    let sum = 0
    for (let s = 0; s < SIZES; s++) sum += pattern[s]! * prices[s]!
    dearest = Math.max(dearest, sum)
  }
  return prices.map((price) => price / Math.max(dearest, 1e-9))
}

export function mix(
  problem: CoverProblem,
  groups: readonly (readonly number[])[],
  covers: readonly GroupCover[],
  duals: Float64Array,
): Float64Array<ArrayBuffer> {
  const relaxed = new Float64Array(problem.services * SIZES)
  covers.forEach(({ group, total, counts }, row) => {
    const weight = duals[row]! * rowScale(total)
    if (weight === 0) return
    groups[group]!.forEach((m, i) => {
      for (let s = 0; s < SIZES; s++) relaxed[m * SIZES + s]! += weight * counts[i * SIZES + s]!
    })
  })
  return relaxed
}

/** Duals of a simplex that lost its precision may be no mixture; a service far above its rate then starts from nothing. */
export function plausible(problem: CoverProblem, relaxed: Float64Array): Float64Array {
  for (let m = 0; m < problem.services; m++) {
    let least = Number.POSITIVE_INFINITY
    for (let s = 0; s < SIZES; s++) {
      const items = problem.throughput[m * SIZES + s]!
      if (items > 0) least = Math.min(least, Math.max(problem.rates[m]!, items))
    }
    const most = 4 * Math.max(least, problem.rates[m]!)
    if (capacityOf(problem, m, relaxed, m * SIZES) > most) relaxed.fill(0, m * SIZES, (m + 1) * SIZES)
  }
  return relaxed
}
