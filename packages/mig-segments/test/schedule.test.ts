import { SeededRandom } from '@pctodl/numerics'
import { placementConflict, segmentSizes } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DayOptions } from '../src/day/plan-day.js'
import { servingW } from '../src/day/plan-day.js'
import type { FleetBoard, FleetSegment } from '../src/fleet/place-fleet.js'
import { fleetOf, gpusOf, planDay, planSegments, type ServiceObjective, type ServiceProfile } from '../src/index.js'
import type { MappedBoard } from '../src/map/fleet-map.js'
import { stepFleetMaps } from '../src/replan/fleet-migration.js'
import { arbitraryServices } from './arbitrary-services.js'

const costs: DayOptions = { periodS: 3600, migrationS: 60, parkedW: 0 }
const boards = (profiles: readonly ServiceProfile[], more = {}) => fleetOf('A100', profiles, { idleW: 60, ...more })

const measured = (profiles: readonly ServiceProfile[]): ServiceProfile[] =>
  profiles.map(({ model, points }, m) => ({
    model,
    points: points.map((point) => ({ ...point, powerW: (20 + m) * point.sizeGpcs! ** 0.8 })),
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

const capacity = (map: readonly MappedBoard[], model: string) =>
  map
    .flatMap(({ segments }) => segments as readonly FleetSegment[])
    .filter((segment) => segment.model === model)
    .reduce((sum, { ratePerS }) => sum + ratePerS, 0)

const rowsOf = (map: readonly MappedBoard[]) =>
  gpusOf(map).map(({ index, segments }) => [
    index,
    segments.map(({ start, model, profile }) => [start, profile, model]).sort((a, b) => Number(a[0]) - Number(b[0])),
  ])

describe('a schedule', () => {
  it('serves every period, is never below the rate on the way, and takes no more than one plan for all', async () => {
    let saved = 0
    await fc.assert(
      fc.asyncProperty(arbitraryServices, fc.integer({ min: 2, max: 4 }), async (services, periods) => {
        const rates = day(services.objectives, periods)
        const plan = await planDay(boards(measured(services.profiles)), rates, { ...costs, maxIterations: 2000 })
        expect(plan.lateRequests).toBe(0)
        expect(plan.energyJ).toBeLessThanOrEqual(plan.staticPlan.energyJ * (1 + 1e-9))
        expect(plan.lowerBoundJ).toBeLessThanOrEqual(plan.energyJ * (1 + 1e-9))
        if (plan.energyJ < 0.99 * plan.staticPlan.energyJ) saved++
        plan.periods.forEach(({ boards: next, steps }, h) => {
          const served = rates[h]!.filter(({ model }) => !plan.unserved.some((service) => service.model === model))
          for (const { model, ratePerS } of served) {
            expect(capacity(next, model)).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
          }
          if (h === 0) return
          const before = plan.periods[h - 1]!.boards
          const maps = stepFleetMaps(before, steps)
          expect(rowsOf(maps.at(-1) ?? before)).toEqual(rowsOf(next))
          const lastCreated = steps.findLastIndex(({ kind }) => kind === 'create')
          maps.forEach((map, step) => {
            for (const { segments } of gpusOf(map)) expect(placementConflict(segments)).toBeNull()
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
      { numRuns: 5 },
    )
    expect(saved).toBeGreaterThan(0)
  })

  it('is near the best there is for one service of one size, by trying every choice', async () => {
    // A plan is a number of boards for each period: all sequences can be tried.
    const points = [
      { sizeGpcs: 7 as const, batchSize: 8, processes: 1, processThroughput: 100, latencyMs: 10, powerW: 100 },
    ]
    const random = new SeededRandom(2)
    for (let trial = 0; trial < 10; trial++) {
      const rates = Array.from({ length: 5 }, () => 40 + 300 * random.uniform())
      const migrationS = [0, 200, 600, 1800, 3000][trial % 5]!
      const plan = await planDay(
        boards([{ model: 'net', points }], { idleW: 50 }),
        rates.map((ratePerS) => [{ model: 'net', ratePerS, latencyMs: 100 }]),
        { ...costs, migrationS },
      )
      let best = Number.POSITIVE_INFINITY
      const visit = (h: number, count: number, energyJ: number): void => {
        if (h === rates.length) best = Math.min(best, energyJ)
        else {
          for (let next = Math.ceil(rates[h]! / 100); next <= 4; next++) {
            const created = h === 0 ? 0 : Math.max(0, next - count)
            // A board that is there for the way alone waits meanwhile.
            const way = created * migrationS * (100 + 50)
            visit(h + 1, next, energyJ + way + 3600 * (50 * next + rates[h]!))
          }
        }
      }
      visit(0, 0, 0)
      expect(plan.energyJ).toBeGreaterThan(best - 1e-3)
      expect(plan.lowerBoundJ).toBeLessThan(best + 1e-3)
      // It looks one period ahead, so it misses what pays only later.
      if (migrationS > 600) continue
      expect(plan.energyJ).toBeLessThan(1.02 * best)
      expect(plan.lowerBoundJ).toBeGreaterThan(0.95 * best)
    }
  })

  it('has a bound that also holds for slower instances that take less energy', async () => {
    const fast = {
      sizeGpcs: 7 as const,
      batchSize: 8,
      processes: 1,
      processThroughput: 100,
      latencyMs: 10,
      powerW: 100,
    }
    const slow = { ...fast, batchSize: 4, processThroughput: 60, powerW: 30 }
    const rates = [50, 90, 55].map((ratePerS) => [{ model: 'net', ratePerS, latencyMs: 100 }])
    const both = await planDay(boards([{ model: 'net', points: [fast, slow] }]), rates, costs)
    const slowOnly = await planDay(boards([{ model: 'net', points: [slow] }]), rates, costs)
    expect(both.lowerBoundJ).toBeLessThan(slowOnly.energyJ)
  })

  it('is one plan for all periods where changes take more energy than they save', async () => {
    const points = [
      { sizeGpcs: 7 as const, batchSize: 8, processes: 1, processThroughput: 100, latencyMs: 10, powerW: 100 },
    ]
    const rates = [90, 290, 90].map((ratePerS) => [{ model: 'net', ratePerS, latencyMs: 100 }])
    const fleet = boards([{ model: 'net', points }])
    const plan = await planDay(fleet, rates, { ...costs, migrationS: 3600 })
    expect(plan.energyJ).toBe(plan.staticPlan.energyJ)
    expect(plan.created).toBe(0)
    expect(plan.periods.map((period) => period.boards.length)).toEqual([3, 3, 3])
    expect((await planDay(fleet, rates, costs)).energyJ).toBeLessThan(plan.energyJ)
  })

  it('is one plan for all periods where a change would make more requests late than allowed', async () => {
    const point = { batchSize: 8, processes: 1, latencyMs: 10 }
    const points = [
      { ...point, sizeGpcs: 1 as const, processThroughput: 90, powerW: 18 },
      { ...point, sizeGpcs: 7 as const, processThroughput: 700, powerW: 280 },
    ]
    const rates = [80, 690].map((ratePerS) => [{ model: 'net', ratePerS, latencyMs: 100 }])
    // The whole board serves the second period, so the small instance must be removed first.
    const fleet = boards([{ model: 'net', points }], { boards: 1 })
    const strict = await planDay(fleet, rates, costs)
    expect(strict.lateRequests).toBe(0)
    expect(strict.energyJ).toBe(strict.staticPlan.energyJ)
    const loose = await planDay(fleet, rates, { ...costs, maxLate: 0.01 })
    expect(loose.lateRequests).toBeGreaterThan(0)
    expect(loose.energyJ).toBeLessThan(strict.energyJ)
  })

  it('names a period into which no change is possible, and follows the rates in the others', async () => {
    const point = { batchSize: 8, processes: 1, latencyMs: 10 }
    const points = [
      { ...point, sizeGpcs: 1 as const, processThroughput: 90, powerW: 18 },
      { ...point, sizeGpcs: 7 as const, processThroughput: 700, powerW: 280 },
    ]
    // Large instances on both boards serve the second period alone, so the small one of the first must be removed first.
    const rates = [790, 1390, 690, 80, 80].map((ratePerS) => [{ model: 'net', ratePerS, latencyMs: 100 }])
    const plan = await planDay(boards([{ model: 'net', points }], { boards: 2 }), rates, costs)
    expect(plan.blocked).toEqual([1])
    expect(plan.lateRequests).toBe(0)
    expect(plan.periods.map((period) => period.boards.length)).toEqual([2, 2, 1, 1, 1])
    expect(plan.energyJ).toBeLessThan(plan.staticPlan.energyJ)
    plan.periods.forEach(({ boards: map, lateRequests }, h) => {
      expect(lateRequests).toBe(0)
      expect(capacity(map, 'net')).toBeGreaterThanOrEqual(rates[h]![0]!.ratePerS)
    })
  })

  it('of equal periods is one plan, and of one period a plan', async () => {
    const objective = { model: 'net', ratePerS: 900, latencyMs: 100 }
    const points = segmentSizes.map((sizeGpcs) => ({
      ...{ sizeGpcs, batchSize: 8, processes: 1, processThroughput: 70 * sizeGpcs },
      ...{ latencyMs: 10, powerW: 30 * sizeGpcs },
    }))
    const profiles = [{ model: 'net', points }]
    const plan = await planDay(boards(profiles), [[objective], [objective], [objective]], costs)
    expect(plan.created).toBe(0)
    expect(plan.energyJ).toBeCloseTo(plan.staticPlan.energyJ, 6)
    const single = await planSegments(profiles, [objective])
    expect((await planDay(boards(profiles), [[objective]], costs)).maxBoards).toBe(single.gpuCount)
    await expect(planDay(boards(profiles, { boards: 1 }), [[objective]], costs)).rejects.toThrow(
      expect.objectContaining({ code: 'TOO_FEW_GPUS' }),
    )
  })

  it('may let some requests be late for less energy, and no more than it is allowed', async () => {
    const random = new SeededRandom(6)
    const profiles = ['a', 'b', 'c'].map((model, m) => ({
      model,
      points: segmentSizes.map((sizeGpcs) => ({
        ...{ sizeGpcs, batchSize: 8, processes: 1, latencyMs: 10, powerW: 20 * sizeGpcs },
        processThroughput: (50 + 30 * m) * sizeGpcs ** (0.8 + 0.2 * m),
      })),
    }))
    const objectives = profiles.map(({ model }) => ({ model, ratePerS: 400 + 900 * random.uniform(), latencyMs: 100 }))
    const rates = day(objectives, 4, 3)
    const options = { ...costs, maxIterations: 1000 }
    const strict = await planDay(boards(profiles), rates, options)
    const loose = await planDay(boards(profiles), rates, { ...options, maxLate: 0.005 })
    expect(strict.lateRequests).toBe(0)
    expect(loose.lateRequests).toBeLessThanOrEqual(0.005 * loose.requests)
    expect(loose.energyJ).toBeLessThanOrEqual(strict.energyJ)
  })

  it('keeps objectives by the tail in every period', async () => {
    const points = [1, 2, 4, 8].map((batchSize) => ({
      ...{ sizeGpcs: 1 as const, batchSize, processes: 1, powerW: 20 },
      ...{ processThroughput: 200 * batchSize ** 0.4, latencyMs: 5 * batchSize ** 0.6 },
    }))
    const objective = { model: 'net', ratePerS: 900, latencyMs: 40 }
    const rates = [objective, { ...objective, ratePerS: 300 }].map((each) => [each])
    const options = { ...costs, checkRequests: 5000 }
    const byBatches = await planDay(boards([{ model: 'net', points }]), rates, options)
    const byTail = await planDay(boards([{ model: 'net', points }]), rates, { ...options, gate: 'tail' })
    expect(byTail.unserved).toEqual([])
    expect(byTail.periods[0]!.boards.flatMap(({ segments }) => segments).length).toBeGreaterThan(
      byBatches.periods[0]!.boards.flatMap(({ segments }) => segments).length,
    )
  })

  it('names what is wrong', async () => {
    const points = [{ sizeGpcs: 7 as const, batchSize: 8, processes: 1, processThroughput: 100, latencyMs: 10 }]
    const objective = { model: 'net', ratePerS: 10, latencyMs: 100 }
    const profiles = [{ model: 'net', points }]
    await expect(planDay(boards(profiles), [[objective]], costs)).rejects.toThrow(/profiles, net.*measured power/)
    const wrong = (options: Partial<DayOptions>, periods = [[objective]], idleW: number | undefined = 60) =>
      planDay(boards(measured(profiles), { idleW }), periods, { ...costs, ...options })
    await expect(wrong({ periodS: 0 })).rejects.toThrow(/periodS/)
    await expect(wrong({ migrationS: 4000 })).rejects.toThrow(/migrationS/)
    await expect(wrong({ maxLate: 0.2 })).rejects.toThrow(/maxLate/)
    await expect(wrong({}, undefined, -1)).rejects.toThrow(/parkedW|idleW/)
    await expect(wrong({ parkedW: 61 })).rejects.toThrow(/parkedW.*60/)
    await expect(wrong({}, [])).rejects.toThrow(/1 to 96 periods/)
    await expect(wrong({}, [[objective], [{ ...objective, latencyMs: 90 }]])).rejects.toThrow(
      /latencyMs.*as in the periods before/,
    )
    const [group] = boards(measured(profiles)).groups
    await expect(planDay({ groups: [group!, group!] }, [[objective]], costs)).rejects.toThrow(/one group of boards/)
    const unserved = await wrong({}, [[objective, { model: 'other', ratePerS: 1, latencyMs: 5 }]])
    expect(unserved.unserved).toMatchObject([{ model: 'other' }])
  })
})

describe('the power of a rate', () => {
  it('is the least at which the instances answer it', () => {
    const instances = fc.array(
      fc.record({ count: fc.nat(3), items: fc.integer({ min: 1, max: 90 }), watts: fc.integer({ min: 1, max: 400 }) }),
      { minLength: 5, maxLength: 5 },
    )
    fc.assert(
      fc.property(instances, fc.double({ min: 0, max: 1, noNaN: true }), (of, share) => {
        const ratePerS = share * of.reduce((sum, { count, items }) => sum + count * items, 0)
        const segments = of.flatMap(({ count, items, watts }) =>
          Array.from({ length: count }, () => ({ model: 'net', ratePerS: items, powerW: watts }) as FleetSegment),
        )
        const board = { segments } as unknown as FleetBoard
        // Request by request from whatever takes least for one; a part of one at the end.
        const each = of
          .flatMap(({ count, items, watts }) => new Array<number>(count * items).fill(watts / items))
          .sort((a, b) => a - b)
        const least = each.reduce((sum, joules, i) => sum + joules * Math.min(1, Math.max(0, ratePerS - i)), 0)
        expect(servingW([board], [{ model: 'net', ratePerS, latencyMs: 100 }])).toBeCloseTo(least, 6)
      }),
      { numRuns: 50 },
    )
  })
})
