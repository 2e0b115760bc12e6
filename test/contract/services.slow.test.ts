import { planServices } from '@pctodl/greedy-partition/services'
import { loadPerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { planWithModel } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { expectNoWorse } from './expect-no-worse.js'
import {
  atClock,
  attainment,
  between,
  counted,
  type Demand,
  fixed,
  judgeCap,
  meanW,
  ofType,
  pctodlWith,
  type Story,
  steps,
  type Told,
  tell,
  unaccounted,
  used,
  weightedPerS,
} from './harness.js'

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 2,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2' }
const tags: Service = { ...search, name: 'tags', model: 'mnasnet1_0', objective: { p99Ms: 80 } }
const model = loadPerfModel('3080Ti')
const policy = pctodlWith(
  {},
  { plan: planWithModel(model, { budgetEvaluations: 60, batchSizes: [4, 16], maxInstances: 2 }) },
)

const at = (service: Service, perS: number | ((timeMs: number) => number), expectedPerS?: number): Demand => ({
  service,
  ratePerS: typeof perS === 'number' ? () => perS : perS,
  ...(expectedPerS === undefined ? {} : { expectedPerS }),
})
const both = (times: number) => [at(search, 150 * times), at(photos, 250 * times)]
const during = (fromS: number, toS: number, low: number, high: number) => (timeMs: number) =>
  timeMs > 1000 * fromS && timeMs < 1000 * toS ? high : low

const story = (part: Partial<Story>): Story => ({
  name: '',
  board: '3080Ti',
  caps: fixed(220),
  seconds: 30,
  demands: both(1),
  ...part,
})

/** Nothing is lost, the cap is kept, and what can be served is served: in time, and nobody turned away. */
function expectServed(told: Told, demands: readonly Demand[], fromS: number, least = 0.99): void {
  expect(unaccounted(told)).toEqual([])
  expect(judgeCap(told).aboveShare).toBeLessThanOrEqual(0.01)
  for (const { service } of demands) {
    expect(attainment(told, service.name, fromS), `${service.name} in time`).toBeGreaterThanOrEqual(least)
    expect(counted(told, service.name, 'shed', fromS), `${service.name} shed`).toBe(0)
    expect(counted(told, service.name, 'completed', fromS)).toBeGreaterThan(0)
  }
  expectNoWorse(told)
}

describe('services that the board can serve are served in time, and nobody is turned away', () => {
  const seconds = (atS: number, forS: number) => ({ atMs: 1000 * atS, durationMs: 1000 * forS })
  const rows: readonly (readonly [name: string, part: Partial<Story>, fromS: number, least?: number])[] = [
    ['at a low load', {}, 8],
    ['at four times that', { demands: both(4) }, 8],
    ['told five times the rates', { demands: [at(search, 150, 750), at(photos, 250, 1250)] }, 8],
    ['told a tenth of the rates', { demands: [at(search, 450, 45), at(photos, 750, 75)], seconds: 40 }, 25],
    ['after a burst of four times the rate', { demands: [at(search, during(12, 16, 150, 600)), at(photos, 250)] }, 18],
    [
      'after a load that grows ninefold for good',
      { demands: [at(search, during(15, 99, 100, 900)), at(photos, 250)], seconds: 45 },
      32,
    ],
    ['after a load that vanishes and returns', { demands: [at(search, during(10, 20, 400, 1)), at(photos, 250)] }, 22],
    ['through a step of the cap', { demands: both(4), caps: steps(15, 240, 155) }, 17],
    ['after one process is killed', { faults: [{ kind: 'client-killed', atMs: 12_000, tenant: 0 }] }, 18],
    ['after all processes died', { faults: [{ kind: 'mps-server-fault', atMs: 12_000, tenant: 0 }] }, 20],
    ['after a process hung', { faults: [{ kind: 'client-hung', tenant: 0, ...seconds(12, 5) }] }, 21],
    ['while readings fail', { faults: [{ kind: 'telemetry-failing', ...seconds(12, 8) }] }, 22],
    [
      'after the clock was refused in a burst',
      {
        demands: [at(search, during(12, 30, 150, 600)), at(photos, 250)],
        faults: [{ kind: 'setter-refused', setter: 'sm-clock', ...seconds(10, 8) }],
      },
      24,
    ],
    [
      'after the board was too hot',
      { demands: both(3), faults: [{ kind: 'thermal-slowdown', ...seconds(12, 5) }] },
      22,
    ],
  ]
  for (const [name, part, fromS, least] of rows) {
    it(name, async () => {
      const told = story(part)
      expectServed(await tell(told, policy), told.demands!, fromS, least)
    })
  }

  it('on an A100, with the default plan', async () => {
    const demands = both(4)
    const told = await tell(story({ board: 'A100', caps: fixed(200), demands }), pctodlWith())
    expectServed(told, demands, 8)
  })

  it('one of them comes, another goes, and the others go on', async () => {
    const demands = [at(search, 150), at(photos, 250), at(tags, 100)]
    const part = {
      present: [
        [0, ['search', 'photos']],
        [10, ['search', 'photos', 'tags']],
        [20, ['search', 'tags']],
      ],
    } as const
    const told = await tell(story({ demands, ...part, seconds: 35 }), policy)
    expect(unaccounted(told)).toEqual([])
    // Who leaves is let out: what was waiting is answered before the counters end.
    const left = told.tenths.flatMap(({ counters }) => counters.filter(({ service }) => service === 'photos')).at(-1)!
    expect(left.completed + left.shed + left.failed).toBe(left.arrived)
    expectNoWorse(told)
    expect(attainment(told, 'search', 26)).toBeGreaterThan(0.99)
    expect(attainment(told, 'tags', 26)).toBeGreaterThan(0.99)
    expect(told.tenths.at(-1)!.counters.map(({ service }) => service)).toEqual(['search', 'tags'])
    const { tenants } = ofType(told, 'window').at(-1)!.window
    expect(new Set(tenants.map(({ tenant }) => tenant.service))).toEqual(new Set(['search', 'tags']))
  })
})

describe('services whose terms change', () => {
  it('are served by the new terms at once, and no process restarts', async () => {
    const strict = { ...photos, objective: { p99Ms: 12 } }
    const demands = [at(search, 150), at(photos, 250)]
    const present = [
      [0, [search, photos]],
      [15, [search, strict]],
      [30, [search, photos]],
    ] as const
    const told = await tell(story({ demands, present, seconds: 45 }), policy)
    expect(unaccounted(told)).toEqual([])
    const started = ofType(told, 'tenant').filter(({ timeMs, state }) => timeMs > 5000 && state === 'loading')
    expect(started).toEqual([])
    expect(attainment(told, 'photos', 18, 29.9)).toBeGreaterThan(0.985)
    expect(attainment(told, 'search', 8)).toBeGreaterThan(0.99)
    const [before, strictly, after] = [between(told, 8, 15), between(told, 18, 29.9), between(told, 36)].map(meanW)
    expect(strictly).toBeGreaterThan(1.03 * before!)
    expect(after).toBeLessThan(strictly!)
    expect(ofType(told, 'services')).toHaveLength(2)
  })

  it('get other tenants when the mix is another one for long, and only then', async () => {
    const turned = (fromS: number, toS: number) => [
      at(search, during(fromS, toS, 100, 1600)),
      at(photos, during(fromS, toS, 2600, 100)),
    ]
    const long = await tell(story({ demands: turned(10, 99), caps: fixed(300), seconds: 50 }), policy)
    expect(ofType(long, 'action').filter(({ source }) => source === 'idle').length).toBeGreaterThan(0)
    expect(attainment(long, 'search', 42)).toBeGreaterThan(0.95)
    expect(unaccounted(long)).toEqual([])
    const brief = await tell(story({ demands: turned(10, 15), caps: fixed(300), seconds: 30 }), policy)
    expect(ofType(brief, 'action').filter(({ timeMs, action }) => timeMs > 0 && action.tenants)).toEqual([])
  })
})

describe('what services draw', () => {
  it.each([1, 3])('at %i times the load is no more than with the best single clock', async (times) => {
    const demands = both(times)
    const plan = planServices(model, [search, photos], [150 * times, 250 * times], {
      objective: 'min-power',
      powerCapW: 220,
      budgetEvaluations: 200,
    })
    if (!plan.feasible) throw new Error(plan.message)
    let bestW = Number.POSITIVE_INFINITY
    for (const smClockMhz of [300, 450, 600, 750, 900, 1200, 1500]) {
      const told = await tell(story({ demands, seconds: 20 }), atClock({ ...plan.configuration, smClockMhz }))
      const good = demands.every(({ service }) => attainment(told, service.name, 8) > 0.99)
      if (!good) continue
      const drawnW = meanW(between(told, 8))
      // Clocks above the best one draw more and more.
      if (drawnW > bestW) break
      bestW = drawnW
    }
    const ours = await tell(story({ demands }), policy)
    expect(meanW(between(ours, 10))).toBeLessThan(1.2 * bestW)
    expectNoWorse(ours)
  })

  it('falls when the load falls, and rises with it', async () => {
    const demands = [at(search, during(15, 30, 900, 100)), at(photos, during(15, 30, 900, 100))]
    const told = await tell(story({ demands, seconds: 45 }), policy)
    const [before, low, after] = [between(told, 8, 15), between(told, 20, 30), between(told, 36)].map(meanW)
    expect(low).toBeLessThan(0.7 * before!)
    expect(after).toBeGreaterThan(0.85 * before!)
    expectNoWorse(told)
  })

  it('asks little of the board while nothing changes', async () => {
    const told = await tell(story({ seconds: 60 }), policy)
    const asked = ofType(told, 'action').filter(({ timeMs }) => timeMs > 15_000)
    expect(asked.length).toBeLessThan(25)
    const started = ofType(told, 'tenant').filter(({ timeMs, state }) => timeMs > 5000 && state === 'loading')
    expect(started).toEqual([])
    expectNoWorse(told)
  })
})

describe('services that the board cannot all serve', () => {
  it.each([
    ['at 220 W', 12, 220],
    ['at 150 W', 7, 150],
  ])('have the whole cap, %s, and what is answered is answered in time', async (_, times, capW) => {
    const demands = both(times)
    const told = await tell(story({ demands, caps: fixed(capW), seconds: 30 }), policy)
    expect(unaccounted(told)).toEqual([])
    expect(judgeCap(told).aboveShare).toBeLessThanOrEqual(0.01)
    expect(used(between(told, 15))).toBeGreaterThan(0.85)
    const plan = planServices(model, [search, photos], [150 * times, 250 * times], {
      objective: 'max-value',
      powerCapW: capW,
      budgetEvaluations: 60,
    })
    if (!plan.feasible) throw new Error(plan.message)
    // All of what a fixed clock makes of it, which turns nobody away at the door.
    const still = await tell(story({ demands, caps: fixed(capW), seconds: 30 }), atClock({ ...plan.configuration }))
    expect(weightedPerS(told, demands, 15)).toBeGreaterThan(0.9 * weightedPerS(still, demands, 15))
    expect(weightedPerS(told, demands, 15)).toBeGreaterThan(0.7 * plan.score)
    const last = told.tenths.at(-1)!.counters
    expect(last.every(({ shed }) => shed > 0)).toBe(true)
    expect(last.every(({ late, completed }) => late < 0.35 * completed)).toBe(true)
    expectNoWorse(told)
  })

  it('give way by weight', async () => {
    const inTime = async (weight: number) => {
      const demands = [at({ ...search, weight }, 1800, 900), at(photos, 3000, 1500)]
      const told = await tell(story({ demands, caps: fixed(150), seconds: 25 }), policy)
      expectNoWorse(told, `${expect.getState().currentTestName}: ${weight}`)
      return [attainment(told, 'search', 12), attainment(told, 'photos', 12)] as const
    }
    const [light, heavy] = [await inTime(0.1), await inTime(10)]
    expect(heavy[0]).toBeGreaterThan(light[0] + 0.05)
    expect(heavy[1]).toBeLessThan(light[1])
  })

  it('are all let in again when there is room for them', async () => {
    const demands = [at(search, during(8, 18, 150, 3000), 150), at(photos, during(8, 18, 250, 4000), 250)]
    const told = await tell(story({ demands, seconds: 40 }), policy)
    expect(counted(told, 'search', 'shed', 10)).toBeGreaterThan(1000)
    expectServed(told, demands, 28)
  })

  it('are served again after a cap that let none run', async () => {
    const told = await tell(story({ demands: both(2), caps: steps(12, 220, 60, 220), seconds: 40 }), policy)
    expect(unaccounted(told)).toEqual([])
    for (const name of ['search', 'photos']) expect(attainment(told, name, 30)).toBeGreaterThan(0.97)
    expectNoWorse(told)
  })

  it('tell what became of each request, in every window', async () => {
    const told = await tell(story({ demands: both(12), seconds: 25 }), policy)
    const sum = (what: 'arrived' | 'completed' | 'late' | 'shed') =>
      ofType(told, 'window').reduce((total, { window }) => total + window.services![0]![what], 0)
    const last = told.tenths.at(-1)!.counters[0]!
    for (const what of ['arrived', 'completed', 'late', 'shed'] as const) {
      expect(sum(what), what).toBeGreaterThan(0.97 * last[what] - 100)
      expect(sum(what), what).toBeLessThanOrEqual(last[what])
    }
    for (const { window } of ofType(told, 'window').slice(2)) {
      const { completed, late, shed, failed, attainment: share, p50Ms, p99Ms } = window.services![0]!
      expect(share).toBeCloseTo((completed - late) / (completed + shed + failed), 6)
      expect(p99Ms).toBeGreaterThan(p50Ms!)
      expect(late / completed).toBeGreaterThan(p50Ms! > 60 ? 0.5 : 0)
    }
  })
})

describe('a run of services', () => {
  it('refuses a second list of services where the policy takes one only', async () => {
    const present = [
      [0, ['search']],
      [2, ['search', 'photos']],
    ] as const
    const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 8, service: 'search' }]
    const still = atClock({ tenants, smClockMhz: 900, memClockMhz: 9501 })
    await expect(tell(story({ present, seconds: 5 }), still)).rejects.toThrow(/services\.steps/)
    await tell(story({ present: [present[0]], seconds: 5 }), still)
  })

  it('refuses rates and services that cannot be, by name', () => {
    const start = (demands: readonly Demand[]) => () => policy(story({ demands })).start(220)
    expect(start([at(search, 0)])).toThrow(/expectedPerS\.search: got 0/)
    expect(start([at(search, Number.NaN)])).toThrow(/expectedPerS\.search/)
    expect(start([at(search, 1), at(search, 1)])).toThrow(/services\[1\]\.name/)
    expect(start([at({ ...search, objective: { p99Ms: -1 } }, 1)])).toThrow(/objective\.p99Ms/)
    expect(start([at({ ...search, model: 'nobody' }, 1)])).toThrow(/nobody/)
  })
})
