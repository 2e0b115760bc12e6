import type { CoverProblem } from './cover-problem.js'
import {
  cheapestCovers,
  type GroupCover,
  groupCover,
  groupServices,
  mix,
  plausible,
  rowScale,
  singleSizeCovers,
} from './price-bound.js'
import { maximize } from './simplex.js'
import { gpcsOf, maximalPatterns, SIZES } from './size-counts.js'

/** What prices of sizes tell about the compute slices of plans on a number of boards. */
export interface SliceBound {
  /** No plan on so many boards has fewer compute slices. */
  readonly gpcs: number
  /** Price of a segment of each size: its slices, and what the room on the boards is worth, in slices. */
  readonly prices: Float64Array
  /** Segments by service and size of the relaxed solution. */
  readonly relaxed: Float64Array
}

const ROUNDING = 1e-6

/**
 * Lower bound on the compute slices of plans on at most `maxGpus` boards, by the same column generation as `priceBound`, for the
 * Lagrangian of the boards: a size costs its slices and a surcharge; no full board is worth more than `boardWorth` in
 * surcharges. Then a plan has at least Σ cheapest covers - `maxGpus` · `boardWorth` slices.
 *
 * @param start segments by service and size of a plan on so many boards: with it the linear program has a solution
 */
export function sliceBound(problem: CoverProblem, maxGpus: number, start: Int32Array, rounds = 40): SliceBound {
  const groups = groupServices(problem.services)
  const covers = groups.flatMap((group, g) => [
    ...singleSizeCovers(problem, group, g),
    groupCover(g, Int32Array.from(group.flatMap((m) => [...start.subarray(m * SIZES, (m + 1) * SIZES)]))),
  ])
  let best = { value: Number.NEGATIVE_INFINITY, prices: Float64Array.from(gpcsOf) }
  let relaxed = new Float64Array(problem.services * SIZES)
  for (let round = 0; round < rounds; round++) {
    const master = solveMaster(groups.length, covers, maxGpus)
    if (master) relaxed = mix(problem, groups, covers, master.duals)
    const surcharges = master ? master.x.subarray(0, SIZES) : new Float64Array(SIZES)
    const prices = surcharges.map((surcharge, s) => gpcsOf[s]! + surcharge)
    let value = -maxGpus * boardWorth(surcharges)
    let news = 0
    for (const [g, group] of groups.entries()) {
      const found = cheapestCovers(problem, group, g, prices)
      value += found.bound
      const known = master ? master.x[SIZES + 1 + g]! : Number.POSITIVE_INFINITY
      if (found.cost >= known - 1e-7 * Math.max(1, known)) continue
      covers.push(found.cover)
      news++
    }
    if (value > best.value) best = { value, prices }
    if (news === 0 || !master || Math.ceil(master.objective - ROUNDING) <= Math.ceil(best.value - ROUNDING)) break
  }
  return {
    gpcs: Math.max(0, Math.ceil(best.value - ROUNDING)),
    prices: best.prices,
    relaxed: plausible(problem, relaxed),
  }
}

/** Variables: the surcharges of the sizes, the worth of a board in them, then what each group costs at least. */
function solveMaster(groups: number, covers: readonly GroupCover[], maxGpus: number) {
  const width = SIZES + 1 + groups
  const rows: number[][] = []
  const limits: number[] = []
  for (const { group, total } of covers) {
    const row = new Array<number>(width).fill(0)
    const scale = rowScale(total)
    let slices = 0
    for (let s = 0; s < SIZES; s++) {
      row[s] = -total[s]! * scale
      slices += gpcsOf[s]! * total[s]!
    }
    row[SIZES + 1 + group] = scale
    rows.push(row)
    limits.push(slices * scale)
  }
  for (const pattern of maximalPatterns) {
    const row = new Array<number>(width).fill(0)
    for (let s = 0; s < SIZES; s++) row[s] = pattern[s]!
    row[SIZES] = -1
    rows.push(row)
    limits.push(0)
  }
  const cost = Array.from({ length: width }, (_, j) => (j < SIZES ? 0 : j === SIZES ? -maxGpus : 1))
  return maximize({ cost, rows, limits })
}

/** Surcharges of the dearest full board. */
function boardWorth(surcharges: Float64Array): number {
  let dearest = 0
  for (const pattern of maximalPatterns) {
    let sum = 0
    for (let s = 0; s < SIZES; s++) sum += pattern[s]! * surcharges[s]!
    dearest = Math.max(dearest, sum)
  }
  return dearest
}
