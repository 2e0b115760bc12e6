import { describe, expect, it } from 'vitest'
import { verdict } from '../src/verdict/verdict.js'
import { metricsOf } from './power-steps.js'

describe('verdict', () => {
  // A run of 100.5 s under 100 W, of which the average is in excess for `ms` plus the ramp: level 101 W, 99 W else.
  const withExcess = (ms: number) =>
    verdict(
      metricsOf(
        { ms: 50_500, watts: 99, capW: 100 },
        { ms, watts: 103, capW: 100 },
        { ms: 50_000 - ms, watts: 99, capW: 100 },
      ),
    )

  it('holds up to 2 % of the time above the cap and violates beyond', () => {
    // The ramps of the average are symmetric about the level, so the time in excess is that of the pulse.
    expect(withExcess(1990).status).toBe('holds')
    expect(withExcess(2010).status).toBe('violates')
  })

  it('says why in words', () => {
    expect(withExcess(1990).reason).toBe(
      '1 s average more than 1 % above the cap for 1.99 % of the time (2 % allowed), at most 2.0 s on end',
    )
    expect(verdict(metricsOf({ ms: 9000, watts: 90, capW: 100 }, { ms: 1000, watts: null, capW: 100 }))).toEqual({
      status: 'holds',
      reason: '1 s average never more than 1 % above the cap; power known for only 90 % of the run',
    })
  })

  it('does not judge where no power is known', () => {
    expect(verdict(metricsOf({ ms: 10_000, watts: null, capW: 100 })).status).toBe('unknown')
  })
})
