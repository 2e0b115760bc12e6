import { SeededRandom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type DayOptions,
  type MappedGpu,
  placementConflict,
  planDay,
  planSegments,
  type ServiceObjective,
  type ServiceProfile,
  segmentSizes,
  stepMaps,
} from '../src/index.js'
import { type DayProblem, servingW } from '../src/schedule/day-problem.js'
import { creationJ, periodEnergyJ } from '../src/schedule/window-plans.js'
import { arbitraryServices } from './arbitrary-services.js'

const costs: DayOptions = { periodS: 3600, migrationS: 60, idleW: 60, parkedW: 0 }

const measured = (profiles: readonly ServiceProfile[]): ServiceProfile[] =>
  profiles.map(({ model, points }, m) => ({
    model,
    points: points.map((point) => ({ ...point, powerW: (20 + m) * point.sizeGpcs ** 0.8 })),
  }))

/** Rates that rise and fall once over the periods, each service at its own time. */
function day(objectives: readonly ServiceObjective[], periods: number, seed = 1): ServiceObjective[][] {
  const random = new SeededRandom(seed)
  const phases = objectives.map(() => 0.15 * random.uniform())
  return Array.from({ length: periods }, (_, h) =>
    objectives.map((objective, m) => ({
      ...objective,
      ratePerS: objective.ratePerS * (0.6 - 0.4 * Math.cos(2 * Math.PI * (h / periods - phases[m]!))),
    })),
  )
}

const capacity = (gpus: readonly MappedGpu[], model: string) =>
  gpus
    .flatMap(({ segments }) => segments as readonly (MappedGpu['segments'][number] & { throughput: number })[])
    .filter((segment) => segment.model === model)
    .reduce((sum, { throughput }) => sum + throughput, 0)

