import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import {
  type Arrivals,
  capSchedule,
  fixedCap,
  type Service,
  type ServiceCounters,
  unaccountedRequests,
  VirtualClock,
} from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import {
  type Action,
  type PowerCapPolicy,
  planWithModel,
  type RunEvent,
  type RunOptions,
  replayRun,
  runPolicy,
  type ServiceListStep,
  ServicesPolicy,
  type ServicesPolicyOptions,
} from '../src/index.js'
import { photos, search } from './two-services.js'

const model = loadPerfModel('3080Ti')
const tags: Service = { ...search, name: 'tags', model: 'mnasnet1_0' }
const rates: Readonly<Record<string, number>> = { search: 150, photos: 250, tags: 100 }

/** Requests/s by chance; three times as many from a time to another. */
function poisson(ratePerS: number, seed: number, burst?: { readonly fromMs: number; readonly toMs: number }): Arrivals {
  const random = new SeededRandom(seed)
  let timeMs = 0
  return {
    nextMs() {
      const bursting = burst !== undefined && timeMs >= burst.fromMs && timeMs < burst.toMs
      timeMs += (-Math.log(1 - random.uniform()) * 1000) / (bursting ? 3 * ratePerS : ratePerS)
      return timeMs
    },
  }
}

const shares: ServicesPolicyOptions['plan'] = ({ services }) => ({
  tenants: services.map((service) => ({
    model: service.model,
    mpsPercent: 90 / services.length,
    batchSize: service.maxBatchSize,
    service: service.name,
  })),
  memClockMhz: 9501,
  smClockMhz: 1200,
})

interface World {
  readonly seed?: number
  readonly faults?: readonly Fault[]
  readonly steps?: readonly ServiceListStep[]
  readonly policy?: PowerCapPolicy
  readonly factor?: number
  readonly burst?: { readonly fromMs: number; readonly toMs: number }
  readonly run?: Partial<RunOptions>
}

const policyFor = (factor = 1) =>
  new ServicesPolicy({
    model,
    services: [search, photos],
    expectedPerS: Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, factor * rate])),
    plan: shares,
  })

async function serve({ seed = 1, faults = [], steps, policy, factor = 1, burst, run = {} }: World = {}) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, seed, faults: { faults } })
  const desk = new SimulatedDesk(gpu, ({ name, objective: { p99Ms } }) => ({
    arrivals: poisson(factor * rates[name]!, seed + name.length, name === 'search' ? burst : undefined),
    maxQueued: 500,
    shedAfterMs: p99Ms,
  }))
  const readings: (readonly ServiceCounters[])[] = []
  const lines: string[] = []
  const powerW: number[] = []
  let energyJ = 0
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: policy ?? policyFor(factor),
    caps: fixedCap(220),
    iterations: 6,
    services: { desk, steps: steps ?? [{ atMs: 0, services: [search, photos] }] },
    onSample: () => {
      readings.push(desk.counters())
      powerW.push(10 * (gpu.truth().meteredEnergyJ - energyJ))
      energyJ = gpu.truth().meteredEnergyJ
    },
    onEvent: (event) => lines.push(JSON.stringify(event)),
    ...run,
  })
  return { readings, powerW, desk, events: lines.map((line) => JSON.parse(line) as RunEvent) }
}

const ofType = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type)
const of = (readings: readonly ServiceCounters[], name: string) => readings.find(({ service }) => service === name)!
const inTime = (from: ServiceCounters, to: ServiceCounters) =>
  (to.completed - to.late - from.completed + from.late) /
  (to.completed + to.shed + to.failed - from.completed - from.shed - from.failed)

