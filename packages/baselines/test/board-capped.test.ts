import { InfeasibleCapError, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { DirectCapPolicy, PowerCapOnlyPolicy } from '../src/index.js'
import { MemoryClockSearch } from '../src/memory-clock-search.js'
import { PublishedMemorySearch } from '../src/published-memory-search.js'
import { a100, applied, rtx3080Ti, untouched, windowOf } from './toy-plant.js'

const halves = (batchSize: number): Tenant[] => [
  { model: 'resnet50', mpsPercent: 50, batchSize },
  { model: 'resnet50', mpsPercent: 50, batchSize },
]

function directCap(spec = rtx3080Ti) {
  const asked: number[] = []
  const plan = (powerCapW: number) => {
    asked.push(powerCapW)
    if (powerCapW < 80) throw new InfeasibleCapError(powerCapW, 80, 'resnet50')
    return { tenants: halves(powerCapW > 150 ? 64 : 32), memClockMhz: spec.performanceMemClocksMhz[0]! }
  }
  return { asked, policy: new DirectCapPolicy({ spec, model: 'resnet50', plan }) }
}

describe('DirectCapPolicy', () => {
  it('leaves the clock to the board and the cap to its limit, from the start', () => {
    const { policy } = directCap()
    expect(policy.start(200)).toEqual({
      tenants: halves(64),
      memClockMhz: 9501,
      smClockMhz: 'unlocked',
      powerLimitW: 200,
    })
    expect(policy.notes).toEqual([])
  })

  it('follows a cap at once, with a new plan', () => {
    const { policy, asked } = directCap()
    policy.start(200)
    expect(policy.onCapChange(140.5)).toMatchObject({ tenants: halves(32), powerLimitW: 140.5 })
    expect(asked).toEqual([200, 140.5])
  })

  it('says where the board cannot go as low as the cap, and passes infeasible plans on', () => {
    const { policy } = directCap()
    expect(policy.start(90).powerLimitW).toBe(100)
    expect(policy.notes[0]).toContain(
      'power cap 90 W is outside the limits of NVIDIA GeForce RTX 3080 Ti (100 to 400 W)',
    )
    expect(() => policy.onCapChange(70)).toThrow(InfeasibleCapError)
  })

  it('published: drops fractions, and is a window late with the first limit of a schedule', () => {
    const plan = (powerCapW: number) => ({ tenants: halves(powerCapW > 150 ? 64 : 32), memClockMhz: 5001 })
    const fixed = new DirectCapPolicy({ spec: rtx3080Ti, model: 'resnet50', plan, variant: 'published' })
    expect(fixed.start(180.7)).toMatchObject({ powerLimitW: 180, memClockMhz: 9501 })
    const scheduled = new DirectCapPolicy({
      spec: rtx3080Ti,
      model: 'resnet50',
      plan,
      variant: 'published',
      scheduled: true,
    })
    const first = scheduled.start(200)
    expect(first).not.toHaveProperty('powerLimitW')
    expect(scheduled.onWindow(windowOf(applied(untouched, first), 1, 200, 150))).toEqual({ powerLimitW: 200 })
    expect(scheduled.onWindow(windowOf(applied(untouched, first), 2, 200, 300))).toBeUndefined()
    const single = new DirectCapPolicy({
      spec: a100,
      model: 'resnet50',
      plan: () => ({ tenants: halves(8), memClockMhz: 1215 }),
      variant: 'published',
    })
    expect(single.start(200).memClockMhz).toBe('unlocked')
  })

  it('halves the batch of a tenant that failed, also in the next plan of the same shares', () => {
    const { policy } = directCap()
    const state = applied(untouched, policy.start(200))
    const tenants = state.tenants.map((tenant, i) => ({
      tenant,
      throughput: 0,
      latencyMs: null,
      failure: i === 0 ? 'out of memory' : null,
    }))
    const action = policy.onWindow(windowOf(state, 1, 200, 150, { tenants }))!
    expect(action.tenants!.map((tenant) => tenant.batchSize)).toEqual([32, 64])
    expect(policy.onCapChange(220).tenants!.map((tenant) => tenant.batchSize)).toEqual([32, 64])
  })

  it('does nothing while the cap is kept', () => {
    const { policy } = directCap()
    const state = applied(untouched, policy.start(200))
    for (let i = 1; i < 20; i++) expect(policy.onWindow(windowOf(state, i, 200, 199))).toBeUndefined()
  })

  it('returns to the planned memory clock on a new cap', () => {
    const { policy } = directCap()
    let state = applied(untouched, policy.start(200))
    for (let i = 1; i <= 5; i++) state = applied(state, policy.onWindow(windowOf(state, i, 200, 210)))
    expect(state.memClockMhz).toBe(5001)
    expect(policy.onCapChange(180).memClockMhz).toBe(9501)
  })
})

describe('MemoryClockSearch', () => {
  const states = [9501, 5001]
  /** Runs windows of [mean power, throughput] under a cap of 200 W and returns the memory clock after each. */
  function run(
    seen: readonly (readonly [number | null, number])[],
    search = new MemoryClockSearch(states, 9501),
  ): number[] {
    return seen.map(([powerW, throughput], i) => search.next(windowOf(untouched, i + 1, 200, powerW, { throughput })))
  }
  const repeat = (count: number, powerW: number | null, throughput: number) =>
    Array.from({ length: count }, () => [powerW, throughput] as const)

  it('steps down after five windows above the cap in a row', () => {
    expect(run(repeat(5, 210, 100))).toEqual([9501, 9501, 9501, 9501, 5001])
    // The tolerance is 2 %, and no clock is below the lowest state.
    expect(run(repeat(20, 203, 100)).every((clock) => clock === 9501)).toBe(true)
    expect(
      run(repeat(12, 210, 100))
        .slice(5)
        .every((clock) => clock === 5001),
    ).toBe(true)
  })

  it('tries every state for five windows, each from its first, and keeps the best that held the cap', () => {
    const clocks = run([[210, 0], [198, 0], ...repeat(5, 190, 120), ...repeat(5, 199, 110)])
    expect(clocks).toEqual([9501, 5001, 5001, 5001, 5001, 5001, 9501, 9501, 9501, 9501, 9501, 5001])
    expect(run([[210, 0], [198, 0], ...repeat(5, 190, 100), ...repeat(5, 199, 110)]).at(-1)).toBe(9501)
    // The published rule would keep the faster state although it is above the cap.
    expect(run([[210, 0], [198, 0], ...repeat(5, 190, 100), ...repeat(5, 215, 110)]).at(-1)).toBe(5001)
    expect(run([[210, 0], [198, 0], ...repeat(5, 215, 100), ...repeat(5, 225, 110)]).at(-1)).toBe(5001)
  })

  it('does not count windows without a reading or with restarts', () => {
    expect(run([...repeat(4, 210, 100), ...repeat(9, null, 100), [210, 100]])).toEqual([...Array(13).fill(9501), 5001])
    const search = new MemoryClockSearch(states, 9501)
    for (let i = 1; i < 20; i++) {
      expect(search.next(windowOf(untouched, i, 200, 220, { reconfigured: true }))).toBe(9501)
    }
  })

  it('has nothing to search with one state', () => {
    const search = new MemoryClockSearch([1215], 1215)
    expect(run([...repeat(9, 220, 1), ...repeat(9, 150, 1)], search).every((clock) => clock === 1215)).toBe(true)
  })
})

describe('PowerCapOnlyPolicy', () => {
  it('is one tenant with the whole GPU under the limit of the board', () => {
    const policy = new PowerCapOnlyPolicy({ spec: a100, model: 'vgg19' })
    expect(policy.start(200)).toEqual({
      tenants: [{ model: 'vgg19', mpsPercent: 100, batchSize: 64 }],
      smClockMhz: 'unlocked',
      memClockMhz: 1215,
      powerLimitW: 200,
    })
    expect(policy.onCapChange(180)).toEqual({ powerLimitW: 180 })
    expect(policy.onCapChange(120)).toEqual({ powerLimitW: 150 })
    expect(policy.notes).toHaveLength(1)
  })

  it('halves a batch that does not fit, down to one', () => {
    const policy = new PowerCapOnlyPolicy({ spec: a100, model: 'vgg19', batchSize: 6 })
    let state = applied(untouched, policy.start(200))
    const batches = [1, 2, 3].map((i) => {
      const tenants = [{ tenant: state.tenants[0]!, throughput: 0, latencyMs: null, failure: 'out of memory' }]
      state = applied(state, policy.onWindow(windowOf(state, i, 200, 60, { tenants })))
      return state.tenants[0]!.batchSize
    })
    expect(batches).toEqual([3, 1, 1])
    expect(policy.onWindow(windowOf(state, 4, 200, 250))).toBeUndefined()
  })

  it('refuses a batch that is none', () => {
    expect(() => new PowerCapOnlyPolicy({ spec: a100, model: 'vgg19', batchSize: 0 })).toThrow('batchSize: got 0')
  })
})

describe('PublishedMemorySearch', () => {
  const windowAt = (powerW: number, throughput: number) => windowOf(untouched, 1, 150, powerW, { throughput })

  it('goes a state down after five excesses', () => {
    const search = new PublishedMemorySearch([9501, 5001], 9501)
    for (let i = 0; i < 4; i++) expect(search.next(windowAt(160, 100))).toBe(9501)
    expect(search.next(windowAt(160, 100))).toBe(5001)
  })

  it('explores for six windows a state, scores the last, and starts at the wrong clock', () => {
    const search = new PublishedMemorySearch([9501, 5001], 9501)
    search.next(windowAt(160, 100))
    expect(search.next(windowAt(140, 100))).toBe(9501)
    // The first candidate is 5001 MHz, but the board still runs at 9501 MHz.
    const clocks = Array.from({ length: 6 }, (_, i) => search.next(windowAt(140, i === 5 ? 120 : 999)))
    expect(clocks).toEqual([9501, 9501, 9501, 9501, 9501, 9501])
    for (let i = 0; i < 5; i++) search.next(windowAt(200, 999))
    // The state with more throughput wins, whatever its power.
    expect(search.next(windowAt(200, 110))).toBe(5001)
  })
})
