import { type Tenant, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { faultKinds } from '../src/fault-scenario.js'
import { assertFaultScenario, type Fault, type FaultScenario, SimulatedGpu, SimulatedTenants } from '../src/index.js'

const three: Tenant[] = [0, 1, 2].map(() => ({ model: 'resnet50', mpsPercent: 30, batchSize: 16 }))
/** Tenants have loaded by then. */
const LOADED_MS = 10_000

async function running(faults: readonly Fault[], more: Partial<FaultScenario> = {}, tenants = three) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('A100', { clock, faults: { faults, ...more } })
  const pool = new SimulatedTenants(gpu)
  const lease = await gpu.acquire()
  await pool.apply(tenants)
  await clock.sleep(LOADED_MS - clock.now())
  const states = () => pool.counters().map((counter) => counter.failure ?? counter.state)
  return { clock, gpu, pool, lease, states }
}
const atMs = LOADED_MS + 1000

describe('a lost GPU', () => {
  it('fails every call and every process, and can still be let go', async () => {
    const { clock, gpu, lease, states, pool } = await running([{ kind: 'gpu-lost', atMs }])
    await gpu.sample()
    await clock.sleep(1001)
    for (const call of [gpu.sample(), gpu.info(), lease.lockSmClock(900), lease.setPowerLimit(200)]) {
      await expect(call).rejects.toMatchObject({ code: 'GPU_LOST' })
    }
    expect(states()).toEqual(['the GPU is lost', 'the GPU is lost', 'the GPU is lost'])
    await lease.release()
    await expect(gpu.acquire()).rejects.toMatchObject({ code: 'GPU_LOST' })
    await pool.apply(three)
    expect(states()[0]).toBe('the GPU is lost')
  })
})

describe('a fault that strikes when it is told to', () => {
  it('comes at once or from then on, beside those of the scenario, and ends after its time', async () => {
    const { clock, gpu, lease } = await running([{ kind: 'setter-refused', atMs, durationMs: 1000 }])
    gpu.strike({ kind: 'telemetry-failing', atMs: 0, durationMs: 500 })
    gpu.strike({ kind: 'gpu-lost', atMs: 4000 })
    expect((await gpu.sample()).powerAverageW).toBeNull()
    await clock.sleep(501)
    expect((await gpu.sample()).powerAverageW).toBeGreaterThan(50)
    await clock.sleep(500)
    await expect(lease.lockSmClock(900)).rejects.toMatchObject({ code: 'NO_PERMISSION' })
    await clock.sleep(1000)
    await lease.lockSmClock(900)
    await clock.sleep(2000)
    await expect(gpu.sample()).rejects.toMatchObject({ code: 'GPU_LOST' })
    expect(gpu.struckFaults().map(({ kind, timeMs }) => [kind, timeMs])).toEqual([
      ['telemetry-failing', LOADED_MS],
      ['setter-refused', atMs],
      ['gpu-lost', LOADED_MS + 4000],
    ])
  })

  it('must be one', async () => {
    const { gpu } = await running([])
    expect(() => gpu.strike({ kind: 'client-hung', atMs: -1 })).toThrow(/atMs: got -1/)
    expect(gpu.struckFaults()).toEqual([])
  })
})

describe('a setter', () => {
  it('is refused for lack of permission while the fault lasts', async () => {
    const { clock, gpu, lease } = await running([{ kind: 'setter-refused', atMs, durationMs: 1000 }])
    await clock.sleep(1001)
    await expect(lease.lockSmClock(900)).rejects.toMatchObject({ code: 'NO_PERMISSION' })
    await expect(lease.setPowerLimit(200)).rejects.toMatchObject({ code: 'NO_PERMISSION' })
    await clock.sleep(1000)
    await lease.lockSmClock(900)
    await clock.sleep(100)
    expect((await gpu.sample()).smClockMhz).toBe(900)
  })

  it('is refused as not supported, only where named', async () => {
    const { clock, gpu, lease } = await running([
      { kind: 'setter-refused', atMs, setter: 'sm-clock', reason: 'not-supported' },
    ])
    await clock.sleep(1001)
    await expect(lease.lockSmClock(900)).rejects.toMatchObject({ code: 'NOT_SUPPORTED' })
    await lease.setPowerLimit(200)
    expect((await gpu.info()).powerLimitW).toBe(200)
  })

  it('is accepted and changes nothing', async () => {
    const { clock, gpu, lease } = await running([{ kind: 'setter-ignored', atMs }])
    await clock.sleep(1001)
    await lease.lockSmClock(600)
    await lease.setPowerLimit(200)
    await clock.sleep(1000)
    expect((await gpu.sample()).smClockMhz).toBe(1410)
    expect((await gpu.info()).powerLimitW).toBe(250)
  })
})

