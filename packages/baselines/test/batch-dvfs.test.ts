import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BatchDvfsPolicy, batchDvfsFigures } from '../src/index.js'
import { a100, applied, rtx3080Ti, runToy, toyFigures, untouched, windowOf } from './toy-plant.js'

const toy = (variant: 'fair' | 'published') =>
  new BatchDvfsPolicy({ spec: a100, model: 'toy', figures: toyFigures, variant })

describe('golden vectors', () => {
  it('bisects the batch under 150 W', () => {
    const rows = runToy(toy('published'), 6, { 0: 150 })
    expect(rows.slice(0, 4).map((row) => [row.clockMhz, row.batch])).toEqual([
      [810, 256],
      [795, 96],
      [795, 176],
      [795, 176],
    ])
    expect(rows.slice(0, 3).map((row) => Number(row.powerW.toFixed(1)))).toEqual([151.0, 139.5, 147.6])
    expect(rows[5]).toEqual(rows[2])
  })

  it('never opens its bounds again on the way up, as published', () => {
    const rows = runToy(toy('published'), 150, { 0: 120, 50: 180, 100: 230 })
    expect(rows[49]).toMatchObject({ clockMhz: 795, batch: 48 })
    const clocks = rows.map((row) => row.clockMhz)
    expect(clocks.slice(51, 60)).toEqual([855, 915, 975, 1035, 1095, 1155, 1215, 1275, 1290])
    expect(rows[99]).toMatchObject({ clockMhz: 1320, batch: 48 })
    const tried = rows.findIndex((row) => row.batch === 160)
    expect(rows.slice(101, tried).map((row) => row.clockMhz)).toEqual([1380, 1410, 1410])
    expect(rows[tried]!.powerW).toBeCloseTo(246.2, 1)
    expect(rows[tried + 1]).toMatchObject({ clockMhz: 1395, batch: 96 })
  })

  it('is above the cap for ten windows on the way down, as published', () => {
    const rows = runToy(toy('published'), 150, { 0: 200, 50: 160, 100: 120 })
    expect(rows[49]).toMatchObject({ clockMhz: 1095, batch: 256 })
    expect(rows.slice(51, 57).map((row) => [row.clockMhz, row.batch])).toEqual([
      [1080, 96],
      [1065, 16],
      [1065, 64],
      [1050, 32],
      [1050, 48],
      [1050, 64],
    ])
    expect(rows[51]!.powerW).toBeCloseTo(180.5, 1)
    expect(rows.slice(56, 100).every((row) => row.clockMhz === 1050 && row.batch === 64)).toBe(true)
    const above = rows.slice(100, 111)
    expect(above.slice(0, 4).map((row) => Number(row.powerW.toFixed(1)))).toEqual([160.0, 138.9, 132.2, 130.6])
    expect(above.slice(1, 5).map((row) => row.clockMhz)).toEqual([990, 930, 915, 900])
    expect(above.slice(0, 10).every((row) => row.powerW > 120)).toBe(true)
    expect(above[9]!.powerW).toBeCloseTo(120.8, 1)
    expect(above[10]!.powerW).toBeCloseTo(119.2, 1)
    expect(rows[149]).toMatchObject({ clockMhz: 810, batch: 48 })
  })
})

