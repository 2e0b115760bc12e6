import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MorakPolicy, morakFigures } from '../src/index.js'
import { a100, applied, rtx3080Ti, runToy, sampleOf, untouched, windowOf } from './toy-plant.js'

// ResNet-50 has the figures of the golden vectors: alpha 0.98, belta 0.9, objective 100 ms.
const published = () => new MorakPolicy({ spec: a100, model: 'resnet50', variant: 'published' })

describe('golden vectors', () => {
  it('lowers the clock under 110 W', () => {
    const rows = runToy(published(), 8, { 0: 110 })
    expect(rows.map((row) => row.clockMhz)).toEqual([810, 660, 585, 570, 570, 570, 570, 570])
    expect(rows[7]!.batch).toBe(96)
    expect(rows[7]!.powerW).toBeCloseTo(109.8, 1)
  })

  it('grows the batch under 150 W', () => {
    const rows = runToy(published(), 8, { 0: 150 })
    expect(rows.map((row) => row.batch)).toEqual([96, 112, 128, 144, 144, 144, 144, 144])
    expect(rows[7]!.clockMhz).toBe(810)
    expect(rows[7]!.powerW).toBeCloseTo(148.3, 1)
  })

  it('grows the batch, then the clock, under 190 W', () => {
    const rows = runToy(published(), 20, { 0: 190 })
    expect(rows.slice(0, 11).map((row) => row.batch)).toEqual([96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256])
    expect(rows.slice(10, 17).map((row) => row.clockMhz)).toEqual([810, 960, 990, 1020, 1035, 1035, 1035])
    expect(rows[19]!.powerW).toBeCloseTo(186.4, 1)
  })
})

describe('MorakPolicy', () => {
  it('gets the whole GPU and the highest memory clock by default, and its own configuration when asked', () => {
    const fair = new MorakPolicy({ spec: rtx3080Ti, model: 'densenet201' }).start(150)
    expect(fair.tenants!.map((tenant) => tenant.mpsPercent)).toEqual([50, 50])
    expect(fair).toMatchObject({ memClockMhz: 9501, smClockMhz: 1155 })
    const own = new MorakPolicy({ spec: rtx3080Ti, model: 'densenet201', variant: 'published' }).start(150)
    expect(own.tenants!.map((tenant) => tenant.mpsPercent)).toEqual([60, 40])
    expect(own.memClockMhz).toBe('unlocked')
    expect(morakFigures('mnasnet', 'fair').alpha).toBe(0.98)
    expect(morakFigures('mnasnet', 'published').alpha).toBe(1)
    expect(() => new MorakPolicy({ spec: a100, model: 'alexnet' })).toThrow("unknown network 'alexnet'")
  })

  it('holds where power or latency is missing, and while tenants restart', () => {
    const policy = published()
    const state = applied(untouched, policy.start(150))
    expect(policy.onWindow(windowOf(state, 1, 150, null))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 2, 150, 0))).toBeUndefined()
    const silent = state.tenants.map((tenant) => ({ tenant, throughput: 0, latencyMs: null, failure: null }))
    expect(policy.onWindow(windowOf(state, 3, 150, 100, { tenants: silent }))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 4, 150, 100, { reconfigured: true }))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 5, 150, 100))).toMatchObject({ smClockMhz: 810 })
  })

  it('shrinks the batch where the latency is too long and power too high', () => {
    const policy = published()
    const state = applied(untouched, policy.start(150))
    const tenants = state.tenants.map((tenant) => ({ tenant, throughput: 500, latencyMs: 95, failure: null }))
    // 24 % above the cap: the batch falls by ten rungs, to the lowest one.
    const action = policy.onWindow(windowOf(state, 1, 150, 186, { tenants }))!
    expect(action.tenants!.map((tenant) => tenant.batchSize)).toEqual([1, 1])
    // The guard also lowers the clock, because it did not move while the power was above the cap.
    expect(action.smClockMhz).toBe(795)
  })

  it('judges the next window by the new cap', () => {
    const rows = runToy(published(), 30, { 0: 190, 20: 120 })
    expect(rows[20]!.clockMhz).toBe(1035)
    expect(rows[21]!.clockMhz).toBe(1035 - 150)
    expect(rows[29]!.powerW).toBeLessThanOrEqual(120)
  })

  it('halves the batch of the tenant that ran out of memory, and only of that', () => {
    const policy = published()
    const state = applied(untouched, policy.start(150))
    const tenants = state.tenants.map((tenant, i) => ({
      tenant,
      throughput: 0,
      latencyMs: null,
      failure: i === 1 ? 'out of memory: needs 3.1 GiB, 1.2 GiB free' : null,
    }))
    const action = policy.onWindow(windowOf(state, 1, 150, 100, { tenants }))!
    expect(action.tenants!.map((tenant) => tenant.batchSize)).toEqual([96, 48])
    // The same failure causes no further action, and the other tenant continues up the ladder.
    expect(policy.onWindow(windowOf(state, 2, 150, 100, { tenants }))).toBeUndefined()
    const after = applied(state, action)
    expect(policy.onWindow(windowOf(after, 3, 150, 100))!.tenants!.map((tenant) => tenant.batchSize)).toEqual([112, 48])
  })

  it('leaves out the first two seconds of each window, which hold the clock before', () => {
    const policy = published()
    const state = applied(untouched, policy.start(150))
    for (let timeMs = 100; timeMs <= 5000; timeMs += 100) {
      policy.onSample(sampleOf(timeMs, timeMs < 2000 ? 230 : 149, state, 150))
    }
    // 149 W lies in the hold band; 230 W would have lowered the clock by ten states.
    expect(policy.onWindow(windowOf(state, 1, 150, 230))!.smClockMhz).toBe(810)
    for (let timeMs = 5100; timeMs <= 10_000; timeMs += 100) policy.onSample(sampleOf(timeMs, null, state, 150))
    expect(policy.onWindow(windowOf(state, 2, 150, null))).toBeUndefined()
  })

  it('asks only for supported clocks and known batches, whatever it sees', () => {
    const clocks = a100.clockStates[0]!.smClocksMhz
    const power = fc.option(fc.double({ min: 0, max: 500, noNaN: true }), { nil: null, freq: 8 })
    const story = fc.array(
      fc.tuple(power, fc.integer({ min: 60, max: 300 }), fc.double({ min: 1, max: 600, noNaN: true })),
    )
    fc.assert(
      fc.property(story, fc.constantFrom('fair' as const, 'published' as const), (windows, variant) => {
        const policy = new MorakPolicy({ spec: a100, model: 'vgg19', variant })
        let state = applied(untouched, policy.start(150))
        windows.forEach(([powerW, capW, latencyMs], i) => {
          const tenants = state.tenants.map((tenant) => ({ tenant, throughput: 500, latencyMs, failure: null }))
          state = applied(state, policy.onWindow(windowOf(state, i + 1, capW, powerW, { tenants })))
          expect(clocks).toContain(state.smClockMhz)
          for (const { batchSize } of state.tenants)
            expect(morakFigures('vgg19', variant).batchLadder).toContain(batchSize)
        })
      }),
      { numRuns: 60 },
    )
  })
})
