import { type GpuSpec, InfeasibleCapError, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type FeedbackClockOptions, feedbackStep } from '../src/feedback-clock.js'
import { equalTenants, FeedbackClock, LimitPolicy, MeasuredPolicy } from '../src/index.js'
import { a100, applied, rtx3080Ti, sampleOf, untouched, windowOf } from './toy-plant.js'

const model = 'resnet50'
const clocksOf = (spec: GpuSpec) => spec.clockStates[0]!.smClocksMhz
/** A planner that allows 1 MHz for each 0.2 W of the cap. */
const planClocks = (spec: GpuSpec) => (_: readonly Tenant[], powerCapW: number) => ({
  memClockMhz: spec.performanceMemClocksMhz[0]!,
  smClockMhz: clocksOf(spec).findLast((clock) => clock <= 5 * powerCapW)!,
})

function policyOn(spec: GpuSpec, clock: FeedbackClockOptions = {}, more: { latencyMs?: () => number } = {}) {
  const planned: number[] = []
  const policy = new LimitPolicy({
    name: 'toy',
    spec,
    clock: new FeedbackClock(clock),
    planClocks: planClocks(spec),
    plan: (powerCapW) => {
      planned.push(powerCapW)
      if (powerCapW < 60) throw new InfeasibleCapError(powerCapW, 60, model)
      const tenants = equalTenants(spec, [model], powerCapW > 150 ? 4 : 2)
      return { tenants, ...planClocks(spec)(tenants, powerCapW) }
    },
    ...more,
  })
  return { policy, planned }
}

describe('LimitPolicy', () => {
  it('starts at the planned clock and leaves it to the board once tenants have run under the limit', () => {
    const { policy } = policyOn(rtx3080Ti)
    const start = policy.start(200)
    expect(start).toMatchObject({ smClockMhz: planClocks(rtx3080Ti)([], 200).smClockMhz, powerLimitW: 200 })
    const state = applied(untouched, start)
    expect(policy.onWindow(windowOf(state, 1, 200, 60, { samples: 0 }))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 2, 200, 150, { reconfigured: true }))).toBeUndefined()
    expect(policy.onWindow(windowOf(state, 3, 200, 190))).toEqual({ smClockMhz: 'unlocked' })
    expect(policy.onWindow(windowOf(state, 4, 200, 200))).toBeUndefined()
  })

  it('goes to the limit and the clocks of a new cap at once, and to its tenants after 35 s', () => {
    const { policy, planned } = policyOn(rtx3080Ti)
    let state = applied(untouched, policy.start(200))
    const change = policy.onCapChange(120)
    expect(change).toMatchObject({ powerLimitW: 120, smClockMhz: planClocks(rtx3080Ti)([], 120).smClockMhz })
    expect(change.tenants).toBeUndefined()
    state = applied(state, change)
    for (let i = 1; i <= 6; i++) {
      expect(policy.onWindow(windowOf(state, i, 120, 115))?.tenants).toBeUndefined()
    }
    expect(policy.onWindow(windowOf(state, 7, 120, 115))!.tenants).toHaveLength(2)
    expect(planned).toEqual([200, 120])
  })

  it('keeps its tenants under a cap that none keep, with a note, but does not start under it', () => {
    const { policy } = policyOn(a100)
    expect(() => policyOn(a100).policy.start(50)).toThrow(InfeasibleCapError)
    let state = applied(untouched, policy.start(200))
    state = applied(state, policy.onCapChange(50))
    expect(state).toMatchObject({ powerLimitW: 150, smClockMhz: planClocks(a100)([], 50).smClockMhz })
    for (let i = 1; i <= 9; i++) expect(policy.onWindow(windowOf(state, i, 50, 45))).toBeUndefined()
    expect(policy.notes.join()).toContain('power cap 50 W is outside the limits')
    expect(policy.notes.join()).toContain('50 W')
    expect(policy.notes).toHaveLength(2)
  })

  it('halves batches that are late or do not fit', () => {
    const { policy } = policyOn(rtx3080Ti, {}, { latencyMs: () => 50 })
    const state = applied(untouched, policy.start(200))
    const tenants = state.tenants.map((tenant, i) => ({
      tenant,
      throughput: 9,
      latencyMs: i === 0 ? 80 : 20,
      failure: i === 1 ? 'out of memory' : null,
    }))
    const batches = policy.onWindow(windowOf(state, 1, 200, 150, { tenants }))!.tenants!.map((each) => each.batchSize)
    expect(batches).toEqual([16, 16, 32, 32])
  })
})

