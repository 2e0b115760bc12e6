import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultClockTuning as tuning } from '../src/clock-tuning.js'
import { PowerEstimate } from '../src/power-estimate.js'

/** Some minutes at a clock whose power the firmware trims: where the clock is lower, the load happens to draw more. */
function afterTrimming(): PowerEstimate {
  const estimate = new PowerEstimate(tuning)
  estimate.begin(130)
  for (let i = 0; i < 3000; i++) {
    estimate.age(100)
    estimate.learn(0, i % 3 === 0 ? 128 : 130, 130, 1.3, 0, 'trimmed')
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
      estimate.learn(0, 180, 155, 1.8, 0, 'trimmed')
    }
    expect(estimate.state.slope).toBeCloseTo(0.5, 1)
    expect(estimate.power(180)).toBeCloseTo(155, 0)
    // What was known where it came from is still known.
    expect(Math.abs(estimate.power(130) - 130)).toBeLessThan(2)
  })
})

describe('a reading that full load is only known to exceed', () => {
  it('raises the level, makes nothing surer, and says nothing of the slope', () => {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(200)
    const before = estimate.copy()
    // Tenants that are still coming up draw what the model says of another clock.
    for (let i = 0; i < 10; i++) estimate.learn(1, 260, 280, 5, 0, 'bound')
    expect(estimate.power(260)).toBeGreaterThan(270)
    expect(estimate.state.slope).toBe(before.slope)
    expect(estimate.variance(260)).toBeGreaterThan(0.9 * new PowerEstimate(tuning, before).variance(260))
    // So what is read of full load is believed, and no flat curve is bent through both.
    for (let i = 0; i < 20; i++) estimate.learn(0, 220, 290, 3, 0, 'trimmed')
    expect(estimate.power(220)).toBeGreaterThan(285)
    expect(estimate.state.slope).toBeGreaterThan(0.9)
  })
})

describe('the power far from where it was learnt', () => {
  it('is uncertain by a bend of the curve, however sure its slope is, and soon known where the board comes to run', () => {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(140)
    for (let i = 0; i < 400; i++) estimate.learn(0, i % 20 < 10 ? 138 : 141, i % 20 < 10 ? 138 : 141, 0.2, 0)
    expect(Math.sqrt(estimate.variance(139))).toBeLessThan(1)
    // A line has the lower half of the range to a watt; curves of boards are no lines.
    expect(Math.sqrt(estimate.variance(70))).toBeGreaterThan(4)
    for (let i = 0; i < 5; i++) estimate.learn(0, 70, 78, 0.7, 0)
    expect(Math.abs(estimate.power(70) - 78)).toBeLessThan(1)
    expect(Math.sqrt(estimate.variance(70))).toBeLessThan(1)
  })
})

describe('what is known of the load that ran before', () => {
  it('carries over to other tenants: the ratio to the model, less surely, and its slope with twice the doubt', () => {
    const estimate = afterTrimming()
    for (let i = 0; i < 500; i++) {
      estimate.age(100)
      estimate.learn(0, i % 2 === 0 ? 180 : 130, i % 2 === 0 ? 198 : 143, 1.8, 0, 'trimmed')
    }
    const before = { ...estimate.state }
    const ratio = estimate.power(180) / 180
    estimate.transfer(180, 120)
    expect(estimate.power(120) / 120).toBeCloseTo(ratio, 9)
    const doubt = estimate.state.levelVariance - before.levelVariance
    expect(doubt).toBeGreaterThan(0)
    // Never less certain than before anything was learnt.
    const ratioOfDoubts = (estimate.state.slopeVariance - before.slopeVariance) / doubt
    expect(ratioOfDoubts).toBeGreaterThan(3)
    expect(ratioOfDoubts).toBeLessThan(4 + 1e-9)
    expect(estimate.state.slope).toBe(before.slope)
  })
})

