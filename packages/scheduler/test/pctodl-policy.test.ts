import { loadPerfModel } from '@pctodl/perf-model'
import { InfeasibleCapError, smClocksAt, type Telemetry } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type AppliedState, PctodlPolicy, type PctodlPolicyOptions, type WindowObservation } from '../src/index.js'

const predictor = loadPerfModel('3080Ti')

const policyFor = (options: Partial<PctodlPolicyOptions> = {}) =>
  new PctodlPolicy({ predictor, model: 'resnet50', partition: { budgetEvaluations: 500 }, ...options })

const telemetry: Telemetry = {
  timeMs: 0,
  powerAverageW: 120,
  powerInstantW: 120,
  energyJ: null,
  smClockMhz: null,
  memClockMhz: null,
  smUtilPercent: null,
  memUtilPercent: null,
  temperatureC: null,
  memoryUsedBytes: null,
  clocksEventReasons: [],
}

const applied: AppliedState = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 350 }

function sample(policy: PctodlPolicy, timeMs: number, powerCapW: number, powerW: number | null) {
  return policy.onSample({
    timeMs,
    telemetry: { ...telemetry, powerAverageW: powerW, powerInstantW: powerW },
    powerCapW,
    applied,
    reconfiguring: false,
  })
}

describe('the pctodl policy', () => {
  it('starts with a plan under the cap, on supported clocks, with a back-stop above the cap', () => {
    const action = policyFor().start(130)
    const { tenants, smClockMhz, memClockMhz } = action as Required<typeof action>
    expect(tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)).toBeLessThanOrEqual(100)
    expect(smClocksAt(predictor.spec, memClockMhz as number)).toContain(smClockMhz)
    const prediction = predictor.predict({
      tenants,
      smClockMhz: smClockMhz as number,
      memClockMhz: memClockMhz as number,
    })
    expect(prediction.powerW).toBeLessThanOrEqual(130)
    expect(action.powerLimitW).toBe(143)
  })

  it('keeps the back-stop within the board, and leaves the limit alone when told to', () => {
    expect(policyFor({ model: 'mnasnet1_0' }).start(340).powerLimitW).toBe(350)
    expect(policyFor({ backstopPercent: null }).start(130)).not.toHaveProperty('powerLimitW')
  })

  it('refuses to start under a cap that nothing keeps, naming one that can be kept', () => {
    expect(() => policyFor().start(40)).toThrow(InfeasibleCapError)
    try {
      policyFor().start(40)
    } catch (error) {
      const { lowestFeasibleW } = error as InfeasibleCapError
      expect(policyFor().start(lowestFeasibleW).tenants!.length).toBeGreaterThan(0)
    }
  })

  it('goes to the lowest clock, and says so, under a later cap that nothing keeps', () => {
    const policy = policyFor()
    policy.start(130)
    sample(policy, 0, 130, 120)
    expect(policy.onCapChange(40)).toEqual({ powerLimitW: 100 })
    const action = sample(policy, 100, 40, 120)
    expect(action).toEqual({ smClockMhz: 210 })
    expect(policy.lastStep!.status).toBe('infeasible')
  })

  it('moves the clock at once with the cap, and the tenants only where it pays', () => {
    const never = policyFor({ payBackS: 0 })
    const before = never.start(200)
    sample(never, 0, 200, 190)
    const change = never.onCapChange(190)
    expect(change).not.toHaveProperty('tenants')
    const lowered = sample(never, 100, 190, 195)!.smClockMhz as number
    expect(lowered).toBeLessThan(before.smClockMhz as number)
    const always = policyFor({ payBackS: Number.POSITIVE_INFINITY })
    always.start(200)
    expect(always.onCapChange(120)).toHaveProperty('tenants')
  })

  it('never raises the clock on readings that are missing', () => {
    const policy = policyFor()
    policy.start(130)
    let clock = sample(policy, 0, 130, 125)!.smClockMhz as number
    for (let timeMs = 100; timeMs <= 20_000; timeMs += 100) {
      const next = (sample(policy, timeMs, 130, null)?.smClockMhz ?? clock) as number
      expect(next).toBeLessThanOrEqual(clock)
      clock = next
    }
    expect(policy.lastStep!.status).toBe('blind')
  })

  it('plans for less memory when tenants run out of it', () => {
    const policy = policyFor({ model: 'maxvit_t' })
    const { tenants } = policy.start(250)
    const bytes = (list: typeof tenants) => list!.reduce((sum, tenant) => sum + predictor.memoryBytes(tenant), 0)
    const window = {
      powerCapW: 250,
      reconfigured: false,
      tenants: tenants!.map((tenant, i) => ({
        tenant,
        throughput: 0,
        latencyMs: null,
        failure: i === 0 ? 'out of memory: needs 2 GiB, 1 GiB are free' : null,
      })),
    } as unknown as WindowObservation
    for (let i = 0; i < 8; i++) policy.onWindow(window)
    expect(bytes(policy.onWindow(window)!.tenants)).toBeLessThan(bytes(tenants))
  })
})
