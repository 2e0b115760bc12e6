import { exportOnnx, graphFromOnnx } from '@pctodl/model-zoo'
import { type Tenant, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  findOracle,
  precisions,
  SimulatedGpu,
  SimulatedTenants,
  simulateSteadyState,
  tenantFootprint,
} from '../src/index.js'

// The file of a network of the zoo under another name: whatever differs between the two is wrong.
const mine = graphFromOnnx(exportOnnx('mobilenet_v2', { weights: 'external' }).model, { name: 'mine' })
const networks = [mine]
const tenants = (model: string): Tenant[] => [
  { model, mpsPercent: 50, batchSize: 32 },
  { model: 'resnet50', mpsPercent: 50, batchSize: 8 },
]
const at = { smClockMhz: 1200, memClockMhz: 1215 }

describe('a network from a file', () => {
  it.each(precisions)('runs in %s as one of the zoo with the same operators', (precision) => {
    const state = simulateSteadyState('A100', { precision, networks })({ tenants: tenants('mine'), ...at })
    const zoo = simulateSteadyState('A100', { precision })({ tenants: tenants('mobilenet_v2'), ...at })
    expect(state).toEqual(zoo)
  })

  it('is loaded, run and counted on a board', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock, networks, precision: 'int8' })
    const pool = new SimulatedTenants(gpu)
    await pool.apply(tenants('mine'))
    await clock.sleep(5000)
    expect(pool.counters().map(({ tenant, state }) => [tenant.model, state])).toEqual([
      ['mine', 'running'],
      ['resnet50', 'running'],
    ])
    for (const { samples } of pool.counters()) expect(samples).toBeGreaterThan(1000)
    await expect(pool.apply(tenants('yours'))).rejects.toThrow(/'yours'.*mine.*resnet50/)
    await pool.stop()
  })

  it('runs on the instances of a divided board, too', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock, networks })
    const pool = new SimulatedTenants(gpu, { instance: gpu.createMigInstance('3g.20gb') })
    await pool.apply([{ model: 'mine', mpsPercent: 100, batchSize: 8 }])
    await clock.sleep(1000)
    expect(pool.counters()[0]!.samples).toBeGreaterThan(0)
  })

  it('has an oracle', () => {
    const options = { sharePercentStep: 50, batchSizes: [8, 32], starts: 1 }
    const [own, zoo] = [
      findOracle('A100', 'mine', 150, { ...options, networks }),
      findOracle('A100', 'mobilenet_v2', 150, options),
    ]
    expect(own.throughput).toBe(zoo.throughput)
    expect(own.configuration.tenants[0]!.model).toBe('mine')
  })

  it('has a name of its own', () => {
    expect(() => simulateSteadyState('A100', { networks: [mine, { ...mine }] })).toThrow("networks: got 'mine'")
    expect(() => simulateSteadyState('A100', { networks: [{ ...mine, name: 'resnet50' }] })).toThrow('not of the zoo')
  })
})

describe('precisions', () => {
  const throughput = (board: string, precision: (typeof precisions)[number], memClockMhz: number) =>
    simulateSteadyState(board, { precision, host: 'device-only', powerLimitW: 1e9 })({
      tenants: [{ model: 'vgg19', mpsPercent: 100, batchSize: 64 }],
      smClockMhz: 1005,
      memClockMhz,
    }).throughput

  it('each is faster than the wider one where the chip has units for it', () => {
    const [fp32, tf32, fp16, int8] = precisions.map((precision) => throughput('A100', precision, 1215))
    expect(tf32).toBeGreaterThan(2 * fp32!)
    expect(fp16).toBeGreaterThan(1.3 * tf32!)
    expect(int8).toBeGreaterThan(1.3 * fp16!)
  })

  it('a V100 has neither TF32 nor INT8 tensor units', () => {
    const [fp32, tf32, fp16, int8] = precisions.map((precision) => throughput('V100', precision, 877))
    expect(tf32).toBe(fp32)
    expect(int8).toBeGreaterThan(fp32!)
    expect(int8).toBeLessThan(fp16!)
  })

  it('hold weights and activations in 4, 4, 2 and 1 bytes', () => {
    const gpu = new SimulatedGpu('A100', { clock: new VirtualClock() })
    const [tenant] = tenants('mine')
    const bytes = precisions.map((precision) => {
      return tenantFootprint(gpu, tenant!, { precision, networks }).memoryBytes - gpu.physics.process.contextBytes
    })
    expect(bytes.map((each) => Math.round((4 * each) / bytes[0]!))).toEqual([4, 4, 2, 1])
  })
})