describe('feedback', () => {
  const clocks = [600, 615, 630, 645, 660, 675, 690]

  it('falls with the excess, and rises by a state where the cap still holds there', () => {
    expect(feedbackStep(clocks, 660, 100.5, 100)).toBe(645)
    expect(feedbackStep(clocks, 660, 106, 100)).toBe(615)
    expect(feedbackStep(clocks, 660, 200, 100)).toBe(600)
    expect(feedbackStep(clocks, 600, 200, 100)).toBe(600)
    expect(feedbackStep(clocks, 660, 97, 100)).toBe(660)
    expect(feedbackStep(clocks, 660, 95, 100)).toBe(675)
    expect(feedbackStep(clocks, 690, 50, 100)).toBe(690)
  })

  /** Power of a plant that is proportional to its clock, under a cap below the board's lowest limit. */
  function settle(options: FeedbackClockOptions, wattsPerMhz: number, requests = false) {
    const { policy } = policyOn(a100, options)
    let state = applied(untouched, policy.start(100))
    const changedMs: number[] = []
    for (let timeMs = 100; timeMs <= 60_000; timeMs += 100) {
      const sample = sampleOf(timeMs, wattsPerMhz * state.smClockMhz!, state, 100)
      const action = policy.onSample(requests ? { ...sample, services: [] } : sample)
      if (!action) continue
      changedMs.push(timeMs)
      state = applied(state, action)
    }
    return { powerW: wattsPerMhz * state.smClockMhz!, changedMs, policy }
  }

  it.each([0.21, 0.23, 0.18])('settles below the cap, within two states, at most every 2 s: %d W a MHz', (slope) => {
    const { powerW, changedMs } = settle({ step: true }, slope)
    expect(powerW).toBeLessThanOrEqual(100)
    expect(powerW).toBeGreaterThan(93)
    for (let i = 1; i < changedMs.length; i++) expect(changedMs[i]! - changedMs[i - 1]!).toBeGreaterThanOrEqual(2000)
  })

  it('stays at the plan without it, above it while requests are few, and under a limit that holds the cap', () => {
    expect(settle({}, 0.23).changedMs).toEqual([])
    expect(settle({ step: true }, 0.15, true).changedMs).toEqual([])
    const { policy } = policyOn(a100, { step: true })
    const state = applied(untouched, policy.start(200))
    for (let timeMs = 100; timeMs < 9000; timeMs += 100) {
      expect(policy.onSample(sampleOf(timeMs, 220, state, 200))).toBeUndefined()
    }
  })

  it('returns to a locked clock under the limit where it has one', () => {
    const { policy } = policyOn(a100, { underLimit: 900 })
    const state = applied(untouched, policy.start(200))
    expect(policy.onWindow(windowOf(state, 1, 200, 150))).toEqual({ smClockMhz: 900 })
    const planned = policyOn(a100, { underLimit: 'planned' }).policy
    planned.start(200)
    expect(planned.onWindow(windowOf(state, 1, 200, 150))).toBeUndefined()
  })
})

describe('MeasuredPolicy', () => {
  const candidates = [1, 2, 4, 8].map((count) => equalTenants(a100, [model], count))
  /** Windows of [tenants, mean power, throughput, restarted]; each takes 20 s. */
  function search(seen: readonly (readonly [powerW: number, throughput: number, reconfigured?: boolean])[]) {
    const policy = new MeasuredPolicy({ name: 'measured', spec: a100, candidates, planClocks: planClocks(a100) })
    let state = applied(untouched, policy.start(200))
    const counts = seen.map(([powerW, throughput, reconfigured = false], i) => {
      const window = windowOf(state, i + 1, 200, powerW, { throughput, reconfigured, endMs: 20_000 * (i + 1) })
      state = applied(state, policy.onWindow(window))
      return state.tenants.length
    })
    return counts
  }

  it('measures one after the other for a minute, then holds the best that kept the cap', () => {
    expect(
      search([
        [190, 100],
        [190, 300],
        [190, 200],
        [190, 1],
      ]),
    ).toEqual([2, 4, 2, 2])
    expect(
      search([
        [190, 100],
        [210, 300],
        [190, 200],
        [190, 1],
      ]),
    ).toEqual([2, 4, 4, 4])
  })

  it('waits for a window without a restart', () => {
    expect(
      search([
        [190, 900, true],
        [190, 100],
        [190, 200],
      ]),
    ).toEqual([1, 2, 2])
  })
})

describe('equalTenants', () => {
  it('gives networks the same number of tenants, and says what is none', () => {
    expect(
      equalTenants(a100, ['a', 'b', 'c'])
        .map((tenant) => tenant.model)
        .join(''),
    ).toBe('abcabcabc')
    expect(equalTenants(rtx3080Ti, [model])).toEqual(Array(4).fill({ model, mpsPercent: 25, batchSize: 32 }))
    expect(() => equalTenants(a100, [model], 0)).toThrow('tenantCount: got 0')
    expect(() => equalTenants(a100, [model], 2, 1.5)).toThrow('batchSize: got 1.5')
  })
})