describe('telemetry', () => {
  it('fails: every value is null, and it comes back', async () => {
    const { clock, gpu } = await running([{ kind: 'telemetry-failing', atMs, durationMs: 1000 }])
    await clock.sleep(1001)
    const { timeMs, clocksEventReasons, ...values } = await gpu.sample()
    expect(timeMs).toBe(clock.now())
    expect(clocksEventReasons).toEqual([])
    expect(Object.values(values).every((value) => value === null)).toBe(true)
    await clock.sleep(1000)
    expect((await gpu.sample()).powerAverageW).toBeGreaterThan(0)
  })

  it('freezes: values repeat while the truth goes on', async () => {
    const { clock, gpu, lease } = await running([{ kind: 'telemetry-frozen', atMs, durationMs: 5000 }])
    await clock.sleep(1001)
    const frozen = await gpu.sample()
    await lease.lockSmClock(600)
    await clock.sleep(2000)
    expect(await gpu.sample()).toEqual({ ...frozen, timeMs: clock.now() })
    expect(gpu.truth().smClockMhz).toBe(600)
    await clock.sleep(3000)
    expect((await gpu.sample()).smClockMhz).toBe(600)
  })
})

describe('the power sensor', () => {
  it('is biased while the fault lasts', async () => {
    const reading = async (faults: readonly Fault[]) => {
      const { clock, gpu } = await running(faults)
      await clock.sleep(2000)
      return (await gpu.sample()).powerInstantW!
    }
    const honest = await reading([])
    const biased = await reading([{ kind: 'sensor-bias', atMs, gainPercent: -10, offsetW: 5 }])
    expect(biased).toBeCloseTo(0.9 * honest + 5, 1)
    expect(await reading([{ kind: 'sensor-bias', atMs, durationMs: 500, gainPercent: -10 }])).toBe(honest)
  })
})

describe('MPS', () => {
  it('without its daemon has no clients, and new processes take turns until it is started', async () => {
    const { clock, gpu, pool, states } = await running([{ kind: 'mps-daemon-crash', atMs }])
    const shared = gpu.truth().throughput
    await clock.sleep(1001)
    expect(states()).toEqual(Array(3).fill('the MPS daemon crashed'))
    expect(gpu.mps).toBe('off')
    await pool.apply(three)
    await clock.sleep(1000)
    expect(gpu.truth().throughput).toBeGreaterThan(0)
    expect(gpu.truth().throughput).toBeLessThan(shared)
    expect(() => gpu.startMps()).toThrow(expect.objectContaining({ code: 'IN_USE' }))
    await pool.stop()
    gpu.startMps()
    await pool.apply(three)
    await clock.sleep(1000)
    expect(gpu.truth().throughput).toBeCloseTo(shared, 6)
    expect(() => gpu.stopMps()).toThrow(expect.objectContaining({ code: 'IN_USE' }))
    await pool.stop()
    gpu.stopMps()
    expect(gpu.mps).toBe('off')
  })

  it('lets the fatal fault of one client take down all clients of the server', async () => {
    const { clock, gpu, pool, states } = await running([{ kind: 'mps-server-fault', atMs, tenant: 1 }])
    const ids = pool.counters().map((counter) => counter.id)
    await clock.sleep(1001)
    expect(states()).toEqual(Array(3).fill(`MPS server fault: process ${ids[1]} took its server down`))
    await pool.apply(three)
    await clock.sleep(1000)
    expect(states()).toEqual(['running', 'running', 'running'])
    expect(gpu.mps).toBe('running')
  })

  it('is what spreads a fault: without it only the process itself dies', async () => {
    const clock = new VirtualClock()
    const faults = { faults: [{ kind: 'mps-server-fault', atMs, tenant: 1 }] as const }
    const gpu = new SimulatedGpu('A100', { clock, mps: 'off', faults })
    const pool = new SimulatedTenants(gpu)
    await pool.apply(three)
    await clock.sleep(LOADED_MS + 1001)
    expect(pool.counters().map((counter) => counter.state)).toEqual(['running', 'failed', 'running'])
  })

  it('of one MIG instance is no concern of another', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock, faults: { faults: [{ kind: 'mps-server-fault', atMs, tenant: 0 }] } })
    const pools = ['3g.20gb', '3g.20gb'].map(
      (profile) => new SimulatedTenants(gpu, { instance: gpu.createMigInstance(profile) }),
    )
    for (const pool of pools) await pool.apply(three)
    await clock.sleep(LOADED_MS + 1001)
    expect(pools.map((pool) => pool.counters().map((counter) => counter.state))).toEqual([
      ['failed', 'failed', 'failed'],
      ['running', 'running', 'running'],
    ])
  })
})