describe('where power rests', () => {
  it('is where the model has the clock of other tenants: what the firmware trims there says nothing of the slope', () => {
    const estimate = afterTrimming()
    estimate.transfer(130, 180)
    const { slope } = estimate.state
    for (let i = 0; i < 10; i++) estimate.learn(0, 180, 190, 1.8, 0, 'trimmed')
    expect(estimate.state.slope).toBe(slope)
    expect(estimate.power(180)).toBeGreaterThan(185)
  })

  it('comes along with the clock, within some seconds of readings', () => {
    const slopesAfter = (readings: number) => {
      const estimate = afterTrimming()
      for (let i = 0; i < readings; i++) estimate.learn(0, 140, 140, 1.4, 0, 'trimmed')
      const { slope } = estimate.state
      estimate.learn(0, 140, 143, 1.4, 0, 'trimmed')
      return estimate.state.slope - slope
    }
    expect(slopesAfter(5)).not.toBe(0)
    expect(slopesAfter(300)).toBe(0)
  })
})

describe('what is known of the power', () => {
  const known = fc.record({
    powersW: fc.array(fc.double({ min: 60, max: 240, noNaN: true }), { minLength: 1, maxLength: 12 }),
    factor: fc.double({ min: 0.7, max: 1.4, noNaN: true }),
    origin: fc.constantFrom('full' as const, 'trimmed' as const),
  })
  const learnt = ({ powersW, factor, origin }: { powersW: number[]; factor: number; origin: 'full' | 'trimmed' }) => {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(powersW[0]!)
    for (const modelW of powersW) estimate.learn(0, modelW, factor * modelW, 1.5, 0, origin)
    return estimate
  }

  it('grows old: never surer, and never less sure than before anything was learnt', () => {
    fc.assert(
      fc.property(known, fc.double({ min: 0, max: 1e6, noNaN: true }), (story, durationMs) => {
        const estimate = learnt(story)
        const before = { ...estimate.state }
        const prior = new PowerEstimate(tuning).state
        estimate.age(durationMs)
        const { levelVariance, slopeVariance, covariance, level, slope } = estimate.state
        expect(levelVariance).toBeGreaterThanOrEqual(Math.min(before.levelVariance, prior.levelVariance))
        expect(levelVariance).toBeLessThanOrEqual(prior.levelVariance)
        expect(slopeVariance).toBeGreaterThanOrEqual(Math.min(before.slopeVariance, prior.slopeVariance))
        expect(slopeVariance).toBeLessThanOrEqual(prior.slopeVariance)
        expect(covariance ** 2).toBeLessThan(levelVariance * slopeVariance)
        expect([level, slope]).toEqual([before.level, before.slope])
      }),
    )
  })

  it('is the same whether time passes at once or in parts', () => {
    fc.assert(
      fc.property(known, fc.double({ min: 0, max: 1e5, noNaN: true }), (story, durationMs) => {
        const [once, often] = [learnt(story), learnt(story)]
        once.age(durationMs)
        for (let i = 0; i < 4; i++) often.age(durationMs / 4)
        expect(often.state.levelVariance).toBeCloseTo(once.state.levelVariance, 12)
        expect(often.state.slopeVariance).toBeCloseTo(once.state.slopeVariance, 12)
      }),
    )
  })

  it('has a variance that is nowhere negative, and no less where the board is to go to', () => {
    fc.assert(
      fc.property(known, fc.double({ min: 20, max: 400, noNaN: true }), (story, modelW) => {
        const estimate = learnt(story)
        expect(estimate.variance(modelW)).toBeGreaterThanOrEqual(0)
        expect(estimate.varianceAhead(modelW)).toBeGreaterThanOrEqual(estimate.variance(modelW))
      }),
    )
  })

  it('comes nearer to what is read, from either side, and does not pass it', () => {
    fc.assert(
      fc.property(known, fc.double({ min: -0.03, max: 0.3, noNaN: true }), (story, off) => {
        const estimate = learnt(story)
        const modelW = story.powersW.at(-1)!
        const before = estimate.power(modelW)
        const readingW = before * (1 + off)
        estimate.learn(0, modelW, readingW, 1.5, 0, story.origin)
        const moved = estimate.power(modelW) - before
        expect(moved * off).toBeGreaterThanOrEqual(-1e-9)
        expect(Math.abs(moved)).toBeLessThanOrEqual(Math.abs(readingW - before) + 1e-9)
      }),
    )
  })
})

