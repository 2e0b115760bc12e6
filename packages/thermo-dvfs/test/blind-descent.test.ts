import { describe, expect, it } from 'vitest'
import { BlindDescent } from '../src/blind-descent.js'
import { defaultClockTuning as tuning } from '../src/clock-tuning.js'

const CAP_W = 100
/** Half a watt a state. */
const power = (index: number) => 50 + index / 2

describe('without a reading', () => {
  it('the clock goes down each second by three percent of the cap, to four fifths of it', () => {
    const descent = new BlindDescent(tuning)
    let index = 98
    const powers: number[] = []
    for (let unseenMs = 0; unseenMs <= 15_000; unseenMs += 100) {
      index = descent.step(100_000 + unseenMs, unseenMs, index, CAP_W, power)
      if (unseenMs % 1000 === 500) powers.push(power(index))
    }
    // It waits for three seconds; the last step sets out from above four fifths.
    expect(powers).toEqual([99, 99, 99, 96, 93, 90, 87, 84, 81, 78, 78, 78, 78, 78, 78])
  })

  it('the clock goes down after more than three seconds, and again a second after it did', () => {
    const step = (timeMs: number, unseenMs: number, descent = new BlindDescent(tuning)) =>
      descent.step(timeMs, unseenMs, 98, CAP_W, power)
    expect([step(10_000, 3000), step(10_000, 3001)]).toEqual([98, 92])
    const descent = new BlindDescent(tuning, { steppedMs: 9000 })
    expect([step(9999, 5000, descent), step(10_000, 5000, descent)]).toEqual([98, 92])
  })

  it('the clock stays where it is low enough already, or the lowest', () => {
    const descent = new BlindDescent(tuning)
    expect(descent.step(10_000, 10_000, 60, CAP_W, power)).toBe(60)
    expect(new BlindDescent(tuning).step(10_000, 10_000, 0, CAP_W, () => 500)).toBe(0)
  })
})
