import { InvalidInputError, PctodlError, type Tenant, UnknownNameError, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { SimulatedGpu, SimulatedTenants, simulateSteadyState } from '../src/index.js'

const twoTenants: Tenant[] = [
  { model: 'resnet50', mpsPercent: 50, batchSize: 32 },
  { model: 'resnet50', mpsPercent: 50, batchSize: 32 },
]

async function running(board: string, tenants: readonly Tenant[], seed = 1) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, seed })
  const pool = new SimulatedTenants(gpu)
  const lease = await gpu.acquire()
  await pool.apply(tenants)
  return { clock, gpu, pool, lease }
}

describe('a simulated board', () => {
  it('settles to what the steady state says', async () => {
    const { clock, gpu, lease } = await running('A100', twoTenants)
    await lease.lockSmClock(1200)
    await clock.sleep(200_000)
    const expected = simulateSteadyState('A100')({ tenants: twoTenants, smClockMhz: 1200, memClockMhz: 1215 })
    const before = gpu.truth()
    await clock.sleep(20_000)
    const after = gpu.truth()
    expect(after.throughput).toBeCloseTo(expected.throughput, 6)
    const meanW = (after.energyJ - before.energyJ) / 20
    expect(meanW / expected.powerW).toBeCloseTo(1, 2)
  })

  it('counts as energy what it draws, and shows what its sensor makes of it', async () => {
    const { clock, gpu } = await running('3080Ti', twoTenants)
    let integral = 0
    const start = gpu.truth().energyJ
    for (let i = 0; i < 4000; i++) {
      await clock.sleep(5)
      integral += gpu.truth().powerW * 0.005
    }
    expect(gpu.truth().energyJ - start).toBeCloseTo(integral, 6)
    expect((await gpu.sample()).energyJ).toBeCloseTo(gpu.truth().meteredEnergyJ, 2)
  })

  it('completes as many samples as its throughput says', async () => {
    const { clock, gpu, pool } = await running('A100', twoTenants)
    await clock.sleep(10_000)
    const before = pool.counters()
    await clock.sleep(60_000)
    const after = pool.counters()
    const spanMs = after[0]!.lastCompletionMs - before[0]!.lastCompletionMs
    const measured = ((after[0]!.samples - before[0]!.samples) / spanMs) * 1000
    expect(measured / (gpu.truth().throughput / 2)).toBeCloseTo(1, 3)
    const latencyMs = (after[0]!.latencySumMs - before[0]!.latencySumMs) / (after[0]!.batches - before[0]!.batches)
    expect(latencyMs).toBeCloseTo(32_000 / measured, 1)
  })

  it('takes a moment to change its clock', async () => {
    const { clock, gpu, lease } = await running('A100', twoTenants)
    await lease.lockSmClock(1410)
    await clock.sleep(1000)
    await lease.lockSmClock(600)
    await clock.sleep(10)
    expect((await gpu.sample()).smClockMhz).toBe(1410)
    await clock.sleep(60)
    expect((await gpu.sample()).smClockMhz).toBe(600)
  })

  it('reads power late on a board that averages over a second', async () => {
    const { clock, gpu, lease } = await running('3080Ti', twoTenants)
    await lease.lockSmClock(1950)
    await clock.sleep(60_000)
    await lease.lockSmClock(600)
    await clock.sleep(300)
    const soon = await gpu.sample()
    expect(soon.powerAverageW! - gpu.truth().powerW).toBeGreaterThan(20)
    expect(Math.abs(soon.powerInstantW! - gpu.truth().powerW)).toBeLessThan(10)
    await clock.sleep(1500)
    expect(Math.abs((await gpu.sample()).powerAverageW! - gpu.truth().powerW)).toBeLessThan(8)
  })

  it('has a sensor error of its own, the same for the same seed', async () => {
    const reading = async (seed: number) => {
      const { clock, gpu } = await running('A100', twoTenants, seed)
      await clock.sleep(5000)
      return (await gpu.sample()).powerAverageW!
    }
    expect(await reading(1)).toBe(await reading(1))
    expect(await reading(1)).not.toBe(await reading(2))
  })

  it('throttles itself to its power limit, by its own sensor, and says why', async () => {
    const { clock, gpu, lease } = await running('3080Ti', twoTenants)
    await clock.sleep(30_000)
    expect(gpu.truth().powerW).toBeGreaterThan(200)
    await lease.setPowerLimit(150)
    await clock.sleep(5000)
    const start = gpu.truth()
    await clock.sleep(20_000)
    const meanW = (gpu.truth().meteredEnergyJ - start.meteredEnergyJ) / 20
    expect(meanW).toBeLessThan(150)
    expect(meanW).toBeGreaterThan(149)
    expect((await gpu.sample()).clocksEventReasons).toContain('sw-power-cap')
  })

  it('idles low, and lower than under any load', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock })
    await clock.sleep(2000)
    const idle = await gpu.sample()
    expect(idle.clocksEventReasons).toContain('gpu-idle')
    expect(idle.smUtilPercent).toBe(0)
    expect(idle.powerAverageW!).toBeLessThan(40)
  })
})

