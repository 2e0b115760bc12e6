import { type Service, type Tenant, unaccountedRequests, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type Fault, type ServedService, SimulatedGpu, SimulatedTenants } from '../src/index.js'
import { poisson } from './serving-laws.js'

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 80 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 4,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2' }
const serving: Tenant[] = [
  { model: 'resnet50', mpsPercent: 60, batchSize: 16, service: 'search' },
  { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 16, service: 'photos' },
]
const served = (service: Service, ratePerS: number, seed = 1): ServedService => ({
  service,
  arrivals: poisson(ratePerS, seed),
})

async function board({
  rates = [200, 200],
  tenants = serving,
  seed = 1,
  smClockMhz = 1200,
  faults = [],
}: {
  rates?: readonly [number, number]
  tenants?: readonly Tenant[]
  seed?: number
  smClockMhz?: number
  faults?: readonly Fault[]
} = {}) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('A100', { clock, seed, faults: { faults } })
  const services = gpu.serve([served(search, rates[0], seed), served(photos, rates[1], seed + 100)])
  const pool = new SimulatedTenants(gpu)
  const lease = await gpu.acquire()
  await pool.apply(tenants)
  await lease.lockSmClock(smClockMhz)
  await clock.sleep(2000)
  return { clock, gpu, services, pool, lease }
}

/** Mean power and throughput over some seconds. */
async function meanOver(clock: VirtualClock, gpu: SimulatedGpu, seconds: number) {
  const before = gpu.truth().energyJ
  let throughput = 0
  for (let i = 0; i < 10; i++) {
    await clock.sleep(100 * seconds)
    throughput += gpu.truth().throughput / 10
  }
  return { powerW: (gpu.truth().energyJ - before) / seconds, throughput }
}

