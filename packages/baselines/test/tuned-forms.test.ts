import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { BatchDvfsPolicy, MorakPolicy, standardBatchLadder } from '../src/index.js'
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
    expect(start).toMatchObject({
      ...planClocks(start.tenants!, 150),
      powerLimitW: 150,
      powerLimitRole: 'hardware-limit',
    })
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
  ])('is refused: %s', (_, create) => {
    expect(create).toThrow(InvalidInputError)
    expect(create).toThrow('planClocks')
  })
})