describe('a client', () => {
  it.each([
    ['client-out-of-memory', /out of memory/],
    ['client-killed', /killed by signal 9/],
  ] as const)('fails by itself: %s', async (kind, message) => {
    const { clock, gpu, states } = await running([{ kind, atMs, tenant: 2 }])
    const before = gpu.memoryUsedBytes()
    await clock.sleep(1001)
    expect(states().slice(0, 2)).toEqual(['running', 'running'])
    expect(states()[2]).toMatch(message)
    expect(gpu.memoryUsedBytes()).toBeLessThan(before)
  })

  it('hangs, holding its memory, and goes on', async () => {
    const { clock, gpu, pool } = await running([{ kind: 'client-hung', atMs, durationMs: 5000, tenant: 0 }])
    const memory = gpu.memoryUsedBytes()
    await clock.sleep(2000)
    const before = pool.counters()
    await clock.sleep(2000)
    const after = pool.counters()
    expect(after[0]).toEqual(before[0])
    expect(after[0]!.state).toBe('running')
    expect(after[1]!.samples).toBeGreaterThan(before[1]!.samples)
    expect(gpu.memoryUsedBytes()).toBe(memory)
    await clock.sleep(4000)
    expect(pool.counters()[0]!.samples).toBeGreaterThan(before[0]!.samples)
  })

  it('is drawn by the seed where none is named', async () => {
    const struck = async (seed: number) => {
      const { clock, gpu, pool } = await running([{ kind: 'client-killed', atMs }], { seed })
      await clock.sleep(1001)
      const [fault] = gpu.struckFaults()
      const failed = pool.counters().filter((counter) => counter.state === 'failed')
      expect(failed.map((counter) => counter.id)).toEqual([fault!.processId])
      return fault!.processId
    }
    expect(await struck(4)).toBe(await struck(4))
    const drawn = new Set(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(struck)))
    expect(drawn.size).toBeGreaterThan(1)
  })

  it('that is not there is not struck, and the record says so', async () => {
    const { clock, gpu, pool } = await running([{ kind: 'client-killed', atMs }])
    await pool.stop()
    await clock.sleep(2000)
    expect(gpu.struckFaults()).toEqual([{ kind: 'client-killed', timeMs: atMs, processId: null }])
  })
})

describe('loading', () => {
  it('takes as many times longer as the fault says', async () => {
    const loadMs = async (faults: readonly Fault[]) => {
      const clock = new VirtualClock()
      const pool = new SimulatedTenants(new SimulatedGpu('A100', { clock, faults: { faults } }))
      await pool.apply(three)
      return clock.now()
    }
    const usual = await loadMs([])
    const slow = await loadMs([{ kind: 'slow-load', atMs: 0, durationMs: 100, factor: 5 }])
    expect(slow / usual).toBeCloseTo(5, 1)
    await expect(loadMs([{ kind: 'slow-load', atMs: 50_000, factor: 5 }])).resolves.toBe(usual)
  })
})

