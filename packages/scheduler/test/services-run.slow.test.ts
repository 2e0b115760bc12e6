import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import {
  type Arrivals,
  fixedCap,
  type Service,
  type ServiceCounters,
  unaccountedRequests,
  VirtualClock,
} from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import {
  type RunEvent,
  runPolicy,
  type ServiceListStep,
  ServicesPolicy,
  type ServicesPolicyOptions,
} from '../src/index.js'
import { photos, search } from './two-services.js'

// The promises of a run with services are in test/contract/services.slow.test.ts.

const model = loadPerfModel('3080Ti')
const tags: Service = { ...search, name: 'tags', model: 'mnasnet1_0' }
const rates: Readonly<Record<string, number>> = { search: 150, photos: 250, tags: 100 }

/** Requests/s by chance. */
function poisson(ratePerS: number, seed: number): Arrivals {
  const random = new SeededRandom(seed)
  let timeMs = 0
  return {
    nextMs() {
      timeMs += (-Math.log(1 - random.uniform()) * 1000) / ratePerS
      return timeMs
    },
  }
}

const shares: NonNullable<ServicesPolicyOptions['plan']> = ({ services }) => ({
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
  readonly factor?: number
  readonly iterations?: number
}

async function serve({ seed = 1, faults = [], steps, factor = 1, iterations = 6 }: World) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, seed, faults: { faults } })
  const desk = new SimulatedDesk(gpu, ({ name, objective: { p99Ms } }) => ({
    arrivals: poisson(factor * rates[name]!, seed + name.length),
    maxQueued: 500,
    shedAfterMs: p99Ms,
  }))
  const readings: (readonly ServiceCounters[])[] = []
  const events: RunEvent[] = []
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: new ServicesPolicy({
      model,
      services: [search, photos],
      expectedPerS: Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, factor * rate])),
      plan: shares,
    }),
    caps: fixedCap(220),
    iterations,
    services: { desk, steps: steps ?? [{ atMs: 0, services: [search, photos] }] },
    onSample: () => readings.push(desk.counters()),
    onEvent: (event) => events.push(event),
  })
  return { readings, desk, events }
}

const ofType = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type)
const of = (readings: readonly ServiceCounters[], name: string) => readings.find(({ service }) => service === name)!

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
        iterations: 3,
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
})