describe('BatchDvfsPolicy', () => {
  it('opens its bounds on a cap change by default', () => {
    const rows = runToy(toy('fair'), 150, { 0: 120, 50: 180, 100: 120 })
    // The batch moves at once, not only when the clock is at the end of its table.
    expect(rows[51]!.batch).toBeGreaterThan(rows[50]!.batch)
    expect(Math.max(...rows.slice(50, 100).map((row) => row.batch))).toBe(256)
    const above = rows.slice(100, 150).filter((row) => row.powerW > row.capW).length
    const publishedRows = runToy(toy('published'), 150, { 0: 120, 50: 180, 100: 120 })
    expect(above).toBeLessThan(publishedRows.slice(100, 150).filter((row) => row.powerW > row.capW).length)
    expect(rows[149]!.powerW).toBeLessThanOrEqual(120)
  })

  it('starts with the whole GPU', () => {
    const policy = new BatchDvfsPolicy({ spec: rtx3080Ti, model: 'resnet50' })
    expect(policy.start(150)).toEqual({
      tenants: [{ model: 'resnet50', mpsPercent: 100, batchSize: 256 }],
      smClockMhz: 1155,
      memClockMhz: 9501,
    })
    expect(new BatchDvfsPolicy({ spec: rtx3080Ti, model: 'vgg19', variant: 'published' }).start(150).memClockMhz).toBe(
      'unlocked',
    )
    expect(() => new BatchDvfsPolicy({ spec: a100, model: 'alexnet' })).toThrow("unknown network 'alexnet'")
  })

  it('knows the published ladders', () => {
    expect(batchDvfsFigures('vgg19').batchLadder).toHaveLength(20)
    expect(batchDvfsFigures('mnasnet').batchLadder.slice(-2)).toEqual([256, 512])
    expect(batchDvfsFigures('efficientnet_v2_m').batchLadder).toHaveLength(25)
    expect(batchDvfsFigures('resnet50').batchLadder.slice(19)).toEqual([
      256, 288, 320, 352, 384, 416, 448, 480, 512, 640, 768, 892, 1024,
    ])
  })

  it('holds where power is missing, and while tenants restart', () => {
    const policy = toy('fair')
    const state = applied(untouched, policy.start(150))
    expect(policy.onWindow(windowOf(state, 1, 150, null))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 2, 150, 0))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 3, 150, 151, { reconfigured: true }))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 4, 150, 151))!.tenants![0]!.batchSize).toBe(96)
  })

  it('halves a batch that does not fit, and stays below it', () => {
    const policy = toy('fair')
    let state = applied(untouched, policy.start(150))
    const failing = [{ tenant: state.tenants[0]!, throughput: 0, latencyMs: null, failure: 'out of memory' }]
    state = applied(state, policy.onWindow(windowOf(state, 1, 300, 50, { tenants: failing })))
    expect(state.tenants[0]!.batchSize).toBe(128)
    // A failure that is still reported for the old batch changes nothing.
    expect(policy.onWindow(windowOf(state, 2, 300, 50, { tenants: failing }))).toBeUndefined()
    for (let i = 3; i < 30; i++) {
      state = applied(state, policy.onWindow(windowOf(state, i, 300, 100)))
      expect(state.tenants[0]!.batchSize).toBeLessThan(256)
    }
    expect(state.tenants[0]!.batchSize).toBe(240)
  })

  it('has nothing left to halve at a batch of one', () => {
    const policy = toy('fair')
    let state = applied(untouched, policy.start(150))
    for (let i = 1; i < 12; i++) {
      const tenants = [{ tenant: state.tenants[0]!, throughput: 0, latencyMs: null, failure: 'out of memory' }]
      state = applied(state, policy.onWindow(windowOf(state, i, 150, 50, { tenants })))
    }
    expect(state.tenants[0]!.batchSize).toBe(1)
  })

  it('asks only for supported clocks and known batches, whatever it sees', () => {
    const clocks = a100.clockStates[0]!.smClocksMhz
    const power = fc.option(fc.double({ min: 0, max: 500, noNaN: true }), { nil: null, freq: 8 })
    const event = fc.record({
      power,
      capW: fc.option(fc.integer({ min: 60, max: 300 }), { nil: null, freq: 1 }),
      fails: fc.integer({ min: 0, max: 20 }),
    })
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 60 }),
        fc.constantFrom('fair' as const, 'published' as const),
        (events, variant) => {
          const policy = toy(variant)
          let capW = 150
          let state = applied(untouched, policy.start(150))
          events.forEach((seen, i) => {
            if (seen.capW !== null && seen.capW !== capW) {
              capW = seen.capW
              state = applied(state, policy.onCapChange(capW))
            }
            const failure = seen.fails === 0 ? 'out of memory' : null
            const tenants = state.tenants.map((tenant) => ({ tenant, throughput: 500, latencyMs: 5, failure }))
            state = applied(state, policy.onWindow(windowOf(state, i + 1, capW, seen.power, { tenants })))
            expect(clocks).toContain(state.smClockMhz)
            expect(toyFigures.batchLadder).toContain(state.tenants[0]!.batchSize)
          })
        },
      ),
      { numRuns: 80 },
    )
  })
})
