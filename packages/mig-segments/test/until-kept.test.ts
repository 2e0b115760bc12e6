import { SeededRandom } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { marginOf } from '../src/fleet/fleet-rows.js'
import { CHECK_SEED, isLate, untilKept } from '../src/fleet/plan-fleet.js'
import {
  type Fleet,
  planFleet,
  type ServiceObjective,
  type ServiceProfile,
  simulateFleet,
  simulatePlan,
} from '../src/index.js'
import { planForTail } from './plan-for-tail.js'

/** Services whose batches cost a fixed part and one for each request, in three sizes of instance, with objectives from hopeless to easy. */
function drawn(seed: number): { profiles: ServiceProfile[]; objectives: ServiceObjective[] } {
  const random = new SeededRandom(seed)
  const services = Array.from({ length: 4 }, (_, m) => {
    const fixedMs = 1 + 9 * random.uniform()
    const eachMs = 0.2 + 3 * random.uniform()
    const points = [1, 2, 4].flatMap((size) =>
      [1, 4, 16].flatMap((batchSize) =>
        [1, 2].map((processes) => {
          const latencyMs = (fixedMs + (eachMs * batchSize * processes) / size ** 0.8) * (0.9 + 0.2 * random.uniform())
          const processThroughput = (1000 * batchSize) / latencyMs
          return { sizeGpcs: size as 1 | 2 | 4, batchSize, processes, processThroughput, latencyMs }
        }),
      ),
    )
    const model = `model${m}`
    const latencyMs = Math.min(...points.map((point) => point.latencyMs)) * (0.9 + 4 * random.uniform())
    return { profile: { model, points }, objective: { model, latencyMs, ratePerS: 3 * 300 ** random.uniform() } }
  })
  return { profiles: services.map(({ profile }) => profile), objectives: services.map(({ objective }) => objective) }
}

/** The numbers of GPCs as profiles of an A100-80GB. */
function fleetOf(profiles: readonly ServiceProfile[]): Fleet {
  const names = { 1: '1g.10gb', 2: '2g.20gb', 3: '3g.40gb', 4: '4g.40gb', 7: '7g.80gb' } as const
  const points = (of: ServiceProfile['points']) =>
    of.map(({ sizeGpcs, ...point }) => ({ ...point, profile: names[sizeGpcs!] }))
  return {
    groups: [{ gpu: 'A100-80GB', profiles: profiles.map(({ model, points: of }) => ({ model, points: points(of) })) }],
  }
}

describe('whom a plan calls served', () => {
  const requests = 10_000
  const kinds = [1, 2, 4, 8].flatMap((burstiness, k) =>
    (['shared', 'split'] as const).map((dispatch, d) => ({ burstiness, dispatch, seed: 10 * k + d })),
  )

  it.each(kinds)(
    'is in time in its check, all others are named with what they could keep: $burstiness, $dispatch',
    async ({ burstiness, dispatch, seed }) => {
      for (let from = seed; from < seed + 100 * cases(8, 1); from += 100) {
        const { profiles, objectives } = drawn(from)
        const options = { burstiness, dispatch, checkRequests: requests }
        const plan = await planForTail(profiles, objectives, options)
        const named = [...plan.served, ...plan.unserved].map(({ model }) => model).sort()
        expect(named).toEqual(objectives.map(({ model }) => model))
        const met = simulatePlan(plan, profiles, { burstiness, dispatch, requests, seed: CHECK_SEED })
        for (const { model, late } of met) expect(late / requests, `${from}: ${model}`).toBeLessThanOrEqual(0.01)
        for (const { model, ratePerS, latencyMs, keepableMs } of plan.unserved) {
          expect(keepableMs).toBeGreaterThan(latencyMs)
          const alone = await planForTail(profiles, [{ model, ratePerS, latencyMs: keepableMs! }], options)
          expect(alone.unserved).toEqual([])
        }
      }
    },
  )

  it.each([1, 4])('is in time in the check of a fleet, too: burstiness %d', async (burstiness) => {
    const { profiles, objectives } = drawn(50 + burstiness)
    const fleet = fleetOf(profiles)
    const options = { gate: 'tail', burstiness, checkRequests: requests, maxIterations: 2000 } as const
    const plan = await planFleet(fleet, objectives, options)
    for (const outcome of simulateFleet(plan, fleet, { burstiness, requests, seed: CHECK_SEED })) {
      expect(isLate(outcome), outcome.model).toBe(false)
    }
    for (const { model, ratePerS, latencyMs, keepableMs } of plan.unserved) {
      expect(keepableMs).toBeGreaterThan(latencyMs)
      const alone = await planFleet(fleet, [{ model, ratePerS, latencyMs: keepableMs! }], options)
      expect(alone.unserved).toEqual([])
    }
  })
})

