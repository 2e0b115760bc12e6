import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BarredClock } from '../src/barred-clock.js'

const FIRST_MS = 5000
const CAP_W = 100
/** Of a state that draws about the cap. */
const atCap = () => 99
/** Of one that draws clearly less by now. */
const clear = () => 96.9

/** How long a state is barred from a time on, by what its power is estimated at, ms. */
function barredMs(barred: BarredClock, timeMs: number, power: (index: number) => number): number {
  let lastedMs = 0
  while (barred.highest(timeMs + lastedMs, CAP_W, power) !== Number.POSITIVE_INFINITY) lastedMs += 100
  return lastedMs
}

describe('a state that proved too high', () => {
  it('is not tried again for a while, and those below it may be', () => {
    const barred = new BarredClock(FIRST_MS)
    expect(barred.highest(0, CAP_W, atCap)).toBe(Number.POSITIVE_INFINITY)
    barred.bar(1000, 12)
    expect(barred.highest(1000, CAP_W, atCap)).toBe(11)
    expect(barred.highest(5999, CAP_W, atCap)).toBe(11)
    expect(barred.highest(6000, CAP_W, atCap)).toBe(Number.POSITIVE_INFINITY)
  })

  it('is barred twice as long each time that it was tried again and failed, 64 times as long at most', () => {
    const barred = new BarredClock(FIRST_MS)
    const lasted: number[] = []
    let timeMs = 0
    for (let failure = 0; failure < 9; failure++) {
      barred.bar(timeMs, 12)
      lasted.push(barredMs(barred, timeMs, atCap) / FIRST_MS)
      timeMs += lasted.at(-1)! * FIRST_MS + 1000
      barred.raised()
    }
    expect(lasted).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64])
  })

  it('is one failure with others on one way down, and begins anew with each', () => {
    const barred = new BarredClock(FIRST_MS)
    for (const [step, index] of [12, 11, 10].entries()) barred.bar(1000 + 100 * step, index)
    expect(barred.highest(1200, CAP_W, atCap)).toBe(9)
    expect(barredMs(barred, 1200, atCap)).toBe(FIRST_MS)
  })

  it('is a first failure again where the last bar ended the longest bar ago, or another cap holds', () => {
    const failAgainAfter = (ms: number) => {
      const barred = new BarredClock(FIRST_MS)
      barred.bar(0, 12)
      barred.raised()
      barred.bar(FIRST_MS + ms, 12)
      return barredMs(barred, FIRST_MS + ms, atCap)
    }
    expect(failAgainAfter(64 * FIRST_MS - 100)).toBe(2 * FIRST_MS)
    expect(failAgainAfter(64 * FIRST_MS)).toBe(FIRST_MS)
    const barred = new BarredClock(FIRST_MS)
    barred.bar(0, 12)
    barred.raised()
    barred.forget(1000)
    expect(barred.highest(1000, CAP_W, atCap)).toBe(Number.POSITIVE_INFINITY)
    barred.bar(2000, 12)
    expect(barredMs(barred, 2000, atCap)).toBe(FIRST_MS)
  })

  it('is free after the first bar where it draws clearly less by now; where such loads come back, after twice that', () => {
    const barred = new BarredClock(FIRST_MS)
    let timeMs = 0
    for (let failure = 0; failure < 4; failure++) {
      barred.bar(timeMs, 12)
      timeMs += barredMs(barred, timeMs, atCap)
      barred.raised()
    }
    // Barred for 16 first bars now.
    barred.bar(timeMs, 12)
    expect(barred.highest(timeMs + FIRST_MS, CAP_W, () => 97)).toBe(11)
    expect(barred.highest(timeMs + FIRST_MS - 100, CAP_W, clear)).toBe(11)
    expect(barred.highest(timeMs + FIRST_MS, CAP_W, clear)).toBe(Number.POSITIVE_INFINITY)
    for (const times of [2, 4, 8]) {
      timeMs += 10 * FIRST_MS
      barred.raised()
      barred.bar(timeMs, 12)
      expect(barredMs(barred, timeMs, clear)).toBe(times * FIRST_MS)
    }
  })

  it('is barred longer where such loads come back only for a bar that was lifted early, once', () => {
    const barred = new BarredClock(FIRST_MS)
    let timeMs = 0
    const again = (power: (index: number) => number) => {
      barred.raised()
      barred.bar(timeMs, 12)
      const lastedMs = barredMs(barred, timeMs, power)
      timeMs += lastedMs + 1000
      return lastedMs / FIRST_MS
    }
    // The second is lifted; what lasts as long as it may, is not.
    expect([atCap, clear, clear, atCap, atCap, clear].map(again)).toEqual([1, 1, 2, 8, 16, 4])
  })

  it('is freed by its own power, and never later because that is less', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 50_000 }), { minLength: 1, maxLength: 8 }), (waits) => {
        const story = (power: (index: number) => number) => {
          const barred = new BarredClock(FIRST_MS)
          let timeMs = 0
          for (const waitMs of waits) {
            timeMs += waitMs
            barred.raised()
            barred.bar(timeMs, 7)
          }
          return barredMs(barred, timeMs, power)
        }
        const asked = new Set<number>()
        const light = story((index) => {
          asked.add(index)
          return 50
        })
        expect(light).toBeLessThanOrEqual(story(atCap))
        expect(light).toBe(FIRST_MS)
        expect([...asked].every((index) => index === 7)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})
