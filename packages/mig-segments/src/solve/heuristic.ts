import { SeededRandom } from '@pctodl/numerics'
import { boardFraction } from './board-fraction.js'
import { cheapestCover } from './cheapest-cover.js'
import { type CoverProblem, capacityOf } from './cover-problem.js'
import { fewestGpus } from './fewest-gpus.js'
import { nearCovers } from './near-covers.js'
import type { PriceBound } from './price-bound.js'
import { gpcsOf, gpcTotal, SIZES } from './size-counts.js'

/** Segments of every service and size, and what they come to. */
export interface CountSolution {
  /** By service and size. */
  readonly counts: Int32Array
  readonly gpus: number
  readonly gpcs: number
}

/** Covers kept of each service, and of all of them together. */
const COVERS_PER_SERVICE = 40
const COVERS = 20_000
/** Segments that rounding leaves to the search, of each service and size. */
const LOOSE_SEGMENTS = 2
/** Totals evaluated at most while the bound on GPUs is not met. */
const EVALUATIONS = 1_500_000
/** Totals evaluated at most once it is, to save compute slices. */
const POLISH_EVALUATIONS = 60_000

export interface HeuristicSearch {
  /** Descents from a disturbed solution. Default 12. */
  readonly shakes?: number
  readonly seed?: number
  /** So many boards are good enough: what is sought are fewer compute slices on them. Default: the fewest boards. */
  readonly maxGpus?: number
}

interface Choice {
  /** Segments that the relaxed solution fixes, by size. */
  readonly base: Int32Array
  /** Ways to cover what they leave, by size one after the other. */
  readonly covers: readonly Int32Array[]
}

/**
 * A plan in milliseconds: the relaxed solution of the price bound, rounded down, and for what is left of every service a choice
 * among its near-cheapest covers. The choice descends by changing one service, then two at once, and is shaken a few times.
 */
export function solveHeuristically(
  problem: CoverProblem,
  { prices, relaxed, gpus: bound }: PriceBound,
  { shakes = 12, seed = 1, maxGpus }: HeuristicSearch = {},
): CountSolution {
  const { services } = problem
  const gpcPrices = gpcsOf.map((gpcs) => gpcs / 7)
  const most = Math.max(4, Math.min(COVERS_PER_SERVICE, Math.floor(COVERS / services)))
  const choices = Array.from({ length: services }, (_, m) =>
    chooseAmong(problem, m, [prices, gpcPrices], relaxed, most),
  )
  const search = new ChoiceSearch(choices, maxGpus ?? bound, maxGpus === undefined ? scoreOf : leanScore(maxGpus))
  let best = search.descend(new Int32Array(services))
  const rounded = search.descend(followRelaxed(choices, relaxed))
  if (rounded.score < best.score - 1e-9) best = rounded
  const random = new SeededRandom(seed)
  for (let i = 0; i < shakes && !search.exhausted; i++) {
    const disturbed = best.chosen.slice()
    for (let k = 0; k < Math.min(services, 3); k++) {
      const m = random.integer(services)
      disturbed[m] = random.integer(choices[m]!.covers.length)
    }
    const found = search.descend(disturbed)
    if (found.score < best.score - 1e-9) best = found
  }
  return search.solution(best.chosen)
}

function chooseAmong(
  problem: CoverProblem,
  m: number,
  priceLists: readonly ArrayLike<number>[],
  relaxed: Float64Array,
  most: number,
): Choice {
  const base = new Int32Array(SIZES)
  for (let s = 0; s < SIZES; s++) {
    base[s] = Math.max(0, Math.floor(relaxed[m * SIZES + s]! + 1e-6) - LOOSE_SEGMENTS)
  }
  const rate = problem.rates[m]!
  // A base never serves the whole rate: something must be left to choose.
  while (capacityOf(problem, m, base) >= rate) {
    for (let s = 0; s < SIZES; s++) base[s] = base[s]! >> 1
  }
  const rest = rate - capacityOf(problem, m, base)
  const covers = new Map<string, Int32Array>()
  for (const price of priceLists) {
    const { cost, counts } = cheapestCover(problem, m, price, rest)
    covers.set(counts.join(), counts)
    for (const cover of nearCovers(problem, m, price, rest, cost + 0.6, most).covers) {
      covers.set(cover.join(), cover)
    }
  }
  return { base, covers: [...covers.values()] }
}

/** Of each service the cover that keeps the running total nearest to the relaxed one. */
function followRelaxed(choices: readonly Choice[], relaxed: Float64Array): Int32Array {
  const ahead = new Float64Array(SIZES)
  return Int32Array.from(choices, ({ base, covers }, m) => {
    for (let s = 0; s < SIZES; s++) ahead[s]! += base[s]! - relaxed[m * SIZES + s]!
    let nearest = 0
    let least = Number.POSITIVE_INFINITY
    covers.forEach((cover, c) => {
      let distance = 0
      for (let s = 0; s < SIZES; s++) distance += (gpcsOf[s]! * (ahead[s]! + cover[s]!)) ** 2
      if (distance >= least) return
      least = distance
      nearest = c
    })
    for (let s = 0; s < SIZES; s++) ahead[s]! += covers[nearest]![s]!
    return nearest
  })
}