describe('a service that could not be planned for within any objective', () => {
  // A milliard requests/s, where a board answers some hundred.
  const point = { batchSize: 1, processes: 1, processThroughput: 20, latencyMs: 50 }
  const profiles = ['huge', 'small'].map((model) => ({ model, points: [{ ...point, sizeGpcs: 1 as const }] }))
  const objectives = [
    { model: 'huge', ratePerS: 1e9, latencyMs: 20 },
    { model: 'small', ratePerS: 5, latencyMs: 1000 },
  ]

  it('is named without one, and the others are served', async () => {
    const plans = [
      await planForTail(profiles, objectives),
      await planFleet(fleetOf(profiles), objectives, { gate: 'tail' }),
      await planFleet(fleetOf(profiles), objectives),
    ]
    for (const { served, unserved } of plans) {
      expect(served.map(({ model }) => model)).toEqual(['small'])
      expect(unserved).toMatchObject([{ model: 'huge' }])
      expect(unserved[0]).not.toHaveProperty('keepableMs')
    }
  })
})

it('names an objective that the boards that there are can keep, where a shorter one would need more of them', async () => {
  // Seven instances serve 700 requests/s one by one, or 1400 in batches that take twice as long.
  const point = { sizeGpcs: 1 as const, processes: 1 }
  const points = [
    { ...point, batchSize: 1, latencyMs: 10, processThroughput: 100 },
    { ...point, batchSize: 4, latencyMs: 20, processThroughput: 200 },
  ]
  const { groups } = fleetOf([{ model: 'net', points }])
  const fleet = { groups: groups.map((group) => ({ ...group, boards: 1 })) }
  const { unserved } = await planFleet(fleet, [{ model: 'net', ratePerS: 1000, latencyMs: 8 }])
  // A batch may take 0.45 of an objective.
  expect(unserved).toMatchObject([{ keepableMs: expect.toSatisfy((ms) => ms >= 20 / 0.45 && ms < (1.06 * 20) / 0.45) }])
})

describe('planning until all are kept', () => {
  it('leaves out who is late whatever room it gets, and goes on for the others', async () => {
    let made = 0
    const served = await untilKept(
      { gate: 'tail' },
      (gate) => {
        made++
        const times = 'times' in gate ? gate.times : undefined
        const isServed = (model: string) => (times?.get(model) ?? 0) < Number.POSITIVE_INFINITY
        return Promise.resolve(['always', 'twice', 'never'].filter(isServed))
      },
      (plan) => plan.filter((model) => model === 'always' || (model === 'twice' && made <= 2)),
    )
    expect(served).toEqual(['twice', 'never'])
    expect(made).toBe(13)
  })

  it('gives no more room than needed, to an eighth of the last increase, and stops where nothing is left to save', async () => {
    let made = 0
    const plan = (needs: Record<string, number>, costOf: (times: number) => number) => {
      made = 0
      return untilKept(
        { gate: 'tail' },
        (gate) => {
          made++
          const times = 'times' in gate ? gate.times : undefined
          return Promise.resolve(Object.fromEntries(Object.keys(needs).map((model) => [model, times?.get(model) ?? 0])))
        },
        (times) => Object.keys(needs).filter((model) => times[model]! < needs[model]!),
        (times) => costOf(Object.values(times).reduce((sum, each) => sum + (each < Infinity ? each : 0), 0)),
      )
    }
    expect(await plan({ much: 6.4, little: 0.3, none: 0 }, (times) => times)).toEqual({
      much: 6.5,
      little: 0.375,
      none: 0,
    })
    expect(await plan({ much: 6.4 }, () => 1)).toEqual({ much: 7 })
    // Eight plans until it is in time, and one with the margin before.
    expect(made).toBe(9)
    expect((await plan({ never: 99, little: 0.3 }, (times) => times))['little']).toBe(0.375)
  })

  it('gives more room each time', () => {
    const margins = [0, 1, 2, 6, 11].map(marginOf)
    expect(margins[0]).toBe(1)
    expect(margins).toEqual([...margins].sort((a, b) => a - b))
    expect(new Set(margins).size).toBe(5)
    // The largest rate that a service gets, as the README says.
    expect(margins.at(-1)).toBeCloseTo(7, 0)
  })
})

it('keeps the plan that it has if the search finds none with smaller margins', async () => {
  const marginsOf = (gate: { readonly times?: ReadonlyMap<string, number> }) => gate.times?.get('net') ?? 0
  const kept = await untilKept(
    { gate: 'tail' },
    async (gate) => {
      const margin = marginsOf(gate as { readonly times?: ReadonlyMap<string, number> })
      if (margin % 1 > 0) throw new PctodlError('NO_PLAN', 'no packing was found')
      return margin
    },
    (margin) => (margin < 2 ? ['net'] : []),
    (margin) => margin,
  )
  expect(kept).toBe(2)
})
