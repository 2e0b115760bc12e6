import { loadPerfModel } from '@pctodl/perf-model'
import { InfeasibleCapError, smClocksAt, type Telemetry } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type AppliedState, PctodlPolicy, type PctodlPolicyOptions, type SampleObservation } from '../src/index.js'

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

function sample(
  policy: PctodlPolicy,
  timeMs: number,
  powerCapW: number,
  powerW: number | null,
  more: Partial<SampleObservation> = {},
) {
  return policy.onSample({
    timeMs,
    telemetry: { ...telemetry, powerAverageW: powerW, powerInstantW: powerW },
    powerCapW,
    applied,
    reconfiguring: false,
    smClockRefusedMs: 0,
    failures: [],
    ...more,
  })
}

describe('the pctodl policy', () => {
  it("starts with a plan under the cap, on supported clocks, with the board's own limit at the cap", () => {
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
    expect(action.powerLimitW).toBe(130)
  })

  it('keeps the hardware limit within the board, and leaves the limit alone when told to', () => {
    expect(policyFor({ model: 'mnasnet1_0' }).start(390).powerLimitW).toBe(350)
    expect(policyFor({ hardwareLimitPercent: 10 }).start(130).powerLimitW).toBe(143)
    expect(policyFor({ hardwareLimitPercent: null }).start(130)).not.toHaveProperty('powerLimitW')
  })

  it('aims at the cap in the watts that the board reads, with nothing kept free for its sensor', () => {
    const policy = policyFor()
    policy.start(150)
    const reasons = Array.from({ length: 100 }, (_, i) => sample(policy, 100 * i, 150, 100)?.reason ?? '')
    const targetsW = reasons.flatMap((reason) => /target of ([\d.]+) W/.exec(reason)?.[1] ?? []).map(Number)
    expect(Math.max(...targetsW)).toBeGreaterThan(149)
    expect(Math.max(...targetsW)).toBeLessThanOrEqual(150)
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
    expect(policy.onCapChange(40)).toMatchObject({ powerLimitW: 100, powerLimitRole: 'hardware-limit' })
    const action = sample(policy, 100, 40, 120)
    expect(action).toMatchObject({ smClockMhz: 210 })
    // Only readings of that clock say so.
    for (let timeMs = 200; timeMs <= 1000; timeMs += 100) sample(policy, timeMs, 40, 120)
    expect(policy.lastStep!.status).toBe('infeasible')
  })

  it('moves the clock at once with the cap, and leaves the tenants for later', () => {
    const policy = policyFor()
    const before = policy.start(200)
    sample(policy, 0, 200, 190)
    expect(policy.onCapChange(150)).not.toHaveProperty('tenants')
    expect(sample(policy, 100, 150, 195)!.smClockMhz as number).toBeLessThan(before.smClockMhz as number)
    for (let i = 2; i < 300; i++) {
      sample(policy, 100 * i, 150, 147)
      expect(policy.onIdle(100 * i, applied)).toBeUndefined()
    }
  })

  it('takes the lowest memory clock where the lowest SM clock does not keep the cap', () => {
    const policy = policyFor({
      fixed: { tenants: [{ model: 'resnet50', mpsPercent: 100, batchSize: 64 }], memClockMhz: 9501 },
    })
    policy.start(130)
    const actions = Array.from({ length: 40 }, (_, i) => sample(policy, 100 * i, 100, 125))
    expect(actions.some((action) => action?.smClockMhz === 210)).toBe(true)
    expect(actions.find((action) => action?.memClockMhz !== undefined)).toMatchObject({ memClockMhz: 5001 })
    expect(policy.takeDecisions().some(({ status }) => status === 'infeasible')).toBe(true)
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
    const failures = [{ tenant: tenants![0]!, failure: 'out of memory: needs 2 GiB, 1 GiB are free' }]
    const told = (timeMs: number) => sample(policy, timeMs, 250, 200, { failures })
    for (let i = 0; i < 8; i++) expect(told(100 * i)).toHaveProperty('tenants')
    expect(bytes(told(1000)!.tenants)).toBeLessThan(bytes(tenants))
  })
})