interface Descent {
  readonly chosen: Int32Array
  readonly score: number
}

/** Local search over one cover for each service. Totals are kept up to date, so a step costs a few additions. */
class ChoiceSearch {
  readonly #choices: readonly Choice[]
  readonly #total = new Int32Array(SIZES)
  readonly #trial = new Int32Array(SIZES)
  readonly #rest = new Int32Array(SIZES)
  readonly #bound: number
  readonly #score: (total: Int32Array) => number
  #evaluations = 0
  #fewest = Number.POSITIVE_INFINITY

  constructor(choices: readonly Choice[], bound: number, score: (total: Int32Array) => number) {
    this.#choices = choices
    this.#bound = bound
    this.#score = score
  }

  /** Whether the evaluations that may be spent are. */
  get exhausted(): boolean {
    return this.#evaluations >= (this.#fewest <= this.#bound ? POLISH_EVALUATIONS : EVALUATIONS)
  }

  solution(chosen: Int32Array): CountSolution {
    const counts = new Int32Array(this.#choices.length * SIZES)
    this.#choices.forEach(({ base, covers }, m) => {
      const cover = covers[chosen[m]!]!
      for (let s = 0; s < SIZES; s++) counts[m * SIZES + s] = base[s]! + cover[s]!
    })
    const total = this.#totalOf(chosen)
    return { counts, gpus: fewestGpus(total), gpcs: gpcTotal(total) }
  }

  descend(start: Int32Array): Descent {
    const chosen = start.slice()
    this.#total.set(this.#totalOf(chosen))
    let score = this.#score(this.#total)
    for (;;) {
      const before = score
      score = this.#improveOneByOne(chosen, score)
      this.#fewest = Math.min(this.#fewest, fewestGpus(this.#total))
      if (score < before - 1e-9) continue
      for (let a = 0; a < chosen.length; a++) {
        for (let b = a + 1; b < chosen.length && !this.exhausted; b++) {
          score = this.#improvePair(chosen, a, b, score)
        }
      }
      this.#fewest = Math.min(this.#fewest, fewestGpus(this.#total))
      if (score >= before - 1e-9 || this.exhausted) break
    }
    return { chosen, score }
  }

  #totalOf(chosen: Int32Array): Int32Array {
    const total = new Int32Array(SIZES)
    this.#choices.forEach(({ base, covers }, m) => {
      const cover = covers[chosen[m]!]!
      for (let s = 0; s < SIZES; s++) total[s]! += base[s]! + cover[s]!
    })
    return total
  }

  #improveOneByOne(chosen: Int32Array, start: number): number {
    let score = start
    for (let m = 0; m < chosen.length; m++) {
      const { covers } = this.#choices[m]!
      const present = covers[chosen[m]!]!
      let best = -1
      this.#evaluations += covers.length
      for (let c = 0; c < covers.length; c++) {
        for (let s = 0; s < SIZES; s++) this.#trial[s] = this.#total[s]! - present[s]! + covers[c]![s]!
        const trial = this.#score(this.#trial)
        if (trial >= score - 1e-9) continue
        score = trial
        best = c
      }
      if (best >= 0) this.#adopt(chosen, m, best)
    }
    return score
  }

  #improvePair(chosen: Int32Array, a: number, b: number, start: number): number {
    const coversA = this.#choices[a]!.covers
    const coversB = this.#choices[b]!.covers
    const presentA = coversA[chosen[a]!]!
    const presentB = coversB[chosen[b]!]!
    const rest = this.#rest
    this.#evaluations += coversA.length * coversB.length
    let score = start
    let best: readonly [number, number] | undefined
    for (let i = 0; i < coversA.length; i++) {
      for (let s = 0; s < SIZES; s++) rest[s] = this.#total[s]! - presentA[s]! - presentB[s]! + coversA[i]![s]!
      for (let j = 0; j < coversB.length; j++) {
        for (let s = 0; s < SIZES; s++) this.#trial[s] = rest[s]! + coversB[j]![s]!
        const trial = this.#score(this.#trial)
        if (trial >= score - 1e-9) continue
        score = trial
        best = [i, j]
      }
    }
    if (best) {
      this.#adopt(chosen, a, best[0])
      this.#adopt(chosen, b, best[1])
    }
    return score
  }

  #adopt(chosen: Int32Array, m: number, c: number): void {
    const { covers } = this.#choices[m]!
    const present = covers[chosen[m]!]!
    for (let s = 0; s < SIZES; s++) this.#total[s]! += covers[c]![s]! - present[s]!
    chosen[m] = c
  }
}

/** GPUs first; among equals what is nearer to a GPU less, then GPCs. */
function scoreOf(total: Int32Array): number {
  return fewestGpus(total) + 0.05 * boardFraction(total) + 0.002 * gpcTotal(total)
}

/** Compute slices on so many boards; what is above them first. */
function leanScore(maxGpus: number): (total: Int32Array) => number {
  return (total) => {
    const above = Math.max(0, fewestGpus(total) - maxGpus)
    return gpcTotal(total) + (above === 0 ? 0 : 20 * above + 10 * Math.max(0, boardFraction(total) - maxGpus))
  }
}
