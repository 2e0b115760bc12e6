import { InvalidInputError } from '@pctodl/platform'
import type { WindowObservation } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { BatchDvfsOriginalPolicy, PowerCapOnlyPolicy } from '../src/index.js'
import { a100, applied, rtx3080Ti, sampleOf, untouched, windowOf } from './toy-plant.js'

const model = 'resnet50'

/** Actions of a policy when power follows its clock and batch, sample by sample. */
function drive(
  policy: BatchDvfsOriginalPolicy,
  seconds: number,
  capW: number,
  powerOf: (mhz: number, batch: number) => number,
) {
  let state = applied(untouched, policy.start())
  const decisions: { readonly atMs: number; readonly batch: number; readonly mhz: number }[] = []
  for (let timeMs = 100; timeMs <= seconds * 1000; timeMs += 100) {
    const powerW = powerOf(state.smClockMhz!, state.tenants[0]!.batchSize)
    const action = policy.onSample(sampleOf(timeMs, powerW, state, capW))
    if (!action) continue
    state = applied(state, action)
    decisions.push({ atMs: timeMs, batch: state.tenants[0]!.batchSize, mhz: state.smClockMhz! })
  }
  return { state, decisions }
}

describe('batchdvfs-original', () => {
  it('starts with a batch of 1 at the sixth of ten clocks and decides every 3 s', () => {
    const policy = new BatchDvfsOriginalPolicy({ spec: a100, model })
    const start = policy.start()
    expect(start).toMatchObject({ tenants: [{ batchSize: 1, mpsPercent: 100 }] })
    expect(Number(start.smClockMhz) / 1410).toBeCloseTo(1063 / 1531, 1)
    const { decisions } = drive(policy, 20, 150, (_, batch) => 60 + batch / 2)
    // To the middle of what is left above; 124 W are within 0.8 of the cap.
    expect(decisions.map(({ atMs, batch }) => [atMs, batch])).toEqual([[3000, 128]])
  })

  it('judges by the largest reading since it last decided', () => {
    const policy = new BatchDvfsOriginalPolicy({ spec: a100, model, batchLadder: [1, 2, 4] })
    let state = applied(untouched, policy.start())
    const asked: number[] = []
    for (let timeMs = 100; timeMs <= 6000; timeMs += 100) {
      // A peak above the cap in the first 3 s lowers the clock. The next 3 s have no peak, so nothing changes.
      const action = policy.onSample(sampleOf(timeMs, timeMs === 700 ? 160 : 130, state, 150))
      if (!action) continue
      state = applied(state, action)
      asked.push(timeMs)
    }
    expect(asked).toEqual([3000])
    expect(state.smClockMhz).toBeLessThan(Number(new BatchDvfsOriginalPolicy({ spec: a100, model }).start().smClockMhz))
  })

  it('holds between 0.8 of the cap and the cap', () => {
    const hold = (powerW: number) => {
      const policy = new BatchDvfsOriginalPolicy({ spec: a100, model, batchLadder: [1, 2, 4] })
      return drive(policy, 30, 100, () => powerW).decisions.length
    }
    expect(hold(80)).toBe(0)
    expect(hold(100)).toBe(0)
    expect(hold(79.9)).toBeGreaterThan(0)
    expect(hold(100.1)).toBeGreaterThan(0)
  })

  it('opens bounds that are met in both directions, and moves the clock only at the ends of the batches', () => {
    const policy = new BatchDvfsOriginalPolicy({ spec: a100, model, batchLadder: [1, 2, 4, 8] })
    const batches = (decisions: ReturnType<typeof drive>['decisions']) => decisions.map(({ batch }) => batch)
    // Power is always too low: the batch goes to its maximum, then the clock.
    const up = drive(policy, 40, 200, () => 100)
    expect(batches(up.decisions)).toEqual([4, 8, 8, 8, 8, 8])
    expect(up.state.smClockMhz).toBe(1410)
    // Power is always too high. The lower bound equals the present batch, so it opens to the smallest batch; then the
    // clock falls.
    let state = up.state
    const seen: number[] = []
    const clocks: number[] = []
    for (let timeMs = 40_100; timeMs <= 120_000; timeMs += 100) {
      const action = policy.onSample(sampleOf(timeMs, 260, state, 200))
      if (!action) continue
      state = applied(state, action)
      seen.push(state.tenants[0]!.batchSize)
      clocks.push(state.smClockMhz!)
    }
    expect(seen.slice(0, 3)).toEqual([4, 2, 1])
    expect(new Set(seen.slice(3))).toEqual(new Set([1]))
    expect(clocks[2]).toBe(1410)
    expect(clocks.at(-1)! / 1410).toBeCloseTo(544 / 1531, 1)
  })

  it('never tries a batch again that did not fit, and refuses an empty ladder', () => {
    const policy = new BatchDvfsOriginalPolicy({ spec: a100, model, batchLadder: [1, 2, 4, 8, 16] })
    let state = applied(untouched, policy.start())
    const seen: number[] = []
    for (let timeMs = 100; timeMs <= 60_000; timeMs += 100) {
      const tooLarge = state.tenants[0]!.batchSize > 4
      const failures = tooLarge ? [{ tenant: state.tenants[0]!, failure: 'out of memory' }] : []
      const action = policy.onSample({ ...sampleOf(timeMs, 50, state, 200), failures })
      if (!action) continue
      state = applied(state, action)
      seen.push(state.tenants[0]!.batchSize)
    }
    expect(seen.filter((batch) => batch === 8 || batch === 16).length).toBeLessThanOrEqual(2)
    expect(state.tenants[0]!.batchSize).toBe(4)
    expect(() => new BatchDvfsOriginalPolicy({ spec: a100, model, batchLadder: [] })).toThrow(InvalidInputError)
  })
})

describe('a latency objective without a model', () => {
  it('halves batches that take too long, until they do not', () => {
    const policy = new PowerCapOnlyPolicy({ spec: rtx3080Ti, model, latencyMs: () => 50 })
    let state = applied(untouched, policy.start(150))
    const late = (window: WindowObservation, latencyMs: number): WindowObservation => ({
      ...window,
      tenants: window.tenants.map((tenant) => ({ ...tenant, latencyMs })),
    })
    for (let i = 1; i <= 3; i++) {
      state = applied(state, policy.onWindow(late(windowOf(state, i, 150, 140), 200 / 2 ** (i - 1))))
    }
    // 200 ms, 100 ms and 50 ms, which is too near to the objective for the slowest batches.
    expect(state.tenants[0]!.batchSize).toBe(64 / 8)
    expect(policy.onWindow(late(windowOf(state, 4, 150, 140), 25))?.tenants).toBeUndefined()
  })
})
