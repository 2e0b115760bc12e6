import { gpuSpecs } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hardwareLimit } from '../src/pctodl/hardware-limit.js'
import { TenantRevival } from '../src/pctodl/tenant-revival.js'

const [tenant] = [{ model: 'resnet50', mpsPercent: 50, batchSize: 8 }]
const died = [{ tenant: tenant!, failure: 'killed by signal 9' }]

describe('tenants that died', () => {
  /** When they are started again, where they die at once each time, s. */
  function revivedS(untilS: number, failures = died, revival = new TenantRevival(), fromS = 0): number[] {
    const times: number[] = []
    for (let s = fromS; s < untilS; s++) if (revival.due(1000 * s, failures)) times.push(s)
    return times
  }

  it('are started again at once, then after 5, 10, 20 s and so on, five minutes at most', () => {
    const times = revivedS(2500)
    const waits = times.slice(1).map((s, i) => s - times[i]!)
    expect(times[0]).toBe(0)
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300, 300, 300, 300, 300])
  })

  it('are new where they have run for ten minutes', () => {
    const revival = new TenantRevival()
    revivedS(40, died, revival)
    expect(revival.attempts).toBe(4)
    expect(revivedS(700, died, revival, 635).slice(0, 2)).toEqual([635, 640])
    expect(revival.attempts).toBeGreaterThan(1)
  })

  it('are not started again where they need less memory, not another try', () => {
    const full = { tenant: tenant!, failure: 'out of memory: needs 2 GiB' }
    expect(revivedS(30, [full])).toEqual([])
    expect(revivedS(30, [])).toEqual([])
    expect(revivedS(3, [full, ...died])).toEqual([0])
  })
})

describe("the board's own limit beside the clock", () => {
  const spec = gpuSpecs['3080Ti']!
  const { min, default: top } = spec.powerLimitW

  it('is so many percent above the cap, in tenths of a watt, never above it by rounding', () => {
    expect(hardwareLimit(spec, 150.19, 0)).toEqual({ powerLimitW: 150.1, powerLimitRole: 'hardware-limit' })
    expect(hardwareLimit(spec, 150, 10).powerLimitW).toBe(165)
    // 1.1 times 150.3 is 165.33.
    expect(hardwareLimit(spec, 150.3, 10).powerLimitW).toBe(165.3)
    expect(hardwareLimit(spec, 150, null)).toEqual({})
  })

  it('stays within what the board takes', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1000, noNaN: true }), fc.integer({ min: 0, max: 100 }), (capW, percent) => {
        const { powerLimitW } = hardwareLimit(spec, capW, percent)
        expect(powerLimitW).toBeGreaterThanOrEqual(min)
        expect(powerLimitW).toBeLessThanOrEqual(top)
        const wantedW = capW * (1 + percent / 100)
        if (wantedW >= min && wantedW <= top) {
          expect(powerLimitW! - wantedW).toBeLessThanOrEqual(1e-6)
          expect(wantedW - powerLimitW!).toBeLessThan(0.1)
        }
      }),
    )
  })
})
