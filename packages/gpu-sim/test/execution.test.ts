import { findGpuSpec, type Tenant, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { SimulatedGpu, SimulatedTenants, simulatedBoards, simulateSteadyState, tenantFootprint } from '../src/index.js'

const tenants = (model: string, count: number, batchSize: number): Tenant[] =>
  Array.from({ length: count }, () => ({ model, mpsPercent: 100 / count, batchSize }))

describe.each(simulatedBoards)('execution on %s', (board) => {
  const spec = findGpuSpec(board)
  const clocks = { smClockMhz: spec.boostClockMhz, memClockMhz: spec.performanceMemClocksMhz[0]! }
  const simulate = (options: Parameters<typeof simulateSteadyState>[1], model = 'resnet50', batchSize = 32) =>
    simulateSteadyState(board, { powerLimitW: 1e9, ...options })({ tenants: tenants(model, 4, batchSize), ...clocks })

  it('is slower in fp32 than in fp16', () => {
    expect(simulate({ precision: 'fp32' }).throughput).toBeLessThan(0.9 * simulate({}).throughput)
  })

  it('draws measurably less, at the same throughput, with all-zero inputs', () => {
    const real = simulate({}, 'vgg19')
    const zeros = simulate({ inputs: 'zeros' }, 'vgg19')
    expect(zeros.throughput).toBe(real.throughput)
    expect(zeros.powerW).toBeLessThan(0.92 * real.powerW)
    expect(zeros.powerW).toBeGreaterThan(0.6 * real.powerW)
  })

  it('launches less with graphs, which matters most at small batches', () => {
    const gain = (batchSize: number) =>
      simulate({ launch: 'graph' }, 'resnet50', batchSize).throughput /
      simulate({ launch: 'eager' }, 'resnet50', batchSize).throughput
    expect(gain(1)).toBeGreaterThan(1 + 1e-6)
    expect(gain(1)).toBeGreaterThan(gain(64))
    expect(gain(64)).toBeGreaterThanOrEqual(1 - 1e-12)
  })

  it('gains from MPS wherever one tenant leaves the board partly idle', () => {
    const shared = simulate({ mps: 'running' }, 'resnet50', 8)
    const turns = simulate({ mps: 'off' }, 'resnet50', 8)
    expect(shared.throughput).toBeGreaterThan(turns.throughput)
  })
})

describe('an execution', () => {
  it('makes a process in fp32 twice as large, but for its context', () => {
    const gpu = new SimulatedGpu('A100', { clock: new VirtualClock() })
    const [tenant] = tenants('vgg19', 1, 32)
    const context = gpu.physics.process.contextBytes
    const small = tenantFootprint(gpu, tenant!).memoryBytes - context
    expect(tenantFootprint(gpu, tenant!, { precision: 'fp32' }).memoryBytes - context).toBeCloseTo(2 * small, 0)
  })

  it('is what the simulated board and its memory follow', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock, precision: 'fp32', inputs: 'zeros', launch: 'graph' })
    const two = tenants('resnet50', 2, 16)
    await new SimulatedTenants(gpu).apply(two)
    await clock.sleep(2000)
    const expected = simulateSteadyState('A100', { precision: 'fp32', inputs: 'zeros', launch: 'graph' })({
      tenants: two,
      smClockMhz: 1410,
      memClockMhz: 1215,
    })
    expect(gpu.truth().throughput).toBeCloseTo(expected.throughput, 6)
    const { memoryBytes } = tenantFootprint(gpu, two[0]!, { precision: 'fp32' })
    expect(gpu.memoryUsedBytes()).toBeCloseTo(gpu.physics.process.reservedBytes + 2 * memoryBytes, 0)
  })

  it('has to be one that exists', () => {
    // @ts-expect-error a typo, as it might come from a file
    expect(() => simulateSteadyState('A100', { precision: 'fp61' })).toThrow(
      /precision: got 'fp61', expected 'fp32' or/,
    )
  })
})

describe('without MPS', () => {
  const at = { smClockMhz: 1410, memClockMhz: 1215 }
  const turns = simulateSteadyState('A100', { mps: 'off', powerLimitW: 1e9 })
  const shared = simulateSteadyState('A100', { powerLimitW: 1e9 })

  it('a tenant alone has the whole board, whatever its share', () => {
    const alone = (mpsPercent: number) => ({ tenants: [{ model: 'vgg19', mpsPercent, batchSize: 64 }], ...at })
    expect(turns(alone(10)).throughput).toBe(turns(alone(100)).throughput)
    expect(turns(alone(10)).throughput).toBeCloseTo(shared(alone(100)).throughput, 6)
  })

  it('kernels take turns: the device is never used more than all of the time', () => {
    for (const count of [1, 2, 4, 8, 16]) {
      const state = turns({ tenants: tenants('vgg19', count, 64), ...at })
      expect(state.busySms).toBeLessThanOrEqual(108)
      expect(state.smUtilPercent).toBeLessThanOrEqual(100)
    }
    const two = turns({ tenants: tenants('vgg19', 2, 64), ...at })
    const eight = turns({ tenants: tenants('vgg19', 8, 64), ...at })
    expect(eight.smUtilPercent).toBeGreaterThan(two.smUtilPercent)
    expect(eight.tenants[0]!.batchMs).toBeGreaterThan(3 * two.tenants[0]!.batchMs)
  })
})