describe('thermal slowdown', () => {
  it('takes the clock down, says why, and lets go again', async () => {
    const { clock, gpu } = await running([{ kind: 'thermal-slowdown', atMs, durationMs: 3000 }])
    expect((await gpu.sample()).smClockMhz).toBe(1410)
    await clock.sleep(3000)
    const hot = await gpu.sample()
    expect(hot.smClockMhz).toBeLessThan(1000)
    expect(hot.clocksEventReasons).toContain('sw-thermal-slowdown')
    await clock.sleep(6000)
    const cool = await gpu.sample()
    expect(cool.smClockMhz).toBe(1410)
    expect(cool.clocksEventReasons).not.toContain('sw-thermal-slowdown')
  })
})

describe('a scenario', () => {
  it('comes as late as its seeded jitter says, the same each time', async () => {
    const times = async (seed: number) => {
      const { clock, gpu } = await running([{ kind: 'client-killed', atMs }], { seed, jitterMs: 500 })
      await clock.sleep(2000)
      return gpu.struckFaults()[0]!.timeMs
    }
    expect(await times(1)).toBe(await times(1))
    expect(await times(1)).not.toBe(await times(2))
    expect(await times(1)).toBeGreaterThanOrEqual(atMs)
    expect(await times(1)).toBeLessThan(atMs + 500)
  })

  it('changes nothing before it strikes', async () => {
    const trace = async (faults: readonly Fault[]) => {
      const { clock, gpu } = await running(faults)
      const readings = []
      for (let i = 0; i < 8; i++) {
        await clock.sleep(100)
        readings.push(await gpu.sample())
      }
      return readings
    }
    expect(await trace(faultKinds.map((kind) => ({ kind, atMs, factor: 2 }) as Fault).filter(plain))).toEqual(
      await trace([]),
    )
  })

  it.each([
    [null, /faults: got null/],
    [{ faults: 'all' }, /faults\.faults: got 'all'/],
    [{ faults: [], seed: 1.5 }, /faults\.seed/],
    [{ faults: [], jitterMs: -1 }, /faults\.jitterMs/],
    [{ faults: [{ kind: 'flood', atMs: 0 }] }, /faults\[0\]\.kind: got 'flood', expected one of gpu-lost/],
    [{ faults: [{ kind: 'toString', atMs: 0 }] }, /faults\[0\]\.kind/],
    [{ faults: [{ kind: 'gpu-lost' }] }, /faults\[0\]\.atMs/],
    [{ faults: [{ kind: 'gpu-lost', atMs: Number.NaN }] }, /faults\[0\]\.atMs/],
    [{ faults: [{ kind: 'gpu-lost', atMs: 0, durationMs: 5 }] }, /faults\[0\]\.durationMs.*no such field/],
    [{ faults: [{ kind: 'client-hung', atMs: 0, durationMs: 0 }] }, /faults\[0\]\.durationMs/],
    [{ faults: [{ kind: 'client-hung', atMs: 0, tenant: -1 }] }, /faults\[0\]\.tenant/],
    [{ faults: [{ kind: 'slow-load', atMs: 0 }] }, /faults\[0\]\.factor: got undefined/],
    [{ faults: [{ kind: 'slow-load', atMs: 0, factor: 0.5 }] }, /faults\[0\]\.factor/],
    [{ faults: [{ kind: 'setter-refused', atMs: 0, setter: 'fan' }] }, /faults\[0\]\.setter: got 'fan'/],
    [{ faults: [{ kind: 'setter-refused', atMs: 0, reason: 'mood' }] }, /faults\[0\]\.reason/],
    [{ faults: [{ kind: 'sensor-bias', atMs: 0, gainPercent: -200 }] }, /faults\[0\]\.gainPercent/],
    [{ faults: [{ kind: 'sensor-bias', atMs: 0, offsetW: '5' }] }, /faults\[0\]\.offsetW/],
  ])('%j is refused', (scenario, message) => {
    expect(() => assertFaultScenario(scenario)).toThrow(message)
  })
})

/** Only `slow-load` has a factor. */
function plain(fault: Fault): boolean {
  if (fault.kind !== 'slow-load') delete (fault as { factor?: number }).factor
  return true
}