describe('a board that serves', () => {
  it('does with more requests than it can take what it does with tenants that never wait', async () => {
    const full = await board({ rates: [20_000, 20_000] })
    const before = full.services.counters()
    const overloaded = await meanOver(full.clock, full.gpu, 20)
    const answered = full.services.counters().map(({ completed }, i) => (completed - before[i]!.completed) / 20)

    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock, seed: 1 })
    const pool = new SimulatedTenants(gpu)
    const lease = await gpu.acquire()
    await pool.apply(serving.map(({ service: _, ...tenant }) => tenant))
    await lease.lockSmClock(1200)
    await clock.sleep(2000)
    const earlier = pool.counters()
    const saturated = await meanOver(clock, gpu, 20)
    pool.counters().forEach(({ samples }, i) => {
      expect(answered[i]! / ((samples - earlier[i]!.samples) / 20)).toBeCloseTo(1, 2)
    })
    expect(overloaded.powerW / saturated.powerW).toBeCloseTo(1, 2)
    expect(overloaded.throughput / saturated.throughput).toBeCloseTo(1, 2)
  })

  it('draws more the more it is asked for, and between requests what an idle board draws at its clock', async () => {
    const powers: number[] = []
    for (const rates of [
      [0.001, 0.001],
      [100, 50],
      [400, 200],
      [20_000, 20_000],
    ] as const) {
      const { clock, gpu } = await board({ rates })
      powers.push((await meanOver(clock, gpu, 10)).powerW)
    }
    expect(powers.every((powerW, i) => i === 0 || powerW > powers[i - 1]! + 3)).toBe(true)
    const quiet = await board({ rates: [0.001, 0.001], smClockMhz: 600 })
    expect((await meanOver(quiet.clock, quiet.gpu, 10)).powerW).toBeLessThan(powers[0]!)
  })

  it('takes longer for a batch at a lower clock and beside a busy neighbour', async () => {
    // One request a batch of the first service: nothing else differs between its batches.
    const tenants = serving.map((tenant, i) => (i === 0 ? { ...tenant, batchSize: 1 } : tenant))
    const batchMs = async (options: Parameters<typeof board>[0]) => {
      const { clock, pool } = await board({ tenants, ...options })
      const before = pool.counters()[0]!
      await clock.sleep(5000)
      const after = pool.counters()[0]!
      return (after.latencySumMs - before.latencySumMs) / (after.batches - before.batches)
    }
    const alone = await batchMs({ rates: [50, 0.001] })
    expect(await batchMs({ rates: [50, 0.001], smClockMhz: 210 })).toBeGreaterThan(1.02 * alone)
    const beside = await batchMs({ rates: [50, 200] })
    expect(beside).toBeGreaterThan(alone)
    expect(await batchMs({ rates: [50, 20_000] })).toBeGreaterThan(beside)
  })

  it('is the same for the same seed, however often it is looked at', async () => {
    const run = async (seed: number, looks: number) => {
      const { clock, gpu, services } = await board({ seed })
      for (let i = 0; i < looks; i++) {
        await clock.sleep(6000 / looks)
        services.counters()
      }
      return { energyJ: gpu.truth().energyJ, counters: services.counters().map((each) => ({ ...each, timeMs: 0 })) }
    }
    expect(await run(1, 1)).toEqual(await run(1, 40))
    expect((await run(1, 1)).counters).not.toEqual((await run(2, 1)).counters)
  })

  it('gives what a dead tenant had begun with to another one, and accounts for every request', async () => {
    const tenants: Tenant[] = [
      { model: 'resnet50', mpsPercent: 30, batchSize: 16, service: 'search' },
      { model: 'resnet50', mpsPercent: 30, batchSize: 16, service: 'search' },
      { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 16, service: 'photos' },
    ]
    const { clock, gpu, services, pool } = await board({ rates: [300, 200], tenants })
    for (const kind of ['client-killed', 'client-hung', 'mps-server-fault'] as const) {
      gpu.strike({ kind, atMs: 1000, tenant: 0 })
      for (let i = 0; i < 300; i++) {
        await clock.sleep(5)
        for (const counters of services.counters()) expect(unaccountedRequests(counters)).toBe(0)
      }
      await pool.apply(tenants)
    }
    expect(gpu.struckFaults().map(({ kind }) => kind)).toEqual(['client-killed', 'client-hung', 'mps-server-fault'])
    await clock.sleep(5000)
    const [first] = services.counters()
    expect(first!.failed).toBe(0)
    expect(first!.completed).toBeGreaterThan(2000)
  })

  it('runs batches of a new size after the last one of the old size', async () => {
    const { clock, pool } = await board({ rates: [20_000, 100] })
    const { id } = pool.counters()[0]!
    for (const batchSize of [4, 16]) {
      await pool.apply([{ ...serving[0]!, batchSize }, serving[1]!])
      await clock.sleep(1000)
      expect(pool.counters()[0]).toMatchObject({ id, lastBatchSize: batchSize })
    }
  })

  it('ends what it has begun with before tenants change, and answers on', async () => {
    const { clock, services, pool } = await board({ rates: [300, 100] })
    for (const [share, batchSize] of [
      [50, 16],
      [50, 4],
      [60, 8],
    ] as const) {
      await pool.apply([{ ...serving[0]!, mpsPercent: share, batchSize }, serving[1]!])
      await clock.sleep(3000)
      const [counters] = services.counters()
      expect(counters).toMatchObject({ failed: 0, shed: 0 })
      expect(unaccountedRequests(counters!)).toBe(0)
    }
    expect(pool.counters()[0]!.tenant).toMatchObject({ batchSize: 8, service: 'search' })
    // The same process for another service, without a restart.
    const id = pool.counters()[1]!.id
    services.add(served({ ...photos, name: 'faces' }, 50, 9))
    await pool.apply([
      { ...serving[0]!, batchSize: 8 },
      { ...serving[1]!, service: 'faces' },
    ])
    await clock.sleep(1000)
    expect(pool.counters()[1]!.id).toBe(id)
    expect(services.counters().map(({ service, completed }) => [service, completed > 0])).toContainEqual([
      'faces',
      true,
    ])
    const last = services.remove('photos')
    expect(unaccountedRequests(last)).toBe(0)
    expect(services.counters().map(({ service }) => service)).toEqual(['search', 'faces'])
  })

  it('lets tenants without a service run as before, beside those that wait', async () => {
    const { service: _, ...saturated } = serving[1]!
    const { clock, gpu, pool } = await board({ rates: [0.001, 0.001], tenants: [serving[0]!, saturated] })
    await clock.sleep(10_000)
    expect(pool.counters()[1]!.samples).toBeGreaterThan(1000)
    expect(pool.counters()[0]!.samples).toBe(0)
    expect(gpu.truth().throughput).toBeGreaterThan(100)
  })

  it('changes an objective while it runs, and sheds what it is told to', async () => {
    const { clock, services } = await board()
    await clock.sleep(5000)
    const before = services.counters()[0]!
    services.change({ ...search, objective: { p99Ms: 0.001 } })
    services.admit('photos', 0)
    const photosBefore = services.counters()[1]!
    await clock.sleep(5000)
    const [after, photosAfter] = services.counters()
    expect(after!.late - before.late).toBeGreaterThan(0.99 * (after!.completed - before.completed))
    expect(photosAfter!.shed - photosBefore.shed).toBe(photosAfter!.arrived - photosBefore.arrived)
    expect(() => services.change({ ...search, model: 'vgg19' })).toThrow('another network is another service')
  })
})

