import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import {
  type DayOptions,
  type PlannedGpu,
  type PlannedPeriod,
  type ProfilePoint,
  planDay,
  type ServiceObjective,
  type ServiceProfile,
  segmentSizes,
  simulatePlan,
  stepMaps,
} from '../src/index.js'

const costs: DayOptions = { periodS: 3600, migrationS: 60, idleW: 60, parkedW: 0, gate: 'tail', mostIterations: 2000 }

/** Two networks, batches of 1 to 16 with one or two processes, and rates that rise and fall. */
function drawn(seed: number): { profiles: ServiceProfile[]; periods: ServiceObjective[][] } {
  const random = new SeededRandom(seed)
  const profiles = ['a', 'b'].map((model): ServiceProfile => {
    const stepMs = 4 + 8 * random.uniform()
    const points = segmentSizes.flatMap((sizeGpcs) =>
      [1, 4, 16].flatMap((batchSize) =>
        [1, 2].map((processes): ProfilePoint => {
          const latencyMs = ((stepMs + batchSize) * processes ** 0.8) / sizeGpcs ** 0.8
          const processThroughput = (1000 * batchSize) / latencyMs
          return { sizeGpcs, batchSize, processes, processThroughput, latencyMs, powerW: 25 * sizeGpcs ** 0.9 }
        }),
      ),
    )
    return { model, points }
  })
  const objectives = profiles.map(({ model }) => ({
    ...{ model, ratePerS: 100 + 900 * random.uniform(), latencyMs: 60 + 100 * random.uniform() },
  }))
  const periods = [0.3, 1, 0.6, 0.15].map((part) =>
    objectives.map((each) => ({ ...each, ratePerS: each.ratePerS * part * (0.9 + 0.2 * random.uniform()) })),
  )
  return { profiles, periods }
}

/** Share of late requests of the worst service, with such segments and rates. */
function lateShare(
  gpus: readonly PlannedGpu[],
  objectives: readonly ServiceObjective[],
  profiles: readonly ServiceProfile[],
  burstiness: number,
): number {
  const served = objectives.map((objective) => ({ ...objective, segments: 0, gpcs: 0, capacity: 0 }))
  const outcomes = simulatePlan({ gpus, served }, profiles, { burstiness, requests: 20_000, seed: 5 })
  return Math.max(...outcomes.map(({ late, requests }) => late / requests))
}

describe('a schedule by the tail', () => {
  it.each([1, 4])(
    'answers 99 of 100 requests in time in every period, and while maps change: burstiness %d',
    async (burstiness) => {
      let saved = 0
      let late = 0
      for (const seed of [1, 2, 3]) {
        const { profiles, periods } = drawn(10 * burstiness + seed)
        const day = await planDay(profiles, periods, { ...costs, burstiness, checkRequests: 10_000 })
        expect(day.unserved).toEqual([])
        expect(day.lateRequests).toBe(0)
        expect(day.energyJ).toBeLessThanOrEqual(day.staticPlan.energyJ * (1 + 1e-9))
        expect(day.lowerBoundJ).toBeLessThanOrEqual(day.energyJ * (1 + 1e-9))
        if (day.energyJ < 0.95 * day.staticPlan.energyJ) saved++
        day.periods.forEach(({ gpus, steps }: PlannedPeriod, h) => {
          expect(lateShare(gpus, periods[h]!, profiles, burstiness)).toBeLessThanOrEqual(0.01)
          if (h === 0) return
          // Until all is created the period before goes on; what goes then goes at the rates after it.
          const lastCreated = steps.findLastIndex(({ kind }) => kind === 'create')
          const removedFirst = steps.findIndex(({ kind }, i) => kind === 'remove' && i < lastCreated)
          if (removedFirst < 0) return
          const map = stepMaps(day.periods[h - 1]!.gpus, steps)[removedFirst]! as PlannedGpu[]
          expect(lateShare(map, periods[h - 1]!, profiles, burstiness)).toBeLessThanOrEqual(0.01)
        })
        const byBatch = await planDay(profiles, periods, {
          ...costs,
          gate: 'latency',
          latencyShare: 1,
          mostIterations: 0,
        })
        const worst = byBatch.periods.map(({ gpus }, h) => lateShare(gpus, periods[h]!, profiles, burstiness))
        if (Math.max(...worst) > 0.01) late++
      }
      expect(saved).toBeGreaterThan(0)
      // The latency gate alone would not have done.
      expect(late).toBeGreaterThan(0)
    },
  )

  it('names what nobody can keep, and options out of range', async () => {
    const { profiles, periods } = drawn(1)
    const hasty = periods.map((period) =>
      period.map((each) => (each.model === 'a' ? { ...each, latencyMs: 0.5 } : each)),
    )
    const day = await planDay(profiles, hasty, { ...costs, mostIterations: 0 })
    expect(day.unserved.map(({ model }) => model)).toEqual(['a'])
    const [{ keepableMs, message }] = day.unserved as [(typeof day.unserved)[number]]
    expect(message).toContain(`${keepableMs} ms could be kept`)
    const patient = hasty.map((period) =>
      period.flatMap((each) => (each.model === 'a' ? { ...each, latencyMs: keepableMs! } : [])),
    )
    expect((await planDay(profiles, patient, { ...costs, mostIterations: 0 })).unserved).toEqual([])
    await expect(planDay(profiles, periods, { ...costs, burstiness: 0 })).rejects.toThrow(/burstiness: got 0/)
    await expect(planDay(profiles, periods, { ...costs, checkRequests: -1 })).rejects.toThrow(/checkRequests: got -1/)
  })
})
