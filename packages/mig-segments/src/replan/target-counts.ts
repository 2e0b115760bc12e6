import { boardFraction } from '../solve/board-fraction.js'
import { cheapestCover } from '../solve/cheapest-cover.js'
import { COVER_TOLERANCE, type CoverProblem, capacityOf } from '../solve/cover-problem.js'
import { fewestGpus } from '../solve/fewest-gpus.js'
import { gpcsOf, SIZES } from '../solve/size-counts.js'

/**
 * How many segments of each service and size a changed demand should have, as near to the present ones as `maxGpus` allows:
 * surplus goes, what is short comes, and where that does not fit, services take the counts of the fresh plan one after the
 * other, those first that gain most room for each segment that must be created.
 *
 * @param present by service and size, of segments that could go on
 * @param fresh a plan's counts that fit on `maxGpus`
 */
export function targetCounts(
  problem: CoverProblem,
  present: Int32Array,
  fresh: Int32Array,
  maxGpus: number,
): Int32Array {
  const target = present.slice()
  for (let m = 0; m < problem.services; m++) {
    addWhatIsShort(problem, m, target)
    dropSurplus(problem, m, target)
  }
  const taken = new Set<number>()
  while (fewestGpus(totalOf(target)) > maxGpus) {
    const next = bestToRefresh(problem.services, target, fresh, present, taken)
    if (next === undefined) break
    taken.add(next)
    copyService(fresh, target, next)
  }
  return target
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

function bestToRefresh(
  services: number,
  target: Int32Array,
  fresh: Int32Array,
  present: Int32Array,
  taken: ReadonlySet<number>,
): number | undefined {
  const before = boardFraction(totalOf(target))
  let best: number | undefined
  let most = Number.NEGATIVE_INFINITY
  for (let m = 0; m < services; m++) {
    if (taken.has(m)) continue
    const trial = target.slice()
    copyService(fresh, trial, m)
    const created = createdOf(trial, present, m) - createdOf(target, present, m)
    const gain = (before - boardFraction(totalOf(trial))) / Math.max(0.25, created)
    if (gain <= most) continue
    most = gain
    best = m
  }
  return best
}

function createdOf(counts: Int32Array, present: Int32Array, m: number): number {
  let created = 0
  for (let i = m * SIZES; i < (m + 1) * SIZES; i++) created += Math.max(0, counts[i]! - present[i]!)
  return created
}

function copyService(from: Int32Array, to: Int32Array, m: number): void {
  to.set(from.subarray(m * SIZES, (m + 1) * SIZES), m * SIZES)
}

function totalOf(counts: Int32Array): Int32Array {
  const total = new Int32Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  return total
}