describe('a run of services', () => {
  it('takes any name for a name, also what every object has', () => {
    const seen: (readonly number[])[] = []
    new ServicesPolicy({
      model,
      services: [{ ...search, name: 'constructor' }],
      expectedPerS: {},
      plan: (load, objective) => {
        seen.push(load.ratesPerS)
        return shares(load, objective)
      },
    }).start(220)
    expect(seen).toEqual([[1]])
  })

  it('loses no request and forgets none, in random runs with faults', async () => {
    const random = new SeededRandom(7)
    const rising = ['timeMs', 'arrived', 'completed', 'late', 'shed', 'failed'] as const
    for (let seed = 1; seed <= cases(25, 12); seed++) {
      const fault = (): Fault => {
        const atMs = Math.round(4000 + 10_000 * random.uniform())
        const tenant = random.uniform() < 0.5 ? 0 : 1
        const kinds = ['client-killed', 'client-hung', 'mps-server-fault', 'client-out-of-memory'] as const
        const kind = kinds[Math.floor(4 * random.uniform())]!
        return kind === 'client-hung' ? { kind, atMs, tenant, durationMs: 2000 } : { kind, atMs, tenant }
      }
      const { readings } = await serve({
        seed,
        faults: [fault(), fault(), fault()],
        factor: 0.2 + 4 * random.uniform(),
        run: { iterations: 3 },
      })
      let before: readonly ServiceCounters[] = []
      // As many as this are compared by themselves, and expected once.
      const wrong: unknown[] = []
      for (const counters of readings) {
        for (const now of counters) {
          const earlier = before.find(({ service }) => service === now.service)
          const holds =
            unaccountedRequests(now) === 0 &&
            now.queued <= 500 + 16 &&
            rising.every((key) => !earlier || now[key] >= earlier[key]) &&
            (!earlier || now.failed === 0 || now.failure?.includes('died'))
          if (!holds) wrong.push({ earlier, now })
        }
        before = counters
      }
      expect(wrong).toEqual([])
      expect(before.every(({ completed }) => completed > 0)).toBe(true)
    }
  })

  it('is the same for the same seed, and is replayed from its record to the same decisions', async () => {
    const world = { faults: [{ kind: 'client-killed', atMs: 9000, tenant: 0 }] as const, factor: 3 }
    const [one, other] = [await serve(world), await serve(world)]
    expect(other.events).toEqual(one.events)
    const replay = replayRun(one.events, policyFor(3))
    expect(replay.differences).toEqual([])
    expect(replay.samples).toBe(300)
    expect(replay.decisions).toBeGreaterThan(0)
    const sample = ofType(one.events, 'sample').at(-1)!
    expect(sample.services!.map(({ service }) => service)).toEqual(['search', 'photos'])
    expect(ofType(one.events, 'window').at(-1)!.window.services![0]).toMatchObject({ service: 'search' })
  })

  it('takes a service in and lets one go while the others run on', async () => {
    const steps = [
      { atMs: 0, services: [search, photos] },
      { atMs: 10_000, services: [search, photos, tags] },
      { atMs: 20_000, services: [search, { ...tags, objective: { p99Ms: 80 } }] },
    ]
    const { readings, events, desk } = await serve({ steps })
    expect(ofType(events, 'services').map(({ timeMs }) => timeMs)).toEqual([10_000, 20_000])
    const started = ofType(events, 'tenant').filter(
      ({ tenant, state }) => state === 'loading' && tenant.service !== 'tags',
    )
    expect(started.every(({ timeMs }) => timeMs < 1000)).toBe(true)
    expect(of(readings.at(-1)!, 'tags').completed).toBeGreaterThan(1000)
    expect(readings.at(-1)!.map(({ service }) => service)).toEqual(['search', 'tags'])
    expect(desk.departed.map(({ service }) => service)).toEqual(['photos'])
    expect(unaccountedRequests(desk.departed[0]!)).toBe(0)
    expect(of(readings.at(-1)!, 'search').late).toBeLessThan(50 + of(readings[80]!, 'search').late)
  })

  it('refuses services that change from a policy that knows no others', async () => {
    const policy: PowerCapPolicy = {
      name: 'deaf',
      start: (): Action => ({}),
      onCapChange: () => undefined,
      onSample: () => undefined,
      onWindow: () => undefined,
    }
    const steps = [
      { atMs: 0, services: [search] },
      { atMs: 5000, services: [photos] },
    ]
    await expect(serve({ steps, policy })).rejects.toThrow('deaf')
  })
})

