import { cheapestCover } from './cheapest-cover.js'
import type { CoverProblem } from './cover-problem.js'
import { fewestGpus } from './fewest-gpus.js'
import { nearCovers } from './near-covers.js'
import { gpcsOf, gpcTotal, SIZES } from './size-counts.js'

export interface EnumerationGoal {
  /** Boards allowed. */
  readonly maxGpus: number
  /** Compute slices allowed. */
  readonly maxGpcs: number
  /** Prices of sizes under which no full board is worth more than 1; the nearer to the best ones, the less is enumerated. */
  readonly prices: ArrayLike<number>
  /** Rows of the problem of which one is to be covered each, the ways to run a service. Default: every row. */
  readonly alternatives?: readonly (readonly number[])[]
}

/**
 * `found`: the plan with the fewest compute slices of those allowed, segments by row of the problem and size. `none`: proved that there
 * is no plan. `too-many`: given up.
 */
export type EnumerationResult =
  | { readonly kind: 'found'; readonly counts: Int32Array }
  | { readonly kind: 'none' | 'too-many' }

/** Totals kept of all services together, covers of one, and sums tried. */
const MAX_TOTALS = 120_000
const MAX_COVERS = 4000
const MAX_SUMS = 6_000_000
/** The five counts of a total are packed into one number, each below this. */
const RADIX = 1024

/** A price list, what a plan may cost at most by it, and what each service costs at least. */
interface Budget {
  readonly prices: ArrayLike<number>
  readonly most: number
  readonly least: readonly number[]
  readonly slack: number
}

/** Segments of each size that cover a row of the problem. */
interface Cover {
  readonly row: number
  readonly counts: Int32Array
}

/** A number of segments of each size for the services so far, with the way to it. */
interface Total {
  readonly counts: Int32Array
  readonly cover: Cover | null
  readonly before: Total | null
}

/**
 * All plans within a number of boards, by dynamic programming over totals. By valid prices a plan on N boards costs at most
 * N, and its services cost at least their cheapest covers, so a service's cover may cost more than its cheapest only by the
 * slack between: near the bound that leaves few covers, and many of their sums are the same total.
 */
export function enumerateTotals(problem: CoverProblem, goal: EnumerationGoal): EnumerationResult {
  const { alternatives = Array.from({ length: problem.services }, (_, m) => [m]) } = goal
  const budgets = budgetsOf(problem, alternatives, goal)
  if (budgets.some(({ slack }) => slack < -1e-9)) return { kind: 'none' }
  const services: { covers: readonly Cover[]; m: number }[] = []
  for (const [m, rows] of alternatives.entries()) {
    const covers = coversWithin(problem, rows, m, budgets)
    if (covers === null) return { kind: 'too-many' }
    if (covers.length === 0) return { kind: 'none' }
    services.push({ covers, m })
  }
  const largest = services.reduce((sum, { covers }) => sum + covers.reduce((a, c) => Math.max(a, ...c.counts), 0), 0)
  if (largest >= RADIX) return { kind: 'too-many' }
  services.sort((a, b) => a.covers.length - b.covers.length)
  const left = budgets.map(({ least }) => least.reduce((sum, cost) => sum + cost, 0))
  let layer: Total[] = [{ counts: new Int32Array(SIZES), cover: null, before: null }]
  let sums = 0
  for (const { covers, m } of services) {
    budgets.forEach(({ least }, b) => {
      left[b]! -= least[m]!
    })
    sums += layer.length * covers.length
    if (sums > MAX_SUMS) return { kind: 'too-many' }
    const next = nextLayer(layer, covers, budgets, left)
    if (next.length > MAX_TOTALS) return { kind: 'too-many' }
    layer = next
  }
  return best(layer, problem.services, goal)
}

