import { describe, expect, it } from 'vitest'
import { defaultClockTuning as tuning } from '../src/clock-tuning.js'
import { PowerEstimate } from '../src/power-estimate.js'

/** Some minutes at a clock whose power the firmware trims: where the clock is lower, the load happens to draw more. */
function afterTrimming(): PowerEstimate {
  const estimate = new PowerEstimate(tuning)
  estimate.begin(130)
  for (let i = 0; i < 3000; i++) {
    estimate.age(100)
    estimate.learn(0, i % 3 === 0 ? 128 : 130, 130, 1.3, 0, true)
  }
  return estimate
}

describe('the slope of power along the clock', () => {
  it('is not learnt from small moves, which firmware makes because power is high', () => {
    const estimate = afterTrimming()
    expect(estimate.power(130)).toBeGreaterThan(129.9)
    expect(estimate.power(130)).toBeLessThan(132)
    expect(estimate.state.slope).toBe(1)
    // So a far clock is estimated by the model, and known to be uncertain.
    expect(estimate.power(180)).toBeGreaterThan(178)
    expect(Math.sqrt(estimate.variance(180))).toBeGreaterThan(10)
  })

  it('is learnt from a large one', () => {
    const estimate = afterTrimming()
    for (let i = 0; i < 50; i++) {
      estimate.age(100)
      estimate.learn(0, 180, 155, 1.8, 0, true)
    }
    expect(estimate.state.slope).toBeCloseTo(0.5, 1)
    expect(estimate.power(180)).toBeCloseTo(155, 0)
    // What was known where it came from is still known.
    expect(Math.abs(estimate.power(130) - 130)).toBeLessThan(2)
  })
})

describe('what is known of the load that ran before', () => {
  it('carries over to other tenants: the ratio to the model, less surely, and its slope with twice the doubt', () => {
    const estimate = afterTrimming()
    for (let i = 0; i < 500; i++) {
      estimate.age(100)
      estimate.learn(0, i % 2 === 0 ? 180 : 130, i % 2 === 0 ? 198 : 143, 1.8, 0, true)
    }
    const before = { ...estimate.state }
    const ratio = estimate.power(180) / 180
    estimate.transfer(180, 120)
    expect(estimate.power(120) / 120).toBeCloseTo(ratio, 9)
    const doubt = estimate.state.levelVariance - before.levelVariance
    expect(doubt).toBeGreaterThan(0)
    expect((estimate.state.slopeVariance - before.slopeVariance) / doubt).toBeCloseTo(4, 1)
    expect(estimate.state.slope).toBe(before.slope)
  })
})