describe('the policy for services', () => {
  it('keeps the objectives with a low clock at a low load, and draws far less than at full clock', async () => {
    const { readings, powerW, events } = await serve({ run: { iterations: 12 } })
    for (const name of ['search', 'photos']) {
      expect(inTime(of(readings[150]!, name), of(readings.at(-1)!, name))).toBeGreaterThan(0.99)
    }
    const mean = powerW.slice(200).reduce((sum, power) => sum + power, 0) / (powerW.length - 200)
    expect(mean).toBeLessThan(130)
    expect(ofType(events, 'sample').at(-1)!.telemetry.smClockMhz).toBeLessThan(1200)
  })

  it('is back within its objectives ten seconds after a burst of three times the rate', async () => {
    const { readings } = await serve({ burst: { fromMs: 20_000, toMs: 25_000 }, run: { iterations: 10 } })
    expect(inTime(of(readings[350]!, 'search'), of(readings.at(-1)!, 'search'))).toBeGreaterThan(0.99)
  })

  it('turns away what it cannot serve, says so, and serves the others in time under the cap', async () => {
    const { readings, powerW, events } = await serve({ factor: 12, run: { iterations: 12 } })
    const decisions = ofType(events, 'decision').map(({ decision }) => decision.kind)
    expect(decisions).toContain('admission')
    const from = of(readings[300]!, 'search')
    const to = of(readings.at(-1)!, 'search')
    expect(to.shed - from.shed).toBeGreaterThan(1000)
    const late = to.late - from.late
    expect(late / (to.completed - from.completed)).toBeLessThan(0.35)
    const seconds = Array.from({ length: 50 }, (_, s) => powerW.slice(100 + 10 * s, 110 + 10 * s))
    const above = seconds.filter((second) => second.reduce((sum, power) => sum + power, 0) / 10 > 1.01 * 220)
    expect(above.length).toBeLessThanOrEqual(1)
  })

  it('serves the heavier service first where the cap keeps it from serving all', async () => {
    const shareInTime = async (weight: number) => {
      const services = [{ ...search, weight }, photos]
      const quickly = planWithModel(model, { budgetEvaluations: 60, batchSizes: [4, 16], maxInstances: 2 })
      const policy = new ServicesPolicy({ model, services, expectedPerS: { search: 900, photos: 1500 }, plan: quickly })
      const world = { factor: 12, policy, steps: [{ atMs: 0, services }], run: { iterations: 9, caps: fixedCap(150) } }
      const { readings } = await serve(world)
      return ['search', 'photos'].map((name) => inTime(of(readings[220]!, name), of(readings.at(-1)!, name)))
    }
    const [light, heavy] = [await shareInTime(0.2), await shareInTime(5)]
    expect(heavy[0]).toBeGreaterThan(light[0]! + 0.1)
    expect(heavy[1]).toBeLessThan(light[1]!)
  })

  it('keeps a cap that steps down while requests come', async () => {
    const caps = capSchedule([
      { atMs: 0, powerCapW: 240 },
      { atMs: 15_000, powerCapW: 160 },
    ])
    const { powerW } = await serve({ factor: 6, run: { caps, iterations: 6 } })
    const mean = powerW.slice(170).reduce((sum, power) => sum + power, 0) / (powerW.length - 170)
    expect(mean).toBeLessThanOrEqual(160 * 1.005)
  })

  it('refuses rates that are none', () => {
    const options = { model, services: [search], plan: shares }
    expect(() => new ServicesPolicy({ ...options, expectedPerS: { search: 0 } })).toThrow('expectedPerS.search')
  })
})