describe('a schedule', () => {
  it('serves every period, is never below the rate on the way, and takes no more than one plan for all', async () => {
    let saved = 0
    await fc.assert(
      fc.asyncProperty(arbitraryServices, fc.integer({ min: 2, max: 4 }), async (services, periods) => {
        const rates = day(services.objectives, periods)
        const plan = await planDay(measured(services.profiles), rates, { ...costs, mostIterations: 1000 })
        expect(plan.lateRequests).toBe(0)
        expect(plan.energyJ).toBeLessThanOrEqual(plan.staticPlan.energyJ * (1 + 1e-9))
        expect(plan.lowerBoundJ).toBeLessThanOrEqual(plan.energyJ * (1 + 1e-9))
        if (plan.energyJ < 0.99 * plan.staticPlan.energyJ) saved++
        plan.periods.forEach(({ gpus, steps }, h) => {
          const served = rates[h]!.filter(({ model }) => !plan.unserved.some((service) => service.model === model))
          for (const { model, ratePerS } of served) {
            expect(capacity(gpus, model)).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
          }
          if (h === 0) return
          const before = plan.periods[h - 1]!.gpus
          const maps = stepMaps(before, steps)
          expect(maps.at(-1) ?? before).toEqual(gpus)
          const lastCreated = steps.findLastIndex(({ kind }) => kind === 'create')
          maps.forEach((map, step) => {
            for (const { segments } of map) expect(placementConflict(segments)).toBeNull()
            for (const { model, ratePerS } of served) {
              // Until all is created the period before goes on.
              const earlier = rates[h - 1]!.find((objective) => objective.model === model)?.ratePerS ?? 0
              const most = step < lastCreated ? Math.max(earlier, ratePerS) : ratePerS
              const least = step < lastCreated ? Math.min(most, capacity(before, model)) : most
              expect(capacity(map, model)).toBeGreaterThanOrEqual(least * (1 - 1e-9))
            }
          })
        })
      }),
      { numRuns: 5, seed: 4 },
    )
    expect(saved).toBeGreaterThan(1)
  })

  it('is the best there is for a small fleet, by trying every choice', async () => {
    // One size, so that a plan is a number of boards for each period: all sequences can be tried.
    const points = [
      { sizeGpcs: 7 as const, batchSize: 8, processes: 1, processThroughput: 100, latencyMs: 10, powerW: 100 },
    ]
    const random = new SeededRandom(2)
    for (let trial = 0; trial < 6; trial++) {
      const rates = Array.from({ length: 5 }, () => 40 + 300 * random.uniform())
      const options = { ...costs, idleW: 50, migrationS: [0, 200, 600][trial % 3]! }
      const plan = await planDay(
        [{ model: 'net', points }],
        rates.map((ratePerS) => [{ model: 'net', ratePerS, latencyMs: 100 }]),
        options,
      )
      let best = Number.POSITIVE_INFINITY
      const visit = (h: number, boards: number, energyJ: number): void => {
        if (h === rates.length) best = Math.min(best, energyJ)
        else {
          for (let next = Math.ceil(rates[h]! / 100); next <= 4; next++) {
            const created = h === 0 ? 0 : Math.max(0, next - boards)
            // A board that is there for the way alone waits meanwhile.
            const way = created * options.migrationS * 100 + (created > 0 ? created * 50 * options.migrationS : 0)
            visit(h + 1, next, energyJ + way + 3600 * (50 * next + rates[h]!))
          }
        }
      }
      visit(0, 0, 0)
      expect(plan.energyJ).toBeCloseTo(best, 3)
      expect(plan.lowerBoundJ).toBeGreaterThan(0.97 * best)
    }
  })

  it('of equal periods is one plan, and of one period a plan', async () => {
    const [objective] = [{ model: 'net', ratePerS: 900, latencyMs: 100 }]
    const points = segmentSizes.map((sizeGpcs) => ({
      ...{
        sizeGpcs,
        batchSize: 8,
        processes: 1,
        processThroughput: 70 * sizeGpcs,
        latencyMs: 10,
        powerW: 30 * sizeGpcs,
      },
    }))
    const profiles = [{ model: 'net', points }]
    const plan = await planDay(profiles, [[objective], [objective], [objective]], costs)
    expect(plan.created).toBe(0)
    expect(plan.energyJ).toBeCloseTo(plan.staticPlan.energyJ, 6)
    const single = await planSegments(profiles, [objective])
    expect((await planDay(profiles, [[objective]], costs)).mostGpus).toBe(single.gpuCount)
    await expect(planDay(profiles, [[objective]], { ...costs, gpus: 1 })).rejects.toThrow(
      expect.objectContaining({ code: 'TOO_FEW_GPUS' }),
    )
  })

  it('takes no more energy where only as many boards are there as it uses', async () => {
    const random = new SeededRandom(35)
    const profiles = ['a', 'b'].map((model) => ({
      model,
      points: segmentSizes.map((sizeGpcs) => ({
        ...{ sizeGpcs, batchSize: 8, processes: 1, latencyMs: 10, powerW: 20 * sizeGpcs ** 0.8 },
        processThroughput: (50 + 60 * random.uniform()) * sizeGpcs,
      })),
    }))
    const rates = Array.from({ length: 3 }, () =>
      profiles.map(({ model }) => ({ model, ratePerS: 100 + 900 * random.uniform(), latencyMs: 100 })),
    )
    const options = { ...costs, migrationS: 240, mostIterations: 500 }
    const free = await planDay(profiles, rates, options)
    const counted = await planDay(profiles, rates, { ...options, gpus: free.mostGpus })
    expect(counted.energyJ).toBeLessThanOrEqual(free.energyJ * (1 + 1e-9))
  })

  it('may let some requests be late for less energy, and never more than it is allowed', async () => {
    const random = new SeededRandom(6)
    const profiles = ['a', 'b', 'c'].map((model, m) => ({
      model,
      points: segmentSizes.map((sizeGpcs) => ({
        ...{ sizeGpcs, batchSize: 8, processes: 1, latencyMs: 10, powerW: 20 * sizeGpcs },
        processThroughput: (50 + 30 * m) * sizeGpcs ** (0.8 + 0.2 * m),
      })),
    }))
    const objectives = profiles.map(({ model }) => ({ model, ratePerS: 400 + 900 * random.uniform(), latencyMs: 100 }))
    const rates = day(objectives, 8, 3)
    const options = { ...costs, mostIterations: 0 }
    const strict = await planDay(profiles, rates, options)
    const loose = await planDay(profiles, rates, { ...options, mostLate: 0.005 })
    expect(strict.lateRequests).toBe(0)
    expect(loose.lateRequests).toBeLessThanOrEqual(0.005 * loose.requests)
    expect(loose.lateRequests).toBeGreaterThan(0)
    expect(loose.energyJ).toBeLessThan(strict.energyJ)
    expect(loose.redeployed.lateRequests).toBe(strict.redeployed.lateRequests)
  })

  it('names what is wrong', async () => {
    const points = [{ sizeGpcs: 7 as const, batchSize: 8, processes: 1, processThroughput: 100, latencyMs: 10 }]
    const objective = { model: 'net', ratePerS: 10, latencyMs: 100 }
    const profiles = [{ model: 'net', points }]
    await expect(planDay(profiles, [[objective]], costs)).rejects.toThrow(/profile of net.*measured power/)
    const wrong = (options: Partial<DayOptions>, periods = [[objective]]) =>
      planDay(measured(profiles), periods, { ...costs, ...options })
    await expect(wrong({ periodS: 0 })).rejects.toThrow(/periodS/)
    await expect(wrong({ migrationS: 4000 })).rejects.toThrow(/migrationS/)
    await expect(wrong({ mostLate: 0.2 })).rejects.toThrow(/mostLate/)
    await expect(wrong({ idleW: -1 })).rejects.toThrow(/idleW/)
    await expect(wrong({ parkedW: 61 })).rejects.toThrow(/parkedW.*60/)
    await expect(wrong({}, [])).rejects.toThrow(/1 to 96 periods/)
    await expect(wrong({}, [[objective], [{ ...objective, latencyMs: 90 }]])).rejects.toThrow(
      /latencyMs.*as in the periods before/,
    )
    const unserved = await wrong({}, [[objective, { model: 'other', ratePerS: 1, latencyMs: 5 }]])
    expect(unserved.unserved).toMatchObject([{ model: 'other', reason: 'no-profile' }])
  })
})