describe('refuses', () => {
  it('arrivals that throw, naming their service', async () => {
    const failing = (after: number) => {
      let calls = 0
      const nextMs = () => {
        if (++calls > after) throw new Error('no more rows')
        return calls
      }
      return { service: search, arrivals: { nextMs } }
    }
    const failed = {
      code: 'ARRIVALS_FAILED',
      message: 'service search: its arrivals threw: no more rows',
      cause: new Error('no more rows'),
    }
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock })
    expect(() => gpu.serve([failing(0)])).toThrow(expect.objectContaining(failed))
    const services = gpu.serve([failing(2)])
    await clock.sleep(5)
    expect(() => services.counters()).toThrow(expect.objectContaining(failed))
  })

  it('tenants of services that it does not serve, or of another network', async () => {
    const { pool, services, gpu } = await board()
    await expect(pool.apply([{ ...serving[0]!, service: 'maps' }])).rejects.toThrow('search, photos')
    await expect(pool.apply([{ ...serving[0]!, model: 'vgg19' }])).rejects.toThrow("'resnet50', the network of search")
    const plain = new SimulatedGpu('A100', { clock: new VirtualClock() })
    await expect(new SimulatedTenants(plain).apply(serving)).rejects.toThrow('tenants[0].service')
    expect(() => services.remove('search')).toThrow(expect.objectContaining({ code: 'IN_USE' }))
    expect(() => services.remove('maps')).toThrow('search, photos')
    expect(() => services.add(served(search, 1))).toThrow('not served yet')
    expect(() => services.admit('search', 1.1)).toThrow('share')
    expect(() => gpu.serve([served(search, 1)])).toThrow(expect.objectContaining({ code: 'IN_USE' }))
  })

  it.each([
    ['services[0].weight', { ...served(search, 1), service: { ...search, weight: 0 } }],
    ['services[0].arrivals', { service: search, arrivals: undefined as never }],
    ['services[0].maxQueued', { ...served(search, 1), maxQueued: 0 }],
    ['services[0].shedAfterMs', { ...served(search, 1), shedAfterMs: -1 }],
  ])('a wrong %s by name', (field, wrong) => {
    const gpu = new SimulatedGpu('A100', { clock: new VirtualClock() })
    expect(() => gpu.serve([wrong])).toThrow(expect.objectContaining({ field }))
  })

  it('to serve on a divided board, and a spread that is none', () => {
    const gpu = new SimulatedGpu('A100', { clock: new VirtualClock() })
    expect(() => gpu.serve([served(search, 1)], { batchSpread: -1 })).toThrow('batchSpread')
    gpu.createMigInstance('3g.20gb')
    expect(() => gpu.serve([served(search, 1)])).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED' }))
  })
})
