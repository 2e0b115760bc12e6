import { type Fault, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { InvalidInputError, type Tenant, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { Actuator } from '../src/actuator.js'
import type { Action } from '../src/policy.js'
import type { RunEventBody } from '../src/run-event.js'

const one: readonly Tenant[] = [{ model: 'resnet50', mpsPercent: 40, batchSize: 8 }]
const other: readonly Tenant[] = [{ model: 'resnet50', mpsPercent: 60, batchSize: 8 }]
const LOADED_MS = 60_000

/** An actuator that holds a simulated board, with the board's faults. */
async function holding(...faults: readonly Fault[]) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, faults: { faults } })
  const pool = new SimulatedTenants(gpu)
  const events: RunEventBody[] = []
  const ending = new AbortController()
  const actuator = new Actuator(await gpu.acquire(), pool, 350, ending.signal, (event) => events.push(event))
  const apply = (action?: Action) => actuator.apply(action, clock.now())
  const shares = () => pool.counters().map(({ tenant }) => tenant.mpsPercent)
  return { clock, gpu, pool, actuator, apply, events, shares, ending }
}

describe('what is in force', () => {
  it('is nothing but the limit that was found, before anything was asked for', async () => {
    const { actuator } = await holding()
    expect(actuator.applied).toEqual({ tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 350 })
    expect(actuator.reconfiguring).toBe(false)
    expect(actuator.smClockRefusedMs(5000)).toBe(0)
  })

  it('is what was asked for and granted; what an action says nothing of stays', async () => {
    const { actuator, apply, gpu, clock } = await holding()
    await apply({ smClockMhz: 900, memClockMhz: 5001, powerLimitW: 200 })
    expect(actuator.applied).toEqual({ tenants: [], smClockMhz: 900, memClockMhz: 5001, powerLimitW: 200 })
    await apply({ smClockMhz: 'unlocked' })
    expect(actuator.applied).toEqual({ tenants: [], smClockMhz: null, memClockMhz: 5001, powerLimitW: 200 })
    await apply({ memClockMhz: 'unlocked' })
    await apply(undefined)
    expect(actuator.applied).toEqual({ tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 200 })
    await clock.sleep(1000)
    expect((await gpu.info()).powerLimitW).toBe(200)
  })

  it('is set in the order in which a board can: the limit, and the memory clock before the SM clocks that it has', async () => {
    const { apply, clock, events } = await holding({ kind: 'setter-refused', atMs: 1000, durationMs: 1000 })
    await clock.sleep(1500)
    await apply({ smClockMhz: 900, memClockMhz: 5001, powerLimitW: 200 })
    await clock.sleep(1000)
    await apply()
    const setters = ['powerLimitW', 'memClockMhz', 'smClockMhz']
    expect(events.map((event) => 'setter' in event && [event.type, event.setter])).toEqual([
      ...setters.map((setter) => ['refused', setter]),
      ...setters.map((setter) => ['granted', setter]),
    ])
  })
})

describe('a board that refuses', () => {
  const refusing = (durationMs: number, setter?: 'sm-clock' | 'power-limit'): Fault => ({
    kind: 'setter-refused',
    atMs: 1000,
    durationMs,
    ...(setter ? { setter } : {}),
  })

  it('is asked in each step until it grants; both are said once', async () => {
    const { actuator, apply, clock, events } = await holding(refusing(5000))
    await apply({ smClockMhz: 900 })
    await clock.sleep(2000)
    for (let step = 0; step < 3; step++) {
      await apply(step === 0 ? { smClockMhz: 600 } : undefined)
      expect(actuator.applied.smClockMhz).toBe(900)
      expect(actuator.smClockRefusedMs(clock.now())).toBe(100 * step)
      await clock.sleep(100)
    }
    expect(events).toMatchObject([{ type: 'refused', setter: 'smClockMhz', value: 600, code: 'NO_PERMISSION' }])
    await clock.sleep(5000)
    await apply()
    expect(actuator.applied.smClockMhz).toBe(600)
    expect(actuator.smClockRefusedMs(clock.now())).toBe(0)
    expect(events.slice(1)).toEqual([{ type: 'granted', setter: 'smClockMhz', value: 600 }])
    await apply()
    expect(events).toHaveLength(2)
  })

  it('is not asked any more for what is no longer wanted', async () => {
    const { actuator, apply, clock, events } = await holding(refusing(5000))
    await apply({ smClockMhz: 900 })
    await clock.sleep(2000)
    await apply({ smClockMhz: 600 })
    await clock.sleep(100)
    await apply({ smClockMhz: 900 })
    expect(actuator.smClockRefusedMs(clock.now())).toBe(0)
    await clock.sleep(6000)
    await apply()
    expect(actuator.applied.smClockMhz).toBe(900)
    expect(events.map(({ type }) => type)).toEqual(['refused'])
  })

  it('is asked for the newest wish, and has refused since the first', async () => {
    const { actuator, apply, clock } = await holding(refusing(5000))
    await clock.sleep(2000)
    await apply({ smClockMhz: 600 })
    await clock.sleep(1500)
    await apply({ smClockMhz: 300 })
    expect(actuator.smClockRefusedMs(clock.now())).toBe(1500)
    await clock.sleep(5000)
    await apply()
    expect(actuator.applied.smClockMhz).toBe(300)
  })

  it('ends the run with its error after half a minute of that, but never for a hardware limit', async () => {
    const { apply, clock } = await holding(refusing(1e9, 'sm-clock'))
    await clock.sleep(2000)
    await apply({ smClockMhz: 600 })
    await clock.sleep(29_999)
    await apply()
    await clock.sleep(1)
    await expect(apply()).rejects.toMatchObject({ code: 'NO_PERMISSION' })

    const lenient = await holding(refusing(1e9, 'power-limit'))
    await lenient.clock.sleep(2000)
    await lenient.apply({ powerLimitW: 200, powerLimitRole: 'hardware-limit' })
    await lenient.clock.sleep(100_000)
    await lenient.apply()
    expect(lenient.actuator.applied.powerLimitW).toBe(350)
    expect(lenient.events).toMatchObject([{ type: 'refused', setter: 'powerLimitW', role: 'hardware-limit' }])

    const strict = await holding(refusing(1e9, 'power-limit'))
    await strict.clock.sleep(2000)
    await strict.apply({ powerLimitW: 200, powerLimitRole: 'hardware-limit' })
    await strict.apply({ powerLimitW: 210 })
    expect(strict.events[0]).toHaveProperty('role')
    await strict.clock.sleep(30_000)
    await expect(strict.apply()).rejects.toThrow()
  })

  it('ends the run at once where trying again mends nothing', async () => {
    const lost = await holding({ kind: 'gpu-lost', atMs: 1000 })
    await lost.clock.sleep(2000)
    await expect(lost.apply({ smClockMhz: 600 })).rejects.toMatchObject({ code: 'GPU_LOST' })
    const { apply, events } = await holding()
    await expect(apply({ smClockMhz: 601 })).rejects.toThrow(InvalidInputError)
    expect(events).toEqual([])
  })
})

