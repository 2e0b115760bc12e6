import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  BatchDvfsPolicy,
  DirectCapPolicy,
  EqualSplitPolicy,
  MorakPolicy,
  PowerCapOnlyPolicy,
  standardBatchLadder,
} from '../src/index.js'
import { a100, applied, rtx3080Ti, toyFigures, toyPower, untouched, windowOf } from './toy-plant.js'

const model = 'resnet50'
const variant = 'tuned'

/** The highest clock at which the toy plant keeps a cap, at the lowest memory clock. */
function plannerFor(spec: GpuSpec) {
  const asked: { readonly tenants: readonly Tenant[]; readonly powerCapW: number }[] = []
  const memClockMhz = Math.min(...spec.performanceMemClocksMhz)
  const clocks = spec.clockStates.find((states) => states.memClockMhz === memClockMhz)!.smClocksMhz
  const planClocks = (tenants: readonly Tenant[], powerCapW: number) => {
    asked.push({ tenants, powerCapW })
    const { batchSize } = tenants[0]!
    const smClockMhz = clocks.findLast((clock) => toyPower(clock, batchSize) <= powerCapW) ?? clocks[0]!
    return { memClockMhz, smClockMhz }
  }
  return { asked, clocks, memClockMhz, planClocks }
}

const forms = {
  'morak-tuned': (spec: GpuSpec) => new MorakPolicy({ spec, model, variant, planClocks: plannerFor(spec).planClocks }),
  'batchdvfs-tuned': (spec: GpuSpec) =>
    new BatchDvfsPolicy({ spec, model, variant, figures: toyFigures, planClocks: plannerFor(spec).planClocks }),
}

describe.each(Object.entries(forms))('%s', (name, create) => {
  it('starts with the planned clocks for its own tenants, and the limit of the board behind them', () => {
    const { memClockMhz, planClocks } = plannerFor(rtx3080Ti)
    const policy = create(rtx3080Ti)
    expect(policy.name).toBe(name)
    const start = policy.start(150)
    expect(memClockMhz).toBe(5001)
    expect(start).toMatchObject({ ...planClocks(start.tenants!, 150), powerLimitW: 150, powerLimitRole: 'back-stop' })
  })

  it('is below its cap from the first window on, also after a step down of the cap', () => {
    const policy = create(a100)
    let state = applied(untouched, policy.start(200))
    const powers: number[] = []
    for (let i = 0; i < 40; i++) {
      const capW = i < 20 ? 200 : 120
      if (i === 20) state = applied(state, policy.onCapChange(capW))
      const powerW = toyPower(state.smClockMhz!, state.tenants[0]!.batchSize)
      powers.push(powerW / capW)
      state = applied(state, policy.onWindow(windowOf(state, i + 1, capW, powerW)))
    }
    expect(powers[0]).toBeLessThanOrEqual(1)
    expect(powers[0]).toBeGreaterThan(0.97)
    expect(powers[20]).toBeLessThanOrEqual(1)
    expect(powers[20]).toBeGreaterThan(0.97)
  })

  it('asks only for clocks of the memory clock that it runs at', () => {
    const { clocks } = plannerFor(rtx3080Ti)
    const policy = create(rtx3080Ti)
    let state = applied(untouched, policy.start(120))
    for (let i = 1; i < 60; i++) {
      state = applied(state, policy.onWindow(windowOf(state, i, 300, 40 + ((37 * i) % 300))))
      expect(clocks).toContain(state.smClockMhz)
      expect(standardBatchLadder).toContain(state.tenants[0]!.batchSize)
      expect(state.memClockMhz).toBe(5001)
    }
  })
})

describe('a tuned form without a planner', () => {
  it.each([
    ['morak', () => new MorakPolicy({ spec: a100, model, variant })],
    ['batchdvfs', () => new BatchDvfsPolicy({ spec: a100, model, variant })],
    ['powercap', () => new PowerCapOnlyPolicy({ spec: a100, model, variant })],
    [
      'directcap',
      () => new DirectCapPolicy({ spec: a100, model, variant, plan: () => ({ tenants: [], memClockMhz: 1215 }) }),
    ],
  ])('is refused: %s', (_, create) => {
    expect(create).toThrow(InvalidInputError)
    expect(create).toThrow('planClocks')
  })
})

