import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boardFraction } from '../src/solve/board-fraction.js'
import { cheapestCover } from '../src/solve/cheapest-cover.js'
import { type CoverProblem, capacityOf, isCovered } from '../src/solve/cover-problem.js'
import { enumerateTotals } from '../src/solve/enumerate-totals.js'
import { fewestGpus } from '../src/solve/fewest-gpus.js'
import { type CountSolution, solveHeuristically } from '../src/solve/heuristic.js'
import { leanPlan } from '../src/solve/lean-plan.js'
import { nearCovers } from '../src/solve/near-covers.js'
import { priceBound } from '../src/solve/price-bound.js'
import { maximize } from '../src/solve/simplex.js'
import { gpcsOf, gpcTotal, maximalPatterns, SIZES } from '../src/solve/size-counts.js'
import { sliceBound } from '../src/solve/slice-bound.js'
import { solveExactly } from '../src/solve/solve-exactly.js'

const byGpcs = gpcsOf.map((gpcs) => gpcs / 7)

/** Up to three services that need a few segments each, some of them in some sizes only. */
const smallProblem: fc.Arbitrary<CoverProblem> = fc
  .array(
    fc.record({
      rate: fc.integer({ min: 1, max: 9 }),
      throughput: fc
        .array(fc.integer({ min: 0, max: 9 }), { minLength: SIZES, maxLength: SIZES })
        .filter((row) => Math.max(...row) >= 3),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((services) => ({
    services: services.length,
    rates: Float64Array.from(services, ({ rate }) => rate),
    throughput: Float64Array.from(services.flatMap(({ throughput }) => throughput)),
  }))

/** Services whose 4s do most for each slice, though no two share a board: the leanest plan takes more boards than there need be. */
const longProblem: fc.Arbitrary<CoverProblem> = fc
  .array(
    fc.record({
      rate: fc.integer({ min: 9, max: 40 }),
      small: fc.integer({ min: 0, max: 5 }),
      whole: fc.integer({ min: 9, max: 13 }),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map((services) => ({
    services: services.length,
    rates: Float64Array.from(services, ({ rate }) => rate),
    throughput: Float64Array.from(services.flatMap(({ small, whole }) => [0, 0, small, 8, whole])),
  }))

const prices = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: SIZES, maxLength: SIZES })

/** Every cover of a service from which no segment can be taken away. */
function minimalCovers(problem: CoverProblem, m: number): number[][] {
  const covers: number[][] = []
  const visit = (counts: number[]) => {
    if (isCovered(problem, m, counts)) {
      const canLose = counts.some(
        (count, s) =>
          count > 0 &&
          isCovered(
            problem,
            m,
            counts.map((each, i) => each - (i === s ? 1 : 0)),
          ),
      )
      if (!canLose) covers.push(counts)
      return
    }
    const from = Math.max(
      0,
      counts.findLastIndex((count) => count > 0),
    )
    for (let s = from; s < SIZES; s++) {
      if (problem.throughput[m * SIZES + s]! > 0) visit(counts.map((count, i) => count + (i === s ? 1 : 0)))
    }
  }
  visit([0, 0, 0, 0, 0])
  return covers
}

const worth = (counts: ArrayLike<number>, list: ArrayLike<number>) =>
  gpcsOf.reduce((sum, _, s) => sum + counts[s]! * list[s]!, 0)

/** Every total that minimal covers come to. */
function allTotals(problem: CoverProblem): number[][] {
  let totals = [[0, 0, 0, 0, 0]]
  for (let m = 0; m < problem.services; m++) {
    const covers = minimalCovers(problem, m)
    const next = new Map<string, number[]>()
    for (const total of totals) {
      for (const cover of covers) {
        const sum = total.map((count, s) => count + cover[s]!)
        next.set(sum.join(), sum)
      }
    }
    totals = [...next.values()]
  }
  return totals
}

/** The fewest boards, and the fewest slices on so many. */
function bestOf(totals: readonly number[][]): { gpus: number; gpcs: number } {
  const gpus = Math.min(...totals.map(fewestGpus))
  return { gpus, gpcs: Math.min(...totals.filter((total) => fewestGpus(total) === gpus).map(gpcTotal)) }
}

function totalOf(counts: Int32Array): Int32Array {
  const total = new Int32Array(SIZES)
  counts.forEach((count, i) => {
    total[i % SIZES]! += count
  })
  return total
}

/** A plan that wastes: each service by its first size alone, and one segment of it too many. */
function wasteful(problem: CoverProblem): CountSolution {
  const counts = new Int32Array(problem.services * SIZES)
  for (let m = 0; m < problem.services; m++) {
    const s = gpcsOf.findIndex((_, size) => problem.throughput[m * SIZES + size]! > 0)
    counts[m * SIZES + s] = Math.ceil(problem.rates[m]! / problem.throughput[m * SIZES + s]!) + 1
  }
  const total = totalOf(counts)
  return { counts, gpus: fewestGpus(total), gpcs: gpcTotal(total) }
}

function assertCovers(problem: CoverProblem, { counts, gpus, gpcs }: CountSolution): void {
  for (let m = 0; m < problem.services; m++) expect(isCovered(problem, m, counts, m * SIZES)).toBe(true)
  expect(gpus).toBe(fewestGpus(totalOf(counts)))
  expect(gpcs).toBe(gpcTotal(totalOf(counts)))
}

describe('the simplex method', () => {
  const whole = (min: number, max: number) => fc.integer({ min, max })
  const program = fc.tuple(whole(1, 6), whole(1, 8)).chain(([n, m]) =>
    fc.record({
      cost: fc.array(whole(-5, 9), { minLength: n, maxLength: n }),
      // A last row holds all variables down, so that there is an optimum.
      rows: fc
        .array(fc.array(whole(-4, 6), { minLength: n, maxLength: n }), { minLength: m, maxLength: m })
        .map((rows) => [...rows, new Array<number>(n).fill(1)]),
      limits: fc.array(whole(0, 12), { minLength: m + 1, maxLength: m + 1 }),
    }),
  )

  it('answers with a solution and the prices that prove it', () => {
    fc.assert(
      fc.property(program, ({ cost, rows, limits }) => {
        const answer = maximize({ cost, rows, limits })!
        expect(answer).not.toBeNull()
        const { objective, x, duals } = answer
        const dot = (a: ArrayLike<number>, b: readonly number[]) => b.reduce((sum, each, i) => sum + each * a[i]!, 0)
        for (const value of [...x, ...duals]) expect(value).toBeGreaterThanOrEqual(0)
        rows.forEach((row, i) => {
          expect(dot(x, row)).toBeLessThanOrEqual(limits[i]! + 1e-8)
        })
        cost.forEach((each, j) => {
          expect(rows.reduce((sum, row, i) => sum + row[j]! * duals[i]!, 0)).toBeGreaterThanOrEqual(each - 1e-8)
        })
        expect(objective).toBeCloseTo(dot(x, cost), 8)
        expect(objective).toBeCloseTo(dot(duals, limits), 8)
      }),
      { numRuns: 100, seed: 1 },
    )
  })

  it('says null of a program without an end', () => {
    expect(maximize({ cost: [1, 1], rows: [[1, -1]], limits: [3] })).toBeNull()
  })

  it('does not go round in circles where the objective stands still', () => {
    // Beale 1955: the steepest column alone comes back to where it was after six pivots.
    const answer = maximize({
      cost: [0.75, -150, 0.02, -6],
      rows: [
        [0.25, -60, -0.04, 9],
        [0.5, -90, -0.02, 3],
        [0, 0, 1, 0],
      ],
      limits: [0, 0, 1],
    })
    expect(answer!.objective).toBeCloseTo(0.05, 10)
  })
})

describe('the share of boards that segments take', () => {
  it('is the least of any mixture of full boards', () => {
    fc.assert(
      fc.property(
        fc.oneof(...[3, 40].map((most) => fc.array(fc.nat(most), { minLength: SIZES, maxLength: SIZES }))),
        (counts) => {
          // The dual of the fewest boards, in parts: the dearest prices by which no full board costs more than 1.
          const answer = maximize({ cost: counts, rows: maximalPatterns, limits: maximalPatterns.map(() => 1) })
          expect(boardFraction(counts)).toBeCloseTo(answer!.objective, 8)
        },
      ),
      { numRuns: 100, seed: 2 },
    )
  })
})

describe('the cheapest cover', () => {
  it('is the cheapest of all', () => {
    fc.assert(
      fc.property(smallProblem, prices, (problem, list) => {
        for (let m = 0; m < problem.services; m++) {
          const { counts, cost, bound } = cheapestCover(problem, m, list)
          expect(isCovered(problem, m, counts)).toBe(true)
          expect(cost).toBeCloseTo(worth(counts, list), 9)
          expect(cost).toBeCloseTo(Math.min(...minimalCovers(problem, m).map((cover) => worth(cover, list))), 9)
          expect(bound).toBe(cost)
        }
      }),
      { numRuns: 80, seed: 3 },
    )
  })

  it('of a part of the rate covers that part', () => {
    const problem = { services: 1, rates: Float64Array.of(100), throughput: Float64Array.of(10, 0, 0, 0, 0) }
    expect([...cheapestCover(problem, 0, byGpcs, 25).counts]).toEqual([3, 0, 0, 0, 0])
  })

  it('that takes too long to seek has the bound of what rates cost at least', () => {
    // Almost the same price for each item/s in all sizes, and rates that nothing meets exactly: the search has to give up.
    const throughput = Float64Array.of(1.0007, 2.0003, 3.0001, 3.9999, 7.0011)
    const problem = { services: 1, rates: Float64Array.of(9001.5), throughput }
    const { cost, bound, counts } = cheapestCover(problem, 0, byGpcs)
    expect(isCovered(problem, 0, counts)).toBe(true)
    expect(cost).toBeCloseTo(worth(counts, byGpcs), 6)
    const cheapestRate = Math.min(...byGpcs.map((price, s) => price / throughput[s]!))
    expect(bound).toBeGreaterThanOrEqual(9001.5 * cheapestRate - 1e-9)
    expect(bound).toBeLessThanOrEqual(cost)
    expect(cost - bound).toBeLessThan(0.2)
  })
})

describe('covers near the cheapest', () => {
  it('are all those of a cost from which nothing can be taken away, the cheapest first', () => {
    fc.assert(
      fc.property(smallProblem, prices, fc.integer({ min: 5, max: 60 }), (problem, list, maxCost) => {
        for (let m = 0; m < problem.services; m++) {
          const { covers, complete } = nearCovers(problem, m, list, problem.rates[m]!, maxCost, 10_000)
          const expected = minimalCovers(problem, m).filter((cover) => worth(cover, list) <= maxCost)
          expect(complete).toBe(true)
          expect(covers.map((cover) => cover.join()).sort()).toEqual(expected.map((cover) => cover.join()).sort())
          const costs = covers.map((cover) => worth(cover, list))
          expect(costs).toEqual([...costs].sort((a, b) => a - b))
          if (expected.length < 2) continue
          const some = nearCovers(problem, m, list, problem.rates[m]!, maxCost, expected.length - 1)
          expect(some.complete).toBe(false)
          expect(some.covers).toEqual(covers.slice(0, -1))
          expect(nearCovers(problem, m, list, problem.rates[m]!, maxCost, expected.length).complete).toBe(true)
        }
      }),
      { numRuns: 80, seed: 4 },
    )
  })

  it('of no rate are the empty one', () => {
    const problem = { services: 1, rates: Float64Array.of(1), throughput: Float64Array.of(1, 1, 1, 1, 1) }
    expect(nearCovers(problem, 0, byGpcs, 0, 0, 5)).toEqual({ covers: [new Int32Array(SIZES)], complete: true })
  })

  it('are not said to be all where there are too many to visit', () => {
    const problem = { services: 1, rates: Float64Array.of(400), throughput: Float64Array.of(1, 2, 3, 4, 7) }
    expect(nearCovers(problem, 0, byGpcs, 400, 60, 1e9).complete).toBe(false)
  })
})

describe('enumeration', () => {
  it('finds the leanest plan within its limits, and none where there is none', () => {
    fc.assert(
      fc.property(smallProblem, fc.boolean(), fc.integer({ min: -1, max: 1 }), (problem, isLimited, more) => {
        const totals = allTotals(problem)
        const best = bestOf(totals)
        const maxGpus = best.gpus + Math.abs(more)
        const maxGpcs = isLimited ? best.gpcs + more : Number.POSITIVE_INFINITY
        const allowed = totals.filter((total) => fewestGpus(total) <= maxGpus && gpcTotal(total) <= maxGpcs)
        for (const list of [byGpcs, priceBound(problem).prices]) {
          const result = enumerateTotals(problem, { maxGpus, maxGpcs, prices: list })
          if (allowed.length === 0) {
            expect(result).toEqual({ kind: 'none' })
            continue
          }
          if (result.kind !== 'found') throw new Error(`got ${result.kind}`)
          for (let m = 0; m < problem.services; m++) expect(isCovered(problem, m, result.counts, m * SIZES)).toBe(true)
          const total = totalOf(result.counts)
          expect(fewestGpus(total)).toBeLessThanOrEqual(maxGpus)
          expect(gpcTotal(total)).toBe(Math.min(...allowed.map(gpcTotal)))
        }
        expect(enumerateTotals(problem, { maxGpus: best.gpus - 1, maxGpcs, prices: byGpcs })).toEqual({ kind: 'none' })
      }),
      { numRuns: 60, seed: 5 },
    )
  })

  it('takes of the ways to run a service any one, the best for all together', () => {
    const all = { maxGpcs: Number.POSITIVE_INFINITY, prices: byGpcs }
    fc.assert(
      fc.property(smallProblem, smallProblem, (a, b) => {
        const services = Math.min(a.services, b.services)
        const of = (pick: (m: number) => CoverProblem): CoverProblem => ({
          services,
          rates: Float64Array.from({ length: services }, (_, m) => pick(m).rates[m]!),
          throughput: Float64Array.from(
            { length: services * SIZES },
            (_, i) => pick(Math.floor(i / SIZES)).throughput[i]!,
          ),
        })
        const choices = Array.from({ length: 2 ** services }, (_, mask) => of((m) => (mask & (1 << m) ? b : a)))
        const fewest = Math.min(...choices.map((problem) => bestOf(allTotals(problem)).gpus))
        const [first, second] = [of(() => a), of(() => b)]
        const both: CoverProblem = {
          services: 2 * services,
          rates: Float64Array.of(...first.rates, ...second.rates),
          throughput: Float64Array.of(...first.throughput, ...second.throughput),
        }
        const alternatives = Array.from({ length: services }, (_, m) => [m, services + m])
        expect(enumerateTotals(both, { ...all, alternatives, maxGpus: fewest - 1 })).toEqual({ kind: 'none' })
        const result = enumerateTotals(both, { ...all, alternatives, maxGpus: fewest })
        if (result.kind !== 'found') throw new Error(`got ${result.kind}`)
        expect(fewestGpus(totalOf(result.counts))).toBeLessThanOrEqual(fewest)
        for (const rows of alternatives) {
          const taken = rows.filter((row) => result.counts.subarray(row * SIZES, (row + 1) * SIZES).some((n) => n > 0))
          expect(taken).toHaveLength(1)
          expect(isCovered(both, taken[0]!, result.counts, taken[0]! * SIZES)).toBe(true)
        }
      }),
      { numRuns: 40, seed: 12 },
    )
  })

  it('gives up where a size comes more often than it can count, or covers are too many', () => {
    const goal = (maxGpus: number) => ({ maxGpus, maxGpcs: Number.POSITIVE_INFINITY, prices: byGpcs })
    const ones = (rate: number) => ({
      services: 1,
      rates: Float64Array.of(rate),
      throughput: Float64Array.of(1, 0, 0, 0, 0),
    })
    expect(enumerateTotals(ones(1022), goal(146)).kind).toBe('found')
    expect(enumerateTotals(ones(1024), goal(147)).kind).toBe('too-many')
    const wide = { services: 1, rates: Float64Array.of(200), throughput: Float64Array.of(1, 2, 3, 4, 7) }
    expect(enumerateTotals(wide, goal(60)).kind).toBe('too-many')
  })
})

describe('bounds by prices', () => {
  it('are what the best mixture of whole covers needs, and no plan undercuts them', () => {
    fc.assert(
      fc.property(smallProblem, (problem) => {
        const { gpus, fraction, prices: list, relaxed } = priceBound(problem)
        for (const pattern of maximalPatterns) expect(worth(pattern, list)).toBeLessThanOrEqual(1 + 1e-9)
        // The program over all covers at once: prices of sizes, then what each service costs at least.
        const covers = Array.from({ length: problem.services }, (_, m) => minimalCovers(problem, m))
        const isService = (m: number) => Array.from({ length: problem.services }, (_, k) => (k === m ? 1 : 0))
        const rows = [
          ...covers.flatMap((of, m) => of.map((cover) => [...cover.map((count) => -count), ...isService(m)])),
          ...maximalPatterns.map((pattern) => [...pattern, ...new Array<number>(problem.services).fill(0)]),
        ]
        const limits = rows.map((_, i) => (i < rows.length - maximalPatterns.length ? 0 : 1))
        const cost = [0, 0, 0, 0, 0, ...new Array<number>(problem.services).fill(1)]
        const { objective } = maximize({ cost, rows, limits })!
        expect(gpus).toBe(Math.ceil(objective - 1e-7))
        expect(fraction).toBeLessThanOrEqual(objective + 1e-9)
        expect(gpus).toBeLessThanOrEqual(bestOf(allTotals(problem)).gpus)
        for (let m = 0; m < problem.services; m++) {
          // A service that one segment serves several times over may start from nothing.
          const row = relaxed.subarray(m * SIZES, (m + 1) * SIZES)
          const capacity = capacityOf(problem, m, row)
          const items = [...problem.throughput.subarray(m * SIZES, (m + 1) * SIZES)].filter((each) => each > 0)
          if (Math.max(...items) <= 4 * problem.rates[m]!) {
            expect(capacity).toBeGreaterThanOrEqual(problem.rates[m]! * (1 - 1e-6))
          }
        }
      }),
      { numRuns: 60, seed: 6 },
    )
  })

  it('hold for the slices on a number of boards, too', () => {
    let tight = 0
    let scarce = 0
    fc.assert(
      fc.property(fc.oneof(smallProblem, longProblem), (problem) => {
        const totals = allTotals(problem)
        const best = bestOf(totals)
        const start = solveHeuristically(problem, priceBound(problem))
        expect(start.gpus).toBe(best.gpus)
        const { gpcs, prices: list } = sliceBound(problem, start.gpus, start.counts)
        expect(gpcs).toBeLessThanOrEqual(best.gpcs)
        list.forEach((price, s) => {
          expect(price).toBeGreaterThanOrEqual(gpcsOf[s]! - 1e-9)
        })
        if (gpcs === best.gpcs) tight++
        if (best.gpcs > Math.min(...totals.map(gpcTotal))) scarce++
        const lean = leanPlan(problem, start)
        assertCovers(problem, lean.solution)
        expect(lean.solution.gpus).toBe(best.gpus)
        expect(lean.solution.gpcs).toBe(best.gpcs)
        expect(lean.lowerBoundGpcs).toBeLessThanOrEqual(best.gpcs)
        expect(lean.lowerBoundGpcs).toBeGreaterThanOrEqual(gpcs)
      }),
      { numRuns: 80, seed: 7 },
    )
    expect(tight).toBeGreaterThan(65)
    // Boards, and not services alone, decide in some.
    expect(scarce).toBeGreaterThan(5)
  })
})

describe('the exact solution', () => {
  it('of no services is no board, whatever there may be', () => {
    const nobody: CoverProblem = { services: 0, rates: new Float64Array(0), throughput: new Float64Array(0) }
    for (const search of [{}, { maxGpus: 0 }, { maxGpus: 3 }, { shakes: 0 }]) {
      const nothing = { counts: new Int32Array(0), gpus: 0, gpcs: 0 }
      expect(solveHeuristically(nobody, priceBound(nobody), search)).toEqual(nothing)
    }
  })

  it('is the best there is from any start, and proved', async () => {
    await fc.assert(
      fc.asyncProperty(smallProblem, async (problem) => {
        const best = bestOf(allTotals(problem))
        const bound = priceBound(problem)
        // Without integer programs: so few services are enumerated.
        const { solution, lowerBoundGpus, lowerBoundGpcs } = await solveExactly(problem, wasteful(problem), bound, 0)
        assertCovers(problem, solution)
        expect(solution).toMatchObject(best)
        expect({ gpus: lowerBoundGpus, gpcs: lowerBoundGpcs }).toEqual(best)
      }),
      { numRuns: 50, seed: 8 },
    )
  })

  it.each([
    {
      rates: [42, 6],
      throughput: [
        [0, 4, 7, 3, 2],
        [12, 5, 0, 0, 0],
      ],
      gpus: 3,
      gpcs: 21,
    },
    {
      rates: [21, 25, 37],
      throughput: [
        [0, 0, 6, 2, 4],
        [3, 11, 1, 2, 0],
        [1, 0, 5, 6, 0],
      ],
      gpus: 6,
      gpcs: 42,
    },
    {
      rates: [19, 17, 29, 40],
      throughput: [
        [12, 10, 2, 12, 10],
        [6, 2, 9, 0, 1],
        [0, 10, 6, 0, 0],
        [0, 0, 3, 5, 8],
      ],
      gpus: 7,
      gpcs: 45,
    },
  ])('closes what prices leave open of slices: $rates', async ({ rates, throughput, gpus, gpcs }) => {
    const problem = {
      services: rates.length,
      rates: Float64Array.from(rates),
      throughput: Float64Array.from(throughput.flat()),
    }
    const bound = priceBound(problem)
    const start = solveHeuristically(problem, bound)
    expect(leanPlan(problem, start).lowerBoundGpcs).toBe(gpcs - 1)
    for (const from of [start, wasteful(problem)]) {
      const { solution, lowerBoundGpus, lowerBoundGpcs } = await solveExactly(problem, from, bound, 0)
      assertCovers(problem, solution)
      expect({ gpus: solution.gpus, gpcs: solution.gpcs }).toEqual({ gpus, gpcs })
      expect({ gpus: lowerBoundGpus, gpcs: lowerBoundGpcs }).toEqual({ gpus, gpcs })
    }
  })

  it('comes from the solver where there is too much to enumerate, and only the bound where that may do nothing', async () => {
    const problem = { services: 1, rates: Float64Array.of(40), throughput: Float64Array.of(0.05, 0.2, 0.29, 0.39, 0.7) }
    const bound = priceBound(problem)
    const start = wasteful(problem)
    const without = await solveExactly(problem, start, bound, 0)
    assertCovers(problem, without.solution)
    expect(without.solution.gpus).toBeLessThan(start.gpus)
    expect(without.solution.gpus).toBeGreaterThan(bound.gpus)
    expect(without.lowerBoundGpus).toBe(bound.gpus)
    const solved = await solveExactly(problem, start, bound, 100_000)
    assertCovers(problem, solved.solution)
    expect(solved.solution.gpus).toBe(58)
    expect(solved.lowerBoundGpus).toBe(58)
    expect(solved.lowerBoundGpcs).toBe(solved.solution.gpcs)
  })
})
