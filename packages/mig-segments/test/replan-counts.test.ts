import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { targetCounts } from '../src/replan/target-counts.js'
import { type CoverProblem, isCovered } from '../src/solve/cover-problem.js'
import { fewestGpus } from '../src/solve/fewest-gpus.js'
import { solveHeuristically } from '../src/solve/heuristic.js'
import { priceBound } from '../src/solve/price-bound.js'
import { SIZES } from '../src/solve/size-counts.js'

interface Change {
  readonly before: CoverProblem
  readonly after: CoverProblem
}

/** Services whose rates change by a factor from here to there. */
const changes = (least: number, most: number): fc.Arbitrary<Change> =>
  fc
    .array(
      fc.record({
        rate: fc.integer({ min: 5, max: 60 }),
        factor: fc.double({ min: least, max: most, noNaN: true }),
        throughput: fc.array(fc.integer({ min: 2, max: 9 }), { minLength: SIZES, maxLength: SIZES }),
      }),
      { minLength: 2, maxLength: 4 },
    )
    .map((services) => {
      const throughput = Float64Array.from(services.flatMap((service) => service.throughput))
      const problemOf = (rates: readonly number[]): CoverProblem => ({
        services: services.length,
        rates: Float64Array.from(rates),
        throughput,
      })
      return {
        before: problemOf(services.map(({ rate }) => rate)),
        after: problemOf(services.map(({ rate, factor }) => rate * factor)),
      }
    })

const solved = (problem: CoverProblem) => solveHeuristically(problem, priceBound(problem))

const boardsOf = (counts: Int32Array) =>
  fewestGpus(
    Array.from({ length: SIZES }, (_, s) => counts.filter((_, i) => i % SIZES === s).reduce((a, b) => a + b, 0)),
  )

const createdIn = (counts: Int32Array, present: Int32Array) =>
  counts.reduce((sum, count, i) => sum + Math.max(0, count - present[i]!), 0)

const coversAll = (problem: CoverProblem, counts: Int32Array) =>
  Array.from(problem.rates).every((_, m) => isCovered(problem, m, counts, m * SIZES))

describe('the counts that a changed demand should have', () => {
  it('cover it on the boards that there are, and create no more than a fresh plan', () => {
    fc.assert(
      fc.property(changes(0.3, 3), fc.nat(2), ({ before, after }, more) => {
        const present = solved(before).counts
        const fresh = solved(after)
        const maxGpus = fresh.gpus + more
        const offered = targetCounts(after, present, fresh.counts, maxGpus)
        expect(offered.length).toBeGreaterThan(0)
        for (const counts of offered) {
          expect(coversAll(after, counts)).toBe(true)
          expect(boardsOf(counts)).toBeLessThanOrEqual(maxGpus)
        }
        const least = Math.min(...offered.map((counts) => createdIn(counts, present)))
        expect(least).toBeLessThanOrEqual(createdIn(fresh.counts, present))
      }),
      { numRuns: 60, seed: 1 },
    )
  })

  it('are those that stand where nothing changes', () => {
    fc.assert(
      fc.property(changes(1, 1), ({ before, after }) => {
        const { counts, gpus } = solved(before)
        const [still] = targetCounts(after, counts, counts, gpus)
        expect(createdIn(still!, counts)).toBe(0)
      }),
      { numRuns: 20, seed: 2 },
    )
  })

  it('create nothing where less is asked for, and lose every segment that no service needs', () => {
    fc.assert(
      fc.property(changes(0.2, 0.9), ({ before, after }) => {
        const present = solved(before)
        const [still] = targetCounts(after, present.counts, solved(after).counts, present.gpus)
        expect(createdIn(still!, present.counts)).toBe(0)
        still!.forEach((count, i) => {
          if (count === 0) return
          const without = still!.slice()
          without[i]!--
          expect(coversAll(after, without)).toBe(false)
        })
      }),
      { numRuns: 60, seed: 3 },
    )
  })
})