describe('powercap-tuned and directcap-tuned', () => {
  const tenants: readonly Tenant[] = [{ model, mpsPercent: 100, batchSize: 64 }]
  const powercap = (spec: GpuSpec) =>
    new PowerCapOnlyPolicy({ spec, model, variant, planClocks: plannerFor(spec).planClocks })
  const directcap = (spec: GpuSpec) =>
    new DirectCapPolicy({
      spec,
      model,
      variant,
      plan: () => ({ tenants, memClockMhz: 5001 }),
      planClocks: plannerFor(spec).planClocks,
    })

  it.each([powercap, directcap])(
    'begin every cap at a planned clock, and leave it to the board from then on',
    (create) => {
      const policy = create(rtx3080Ti)
      let state = untouched
      for (const [i, capW] of [150, 120].entries()) {
        const begin = i === 0 ? policy.start(capW) : policy.onCapChange(capW)
        state = applied(state, begin)
        const { smClockMhz } = plannerFor(rtx3080Ti).planClocks(state.tenants, capW)
        expect(begin).toMatchObject({ smClockMhz, memClockMhz: 5001, powerLimitW: capW })
        // While the tenants start, their power says nothing.
        expect(policy.onWindow(windowOf(state, 1, capW, 50, { samples: 0 }))).toBeUndefined()
        expect(policy.onWindow(windowOf(state, 2, capW, capW))).toEqual({ smClockMhz: 'unlocked' })
        expect(policy.onWindow(windowOf(state, 3, capW, capW))).toBeUndefined()
      }
    },
  )

  it.each([powercap, directcap])('keep the planned clock below the range', (create) => {
    const policy = create(a100)
    const start = policy.start(120)
    const locked = plannerFor(a100).planClocks(start.tenants!, 120).smClockMhz
    expect(start).toMatchObject({ smClockMhz: locked, powerLimitW: 150 })
    expect(toyPower(locked, 64)).toBeLessThanOrEqual(120)
    const state = applied(untouched, start)
    for (let i = 1; i < 5; i++) expect(policy.onWindow(windowOf(state, i, 120, 118))).toBeUndefined()
    policy.onCapChange(200)
    expect(policy.onWindow(windowOf(state, 5, 200, 190))).toEqual({ smClockMhz: 'unlocked' })
  })
})

describe('EqualSplitPolicy', () => {
  it('is the same tenants at the lowest memory clock under any cap, which only the limit of the board follows', () => {
    const policy = new EqualSplitPolicy({ spec: rtx3080Ti, model })
    const tenants = Array.from({ length: 4 }, () => ({ model, mpsPercent: 25, batchSize: 32 }))
    const start = { tenants, smClockMhz: 'unlocked', memClockMhz: 5001, powerLimitW: 150 }
    expect(policy.start(150)).toEqual(start)
    expect(policy.onCapChange(260)).toEqual({ powerLimitW: 260 })
    const state = applied(untouched, policy.start(150))
    for (let i = 1; i < 9; i++) expect(policy.onWindow(windowOf(state, i, 150, 100 + 20 * i))).toBeUndefined()
    expect(new EqualSplitPolicy({ spec: rtx3080Ti, model }).start(300)).toEqual({ ...start, powerLimitW: 300 })
  })

  it('has eight tenants on a large board, and says where its limit does not reach the cap', () => {
    const policy = new EqualSplitPolicy({ spec: a100, model })
    const { tenants, powerLimitW } = policy.start(100)
    expect(tenants!.map(({ mpsPercent }) => mpsPercent)).toEqual(Array(8).fill(12.5))
    expect(powerLimitW).toBe(150)
    expect(policy.notes[0]).toContain('power cap 100 W is outside the limits')
  })

  it('halves a batch that does not fit', () => {
    const policy = new EqualSplitPolicy({ spec: rtx3080Ti, model, tenantCount: 2, batchSize: 48 })
    const state = applied(untouched, policy.start(150))
    const tenants = state.tenants.map((tenant, i) => ({
      tenant,
      throughput: 0,
      latencyMs: null,
      failure: i === 1 ? 'out of memory' : null,
    }))
    expect(policy.onWindow(windowOf(state, 1, 150, 100, { tenants }))!.tenants!.map((t) => t.batchSize)).toEqual([
      48, 24,
    ])
  })

  it.each([
    ['tenantCount', { tenantCount: 0 }],
    ['batchSize', { batchSize: 1.5 }],
  ])('refuses a %s that is none', (field, wrong) => {
    expect(() => new EqualSplitPolicy({ spec: a100, model, ...wrong })).toThrow(field)
  })
})