describe('a reading far below the estimate', () => {
  it('is not of full load, and teaches nothing', () => {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(150)
    for (let i = 0; i < 100; i++) estimate.learn(1, 150, 150, 3, 0)
    const before = estimate.copy()
    for (let i = 0; i < 3; i++) estimate.learn(1, 150, 50, 3, 0)
    expect(estimate.power(150)).toBe(150)
    expect(estimate.state.slope).toBe(before.slope)
    expect(estimate.state.levelVariance).toBe(before.levelVariance)
  })
})

describe('a state that the board is to go to', () => {
  /** A curve that is twice as steep as the model's, where the board ran. */
  const steep = (): PowerEstimate => {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(150)
    for (let i = 0; i < 400; i++) estimate.learn(0, i % 2 === 0 ? 150 : 140, i % 2 === 0 ? 150 : 130, 1, 0)
    return estimate
  }

  it('may lie on a curve that comes back to the shape of the model', () => {
    const estimate = steep()
    expect(estimate.state.slope).toBeGreaterThan(1.8)
    const { pivotW, slope, level } = estimate.state
    const ahead = (share: number) => {
      const modelW = (1 - share) * pivotW
      return Math.sqrt(estimate.varianceAhead(modelW) - estimate.variance(modelW))
    }
    // Half of what lies between the slope and the model's from a quarter of the way to zero on, and before that less.
    const between = (share: number) => 0.5 * share * pivotW * (slope - level)
    expect(ahead(0.4)).toBeCloseTo(between(0.4), 6)
    expect(ahead(0.25)).toBeCloseTo(between(0.25), 6)
    expect(ahead(0.1)).toBeCloseTo(0.4 * between(0.1), 6)
    expect(estimate.varianceAhead(estimate.state.pivotW)).toBe(estimate.variance(estimate.state.pivotW))
  })

  it('draws more than the present one by as much as the slope and a bend of the curve leave open', () => {
    const estimate = steep()
    expect(estimate.riseVariance(0)).toBe(0)
    expect(estimate.riseVariance(60)).toBeGreaterThan(4 * estimate.riseVariance(30))
    expect(Math.sqrt(estimate.riseVariance(60))).toBeGreaterThan(60 * Math.sqrt(estimate.state.slopeVariance))
  })
})

describe('readings above the estimate', () => {
  /** The level that is known to 0.5 %, and after so many readings of a sensor that lie some standard deviations above it. */
  function after(count: number, sigmas: number, sensor: 0 | 1): { readonly doubted: boolean; readonly powerW: number } {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(150)
    for (let i = 0; i < 400; i++) estimate.learn(sensor, 150, 150, 3, 0, 'trimmed')
    const before = estimate.state.levelVariance
    const highest = { variance: before }
    for (let i = 0; i < count; i++) {
      estimate.learn(sensor, 150, estimate.power(150) + sigmas * Math.sqrt(estimate.variance(150) + 9), 3, 0, 'trimmed')
      highest.variance = Math.max(highest.variance, estimate.state.levelVariance)
    }
    return { doubted: highest.variance > 4 * before, powerW: estimate.power(150) }
  }

  it('are a fact when two surprise, or when four instant ones are two standard deviations too high', () => {
    expect([after(1, 20, 1).doubted, after(2, 3.1, 1).doubted]).toEqual([false, true])
    expect([after(3, 2.1, 1).doubted, after(4, 2.1, 1).doubted]).toEqual([false, true])
    expect(after(40, 0.9, 1).doubted).toBe(false)
    // Successive averages have most of their second in common.
    expect([after(1, 20, 0).doubted, after(2, 3.1, 0).doubted, after(40, 1.9, 0).doubted]).toEqual([false, true, false])
  })

  it('are no fact where lower ones lie between them', () => {
    const estimate = new PowerEstimate(tuning)
    estimate.begin(150)
    for (let i = 0; i < 400; i++) estimate.learn(1, 150, 150, 3, 0, 'trimmed')
    const before = estimate.state.levelVariance
    for (let i = 0; i < 300; i++)
      estimate.learn(1, 150, estimate.power(150) + (i % 2 === 0 ? 7.5 : -7.5), 3, 0, 'trimmed')
    expect(estimate.state.levelVariance).toBeLessThan(2 * before)
  })

  it('speak of a power of the model: the one that the line has for them', () => {
    const estimate = afterTrimming()
    for (const powerW of [60, 130, 200]) expect(estimate.power(estimate.modelled(powerW))).toBeCloseTo(powerW, 9)
  })
})