describe('its lease', () => {
  it('is exclusive and puts back what it found', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock })
    const lease = await gpu.acquire()
    await expect(gpu.acquire()).rejects.toMatchObject({ code: 'LEASE_HELD' })
    await lease.lockSmClock(900)
    await lease.lockMemClock(5001)
    await lease.setPowerLimit(200)
    await clock.sleep(100)
    expect(await gpu.sample()).toMatchObject({ smClockMhz: 900, memClockMhz: 5001 })
    await lease.release()
    await lease.release()
    await clock.sleep(100)
    expect(await gpu.sample()).toMatchObject({ smClockMhz: 210, memClockMhz: 405 })
    expect((await gpu.info()).powerLimitW).toBe(350)
    await expect(lease.lockSmClock(900)).rejects.toBeInstanceOf(PctodlError)
  })

  it('refuses what the board does not support, and says what it does', async () => {
    const lease = await new SimulatedGpu('A100', { clock: new VirtualClock() }).acquire()
    await expect(lease.lockSmClock(1000)).rejects.toThrow(/smClockMhz: got 1000.*210 to 1410 MHz in steps of 15/)
    await expect(lease.lockMemClock(5001)).rejects.toThrow(/memClockMhz: got 5001, expected one of 1215/)
    await expect(lease.setPowerLimit(100)).rejects.toThrow(/powerLimitW: got 100, expected a limit of 150 to 250 W/)
    await expect(lease.setPowerLimit(Number.NaN)).rejects.toBeInstanceOf(InvalidInputError)
  })

  it('needs a board that exists', () => {
    expect(() => new SimulatedGpu('GTX 1080', { clock: new VirtualClock() })).toThrow(UnknownNameError)
  })
})

describe('simulated tenants', () => {
  it('keep their process when only the batch size changes, and restart when the share does', async () => {
    const { clock, pool } = await running('A100', twoTenants)
    await clock.sleep(2000)
    const [a, b] = pool.counters()
    await pool.apply([
      { ...twoTenants[0]!, batchSize: 64 },
      { ...twoTenants[1]!, mpsPercent: 25 },
    ])
    await clock.sleep(2000)
    const [c, d] = pool.counters()
    expect(c!.id).toBe(a!.id)
    expect(c!.tenant.batchSize).toBe(64)
    expect(c!.samples).toBeGreaterThan(a!.samples)
    expect(d!.id).not.toBe(b!.id)
  })

  it('take time to load', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock })
    const pool = new SimulatedTenants(gpu)
    await pool.apply(twoTenants)
    expect(clock.now()).toBeGreaterThan(1000)
    expect(pool.counters().every((counter) => counter.state === 'running')).toBe(true)
  })

  it('run out of memory as on a real board: four of maxvit_t at batch 160 do not fit into 12 GB, at batch 128 they do', async () => {
    const four = (batchSize: number): Tenant[] =>
      Array.from({ length: 4 }, () => ({ model: 'maxvit_t', mpsPercent: 25, batchSize }))
    const { clock, pool } = await running('3080Ti', four(128))
    await clock.sleep(1000)
    expect(pool.counters().filter((counter) => counter.state === 'failed')).toEqual([])
    await pool.apply(four(160))
    await clock.sleep(5000)
    const failed = pool.counters().filter((counter) => counter.state === 'failed')
    expect(failed.length).toBeGreaterThan(0)
    expect(failed[0]!.failure).toMatch(/out of memory: maxvit_t at batch 160 needs [\d.]+ GiB, [\d.]+ GiB are free/)
  })

  it('leave the board empty when stopped', async () => {
    const { clock, gpu, pool } = await running('A100', twoTenants)
    await pool.stop()
    await clock.sleep(100)
    expect(gpu.truth().throughput).toBe(0)
    expect(pool.counters()).toEqual([])
  })

  it('refuse tenants that no board could run, and change nothing', async () => {
    const { pool } = await running('A100', twoTenants)
    const before = pool.counters().map((counter) => counter.id)
    await expect(pool.apply([{ model: 'resnet50', mpsPercent: 101, batchSize: 1 }])).rejects.toThrow(
      /mpsPercent: got 101/,
    )
    await expect(pool.apply([{ model: 'alexnet', mpsPercent: 50, batchSize: 1 }])).rejects.toThrow(/unknown network/)
    await expect(pool.apply([...twoTenants, ...twoTenants])).rejects.toThrow(/sum of tenants/)
    await expect(pool.apply([])).rejects.toThrow(/at least one tenant/)
    expect(pool.counters().map((counter) => counter.id)).toEqual(before)
  })

  it('settles at the limit by its own sensor where the firmware is told to read it', async () => {
    const settle = async (firmwareReads: 'truth' | 'sensor', seed: number) => {
      const clock = new VirtualClock()
      const gpu = new SimulatedGpu('3080Ti', { clock, seed, firmwareReads })
      const pool = new SimulatedTenants(gpu)
      await pool.apply([{ model: 'vgg19', mpsPercent: 100, batchSize: 64 }])
      const lease = await gpu.acquire()
      await lease.setPowerLimit(250)
      await clock.sleep(60_000)
      const means = { readW: 0, trueW: 0 }
      for (let i = 0; i < 100; i++) {
        await clock.sleep(100)
        means.readW += (await gpu.sample()).powerAverageW! / 100
        means.trueW += gpu.truth().powerW / 100
      }
      return means
    }
    const spread = (values: number[]) => Math.max(...values) - Math.min(...values)
    const seeds = [1, 2, 3, 4]
    const byTruth = await Promise.all(seeds.map((seed) => settle('truth', seed)))
    const bySensor = await Promise.all(seeds.map((seed) => settle('sensor', seed)))
    expect(spread(byTruth.map((mean) => mean.trueW))).toBeLessThan(spread(byTruth.map((mean) => mean.readW)))
    expect(spread(bySensor.map((mean) => mean.readW))).toBeLessThan(spread(bySensor.map((mean) => mean.trueW)))
  })
})
