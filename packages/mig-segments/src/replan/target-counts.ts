import { boardFraction } from '../solve/board-fraction.js'
import { cheapestCover } from '../solve/cheapest-cover.js'
import { COVER_TOLERANCE, type CoverProblem, capacityOf } from '../solve/cover-problem.js'
import { fewestGpus } from '../solve/fewest-gpus.js'
import { nearCovers } from '../solve/near-covers.js'
import { gpcsOf, SIZES } from '../solve/size-counts.js'

/**
 * How many segments of each service and size a changed demand should have, as near to the present ones as `maxGpus` allows:
 * surplus goes, what is short comes, and where that does not fit, services take other counts one after the other, those
 * first that gain most room for each segment that must be created; then whatever creates fewer and still fits is taken back.
 *
 * @returns a few such counts: what they cost in moves shows when they are placed
 *
 * @param present by service and size, of segments that could go on
 * @param fresh a plan's counts that fit on `maxGpus`
 */
export function targetCounts(
  problem: CoverProblem,
  present: Int32Array,
  fresh: Int32Array,
  maxGpus: number,
): Int32Array[] {
  const target = present.slice()
  for (let m = 0; m < problem.services; m++) {
    addWhatIsShort(problem, m, target)
    dropSurplus(problem, m, target)
  }
  const choices = Array.from({ length: problem.services }, (_, m) => choicesOf(problem, m, present, fresh, target))
  const refreshed = choices.map((_, m) => [fresh.slice(m * SIZES, (m + 1) * SIZES)])
  return [choices, refreshed].flatMap((offered) => {
    const roomy = makeRoom(offered, target, present, maxGpus) ?? fresh.slice()
    const still = roomy.slice()
    while (takeStillest(choices, still, present, maxGpus));
    return [still, roomy]
  })
}

/** @returns counts that fit, null where one service after the other does not get there */
function makeRoom(
  offered: readonly (readonly Int32Array[])[],
  target: Int32Array,
  present: Int32Array,
  maxGpus: number,
): Int32Array | null {
  const counts = target.slice()
  // Each turn gains room, so one of finitely many is the last.
  while (fewestGpus(totalOf(counts)) > maxGpus) {
    if (!takeRoomiest(offered, counts, present)) return null
  }
  return counts
}

/** Covers considered of all services together, and more slices than the leanest that one may take. */
const CHOICES = 6000
const MORE_GPCS = 3

/** Counts that a service may have: what it has, the fresh plan's, lean ones, and what it has with other additions. */
function choicesOf(
  problem: CoverProblem,
  m: number,
  present: Int32Array,
  fresh: Int32Array,
  target: Int32Array,
): Int32Array[] {
  const of = (counts: Int32Array) => counts.slice(m * SIZES, (m + 1) * SIZES)
  const most = Math.max(2, Math.floor(CHOICES / problem.services / 2))
  const rate = problem.rates[m]!
  const lean = nearCovers(problem, m, gpcsOf, rate, cheapestCover(problem, m, gpcsOf).cost + MORE_GPCS, most)
  const choices = [of(target), of(fresh), ...lean.covers]
  const short = rate * (1 - COVER_TOLERANCE) - capacityOf(problem, m, present, m * SIZES)
  if (short > 0) {
    const cost = cheapestCover(problem, m, gpcsOf, short).cost + MORE_GPCS
    for (const more of nearCovers(problem, m, gpcsOf, short, cost, most).covers) {
      choices.push(of(present).map((count, s) => count + more[s]!))
    }
  }
  return choices
}

/** Give one service other counts: those that gain most room for each segment more to be created. @returns whether any gain */
function takeRoomiest(choices: readonly (readonly Int32Array[])[], target: Int32Array, present: Int32Array): boolean {
  const total = totalOf(target)
  const before = boardFraction(total)
  let most = 1e-9
  let best: { m: number; counts: Int32Array } | undefined
  choices.forEach((of, m) => {
    const created = createdOf(target, present, m, m * SIZES)
    for (const counts of of) {
      const gain = before - boardFraction(exchanged(total, target, m, counts))
      const worth = gain / Math.max(0.25, createdOf(counts, present, m, 0) - created)
      if (worth <= most) continue
      most = worth
      best = { m, counts }
    }
  })
  if (best) target.set(best.counts, best.m * SIZES)
  return best !== undefined
}

/** Give one service counts with fewer segments to be created, where the boards still suffice. @returns whether there were any */
function takeStillest(
  choices: readonly (readonly Int32Array[])[],
  target: Int32Array,
  present: Int32Array,
  maxGpus: number,
): boolean {
  const total = totalOf(target)
  let most = 0
  let best: { m: number; counts: Int32Array } | undefined
  choices.forEach((of, m) => {
    const created = createdOf(target, present, m, m * SIZES)
    for (const counts of of) {
      const fewer = created - createdOf(counts, present, m, 0)
      if (fewer <= most || fewestGpus(exchanged(total, target, m, counts)) > maxGpus) continue
      most = fewer
      best = { m, counts }
    }
  })
  if (best) target.set(best.counts, best.m * SIZES)
  return best !== undefined
}

/** A total with other counts of one service. */
function exchanged(total: Int32Array, target: Int32Array, m: number, counts: Int32Array): Int32Array {
  return total.map((count, s) => count - target[m * SIZES + s]! + counts[s]!)
}

function addWhatIsShort(problem: CoverProblem, m: number, counts: Int32Array): void {
  const short = problem.rates[m]! * (1 - COVER_TOLERANCE) - capacityOf(problem, m, counts, m * SIZES)
  if (short <= 0) return
  const { counts: more } = cheapestCover(problem, m, gpcsOf, short)
  for (let s = 0; s < SIZES; s++) counts[m * SIZES + s]! += more[s]!
}

/** Take segments away while the rate stays covered, the largest first. */
function dropSurplus(problem: CoverProblem, m: number, counts: Int32Array): void {
  const enough = problem.rates[m]! * (1 - COVER_TOLERANCE)
  let capacity = capacityOf(problem, m, counts, m * SIZES)
  for (let s = SIZES - 1; s >= 0; s--) {
    const items = problem.throughput[m * SIZES + s]!
    while (counts[m * SIZES + s]! > 0 && capacity - items >= enough) {
      counts[m * SIZES + s]!--
      capacity -= items
    }
  }
}

/** Segments of a service that are not there yet. @param offset where its counts begin */
function createdOf(counts: Int32Array, present: Int32Array, m: number, offset: number): number {
  let created = 0
  for (let s = 0; s < SIZES; s++) created += Math.max(0, counts[offset + s]! - present[m * SIZES + s]!)
  return created
}

function totalOf(counts: Int32Array): Int32Array {
  const total = new Int32Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  return total
}