describe('a clock that the board has lost', () => {
  it('is asked for again where an action says so, and only then', async () => {
    const ignoring: Fault = { kind: 'setter-ignored', atMs: 1000, durationMs: 2000, setter: 'sm-clock' }
    const { gpu, apply, clock, actuator } = await holding(ignoring)
    const runs = async () => {
      await clock.sleep(1000)
      return (await gpu.sample()).smClockMhz
    }
    await apply({ tenants: one, smClockMhz: 900 })
    await clock.sleep(1500)
    await apply({ smClockMhz: 600 })
    expect(actuator.applied.smClockMhz).toBe(600)
    await clock.sleep(LOADED_MS)
    await apply({ smClockMhz: 600 })
    expect(await runs()).toBe(900)
    await apply({ smClockMhz: 600, again: true })
    expect(await runs()).toBe(600)
  })
})

describe('tenants', () => {
  it('load beside the loop, which sees at once what was asked for', async () => {
    const { actuator, apply, clock, shares } = await holding()
    await apply({ tenants: one })
    expect(actuator.reconfiguring).toBe(true)
    expect(actuator.applied.tenants).toBe(one)
    await clock.sleep(LOADED_MS)
    expect(actuator.reconfiguring).toBe(false)
    expect(shares()).toEqual([40])
  })

  it('change one after the other: the newest wish follows the one that runs, and those between are left out', async () => {
    const { actuator, apply, clock, shares } = await holding()
    await apply({ tenants: one })
    await apply({ tenants: [...one, ...one] })
    await apply({ tenants: other })
    expect(actuator.applied.tenants).toBe(other)
    await clock.sleep(2 * LOADED_MS)
    expect(actuator.reconfiguring).toBe(false)
    expect(shares()).toEqual([60])
  })

  it('are ended at once where none is wanted, also those that are still loading', async () => {
    const { actuator, apply, clock, pool } = await holding()
    await apply({ tenants: one })
    await clock.sleep(10_000)
    await apply({ tenants: [...one, ...other] })
    await clock.sleep(500)
    expect(actuator.reconfiguring).toBe(true)
    await apply({ tenants: [] })
    await clock.sleep(1000)
    expect([actuator.reconfiguring, pool.counters(), actuator.applied.tenants]).toEqual([false, [], []])
    await apply({ tenants: one })
    await clock.sleep(10_000)
    expect(pool.counters().map(({ state }) => state)).toEqual(['running'])
  })

  it('are ended where none is wanted, and come back when some are', async () => {
    const { actuator, apply, clock, shares, pool } = await holding()
    await apply({ tenants: one })
    await clock.sleep(LOADED_MS)
    expect(shares()).toEqual([40])
    await apply({ tenants: [] })
    await actuator.settle()
    expect(actuator.applied.tenants).toEqual([])
    expect(shares()).toEqual([])
    await apply({ tenants: other })
    await clock.sleep(LOADED_MS)
    expect(actuator.reconfiguring).toBe(false)
    expect(shares()).toEqual([60])
    await clock.sleep(1000)
    expect(pool.counters()[0]!.batches).toBeGreaterThan(0)
    await apply()
  })

  it('that cannot be end the run in the next step, and nothing is loaded after them', async () => {
    const { actuator, apply, clock } = await holding()
    await apply({ tenants: [{ ...one[0]!, mpsPercent: 300 }] })
    await apply({ tenants: one }).catch(() => undefined)
    await clock.sleep(LOADED_MS)
    await actuator.settle()
    expect(actuator.reconfiguring).toBe(false)
    await expect(apply()).rejects.toThrow('mpsPercent')
  })
})