/** Every total with every cover of one service more, as far as the budgets leave enough for the services to come. */
function nextLayer(
  layer: readonly Total[],
  covers: readonly Cover[],
  budgets: readonly Budget[],
  left: readonly number[],
): Total[] {
  const next = new Map<number, Total>()
  const lists = budgets.length
  const costs = new Float64Array(covers.length * lists)
  covers.forEach((cover, c) => {
    for (let b = 0; b < lists; b++) costs[c * lists + b] = worth(cover.counts, budgets[b]!.prices)
  })
  const room = new Float64Array(lists)
  for (const before of layer) {
    for (let b = 0; b < lists; b++) {
      room[b] = budgets[b]!.most - left[b]! - worth(before.counts, budgets[b]!.prices) + 1e-9
    }
    for (let c = 0; c < covers.length; c++) {
      let b = 0
      while (b < lists && costs[c * lists + b]! <= room[b]!) b++
      if (b < lists) continue
      const cover = covers[c]!
      const key = keyOf(before.counts, cover.counts)
      if (next.has(key)) continue
      next.set(key, { counts: before.counts.map((count, s) => count + cover.counts[s]!), cover, before })
    }
  }
  return [...next.values()]
}

function budgetsOf(
  problem: CoverProblem,
  alternatives: readonly (readonly number[])[],
  { maxGpus, maxGpcs, prices }: EnumerationGoal,
): Budget[] {
  const boardGpcs = gpcsOf.map((gpcs) => gpcs / 7)
  const lists: { prices: ArrayLike<number>; most: number }[] = [
    { prices, most: maxGpus },
    { prices: boardGpcs, most: Math.min(maxGpus, maxGpcs / 7) },
  ]
  if (Number.isFinite(maxGpcs)) {
    // Both limits at once, in some proportions: tighter than either.
    for (const weight of [0.15, 0.3, 0.5, 0.7, 0.85]) {
      lists.push({
        prices: boardGpcs.map((price, s) => weight * price + (1 - weight) * prices[s]!),
        most: (weight * maxGpcs) / 7 + (1 - weight) * maxGpus,
      })
    }
  }
  return lists.map((list) => {
    const least = alternatives.map((rows) =>
      Math.min(...rows.map((row) => cheapestCover(problem, row, list.prices).bound)),
    )
    return { ...list, least, slack: list.most - least.reduce((sum, cost) => sum + cost, 0) }
  })
}

/** Covers of a service that every budget allows; null where there are too many. */
function coversWithin(
  problem: CoverProblem,
  rows: readonly number[],
  m: number,
  budgets: readonly Budget[],
): Cover[] | null {
  const { prices, least, slack } = budgets.reduce((a, b) => (b.slack < a.slack ? b : a))
  const found: Cover[] = []
  for (const row of rows) {
    const most = least[m]! + slack + 1e-9
    const { covers, complete } = nearCovers(problem, row, prices, problem.rates[row]!, most, MAX_COVERS)
    if (!complete) return null
    found.push(...covers.map((counts) => ({ row, counts })))
  }
  return found.filter(({ counts }) =>
    budgets.every((budget) => worth(counts, budget.prices) <= budget.least[m]! + budget.slack + 1e-9),
  )
}

function worth(counts: Int32Array, prices: ArrayLike<number>): number {
  let sum = 0
  for (let s = 0; s < SIZES; s++) sum += counts[s]! * prices[s]!
  return sum
}

function keyOf(counts: Int32Array, more: Int32Array): number {
  let key = 0
  for (let s = 0; s < SIZES; s++) key = key * RADIX + counts[s]! + more[s]!
  return key
}

function best(totals: readonly Total[], rows: number, { maxGpus, maxGpcs }: EnumerationGoal): EnumerationResult {
  let leanest: Total | undefined
  for (const total of totals) {
    if (fewestGpus(total.counts) > maxGpus || gpcTotal(total.counts) > maxGpcs) continue
    if (!leanest || gpcTotal(total.counts) < gpcTotal(leanest.counts)) leanest = total
  }
  if (!leanest) return { kind: 'none' }
  const counts = new Int32Array(rows * SIZES)
  for (let at: Total | null = leanest; at?.cover; at = at.before) counts.set(at.cover.counts, at.cover.row * SIZES)
  return { kind: 'found', counts }
}
