import { describe, expect, it } from 'vitest'
import { defaultClockTuning as tuning } from '../src/clock-tuning.js'
import { FullLoadPower } from '../src/full-load-power.js'

const modelW = [60, 90, 120, 150]

/** Has learnt, to a watt, that the board draws a factor of what the model says, last of all at 120 W of the model. */
function learnt(factor: number): FullLoadPower {
  const power = new FullLoadPower(tuning)
  power.setModel(modelW, null)
  power.begin(120)
  for (const w of [60, 90, 150, 120]) for (let i = 0; i < 200; i++) power.estimate.learn(1, w, factor * w, 1, 0)
  return power
}

describe('the power at full load', () => {
  it('is the model before anything was read, around the highest clock within the cap', () => {
    const power = new FullLoadPower(tuning)
    power.setModel([60, 90, 85, 150], null)
    // Where the model falls along the clock, the highest power up to there counts.
    expect(power.modelW).toEqual([60, 90, 90, 150])
    expect([1000, 150, 149, 90, 60, 10].map((capW) => power.begin(capW))).toEqual([3, 3, 2, 2, 0, 0])
    expect(power.estimate.power(90)).toBe(90)
    power.begin(90)
    expect(power.estimate.state.pivotW).toBe(90)
    expect(power.highestW).toBe(150)
  })

  it('is what readings say, and the most that can be thought is no less than the model', () => {
    const [more, less] = [learnt(1.1), learnt(0.8)]
    expect(more.estimate.power(150)).toBeCloseTo(165, 0)
    expect(more.highestW).toBeCloseTo(165, 0)
    expect(less.estimate.power(150)).toBeCloseTo(120, 0)
    expect(less.highestW).toBe(150)
  })

  it('of the highest state that surely stays within a bound is near that bound, and surer where less sigmas are asked for', () => {
    const power = learnt(1.1)
    expect(power.highestWithin(133, 0)).toBe(2)
    expect(power.highestWithin(131, 0)).toBe(1)
    expect(power.highestWithin(10, 0)).toBe(0)
    expect(power.highestWithin(133, 3)).toBe(2)
    const fresh = new FullLoadPower(tuning)
    fresh.setModel(modelW, null)
    fresh.begin(120)
    expect(fresh.highestWithin(121, 0)).toBe(2)
    // Nothing was read yet: with its uncertainty it may be above; a wider second bound allows it.
    expect(fresh.highestWithin(121, 3)).toBeLessThan(2)
    expect(fresh.highestWithin(121, 3, 1000)).toBe(2)
  })

  it('stays within a second bound by as many standard deviations as are asked for', () => {
    const power = new FullLoadPower(tuning)
    power.setModel([60, 80, 90, 100, 110, 120, 150], null)
    power.begin(100)
    for (let i = 0; i < 3; i++) power.estimate.learn(0, 100, 100, 4, 0)
    const upTo = (index: number, sigmas: number) =>
      power.estimate.power(power.modelW[index]!) + sigmas * Math.sqrt(power.estimate.variance(power.modelW[index]!))
    for (const sigmas of [0, 0.5, 1.5, 3]) {
      for (const index of [1, 2, 3, 4, 5, 6]) {
        expect(power.highestWithin(1000, sigmas, upTo(index, sigmas) + 0.001)).toBe(index)
        expect(power.highestWithin(1000, sigmas, upTo(index, sigmas) - 0.001)).toBe(index - 1)
      }
    }
  })

  it('has nothing to carry over to the first model', () => {
    const power = new FullLoadPower(tuning)
    power.setModel(modelW, 2)
    expect(power.begin(120)).toBe(2)
    expect(power.estimate.power(90)).toBe(90)
  })

  it('carries its ratio to the model over to another model where a clock runs, and not where none does', () => {
    const running = learnt(1.1)
    running.setModel([40, 60, 80, 100], 2)
    expect(running.estimate.power(80)).toBeCloseTo(88, 0)
    expect(running.estimate.state.pivotW).toBe(80)
    const variance = running.estimate.variance(80)
    expect(Math.sqrt(variance) / 80).toBeGreaterThanOrEqual(tuning.plantChangePercent / 100)
    const idle = learnt(1.1)
    idle.setModel([40, 60, 80, 100], null)
    expect(idle.estimate.state.pivotW).toBe(120)
  })

  it('remembers a heavier load that was measured, until it is back', () => {
    const power = learnt(1.1)
    power.relearn(120, 90)
    expect(power.estimate.power(120)).toBeCloseTo(90, 6)
    power.relearn(120, 80)
    expect(power.recallHeavier()).toBe(true)
    expect(power.estimate.power(120)).toBeCloseTo(132, 0)
    expect(power.recallHeavier()).toBe(false)
    power.relearn(120, 140)
    expect(power.recallHeavier()).toBe(false)
    const unmeasured = new FullLoadPower(tuning)
    unmeasured.setModel(modelW, null)
    unmeasured.begin(120)
    unmeasured.relearn(120, 90)
    expect(unmeasured.recallHeavier()).toBe(false)
  })

  it('of another load is no surer than that of new tenants', () => {
    const power = learnt(1.1)
    const sd = () => Math.sqrt(power.estimate.variance(power.estimate.state.pivotW)) / power.estimate.state.pivotW
    const before = sd()
    power.relearn(120, 90)
    expect(before).toBeLessThan(tuning.plantChangePercent / 200)
    expect(sd()).toBeCloseTo(Math.hypot(before, tuning.plantChangePercent / 100), 9)
  })

  it('forgets what readings taught that stood still', () => {
    const power = learnt(1.1)
    power.keep()
    power.relearn(120, 100)
    expect(power.estimate.power(120)).toBeCloseTo(100, 6)
    power.rollBack()
    expect(power.estimate.power(120)).toBeCloseTo(132, 0)
    // There is nothing to go back to a second time.
    power.relearn(120, 100)
    power.rollBack()
    expect(power.estimate.power(120)).toBeCloseTo(100, 6)
  })

  it('goes on from its state as it would have', () => {
    const power = learnt(1.1)
    power.relearn(120, 90)
    const again = new FullLoadPower(tuning, structuredClone(power.state))
    expect(again.state).toEqual(power.state)
    expect(again.recallHeavier()).toBe(true)
  })
})