describe('the energy of a period', () => {
  const watts = fc.integer({ min: 1, max: 400 })
  const segments = fc.array(fc.record({ count: fc.nat(3), items: fc.integer({ min: 1, max: 90 }), watts }), {
    minLength: 5,
    maxLength: 5,
  })

  /** One service in two periods; the second asks for nothing. */
  function problemOf(of: readonly { items: number; watts: number }[], rate: number): DayProblem {
    const rates = Float64Array.of(rate, 0)
    return {
      ...{ periodS: 600, migrationS: 90, idleW: 60, parkedW: 20, periods: 2, rates, needs: rates, unserved: [] },
      served: [{ objective: { model: 'net', ratePerS: rate, latencyMs: 100 }, best: new Map(), capacityPerS: rate }],
      throughput: Float64Array.from(of, ({ items }) => items),
      powerW: Float64Array.from(of, (each) => each.watts),
    }
  }

  it('is the least at which the segments answer the rate, on boards that wait', () => {
    fc.assert(
      fc.property(segments, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(9), (of, share, boards) => {
        const counts = Int32Array.from(of, ({ count }) => count)
        const rate = share * of.reduce((sum, { count, items }) => sum + count * items, 0)
        const problem = problemOf(of, rate)
        // Request by request from whatever takes least for one; a part of one at the end.
        const each = of
          .flatMap(({ count, items, watts: most }) => new Array<number>(count * items).fill(most / items))
          .sort((a, b) => a - b)
        const least = each.reduce((sum, joules, i) => sum + joules * Math.min(1, Math.max(0, rate - i)), 0)
        expect(servingW(problem, 0, counts, rate)).toBeCloseTo(least, 6)
        expect(periodEnergyJ(problem, 0, counts, boards)).toBeCloseTo(600 * (least + boards * (60 - 20)), 3)
        expect(periodEnergyJ(problem, 1, counts, boards)).toBeCloseTo(600 * boards * (60 - 20), 6)
      }),
      { numRuns: 50, seed: 31 },
    )
  })

  it('has that of what is created, which works for nobody meanwhile, and none for what goes', () => {
    const problem = problemOf(
      [10, 20, 30, 40, 70].map((items) => ({ items, watts: 2 * items })),
      1,
    )
    expect(creationJ(problem, Int32Array.of(1, 0, 2, 0, 0), Int32Array.of(3, 0, 1, 0, 1))).toBe(90 * (2 * 20 + 140))
  })
})
