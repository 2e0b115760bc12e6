import { describe, expect, it } from 'vitest'
import { RunClock } from '../src/run-clock.js'

const clocksMhz = [600, 615, 630, 660, 690]
const modelW = [60, 65, 70, 80, 90]

describe('the clock that a board runs', () => {
  it('is measured in steps of the table from the one that was asked for', () => {
    const clock = new RunClock(clocksMhz)
    expect(clock.see(0, 630, 2, false)).toBe(0)
    expect(clock.see(100, 600, 1, false)).toBe(-1)
    // The wider of the two steps beside it.
    expect(clock.see(200, 600, 2, false)).toBe(-1)
    expect(clock.see(300, 690, 0, false)).toBe(6)
    expect(clock.see(400, null, 0, false)).toBeNull()
    // Where there is but one clock, a step is a megahertz.
    const only = new RunClock([600])
    expect([only.see(0, 602, 0, false), only.modelled([60], 0)]).toEqual([2, 60])
  })

  it('is the highest of the table that it reaches, and the one asked for where none is measured', () => {
    const clock = new RunClock(clocksMhz)
    expect(clock.indexNear(3)).toBe(3)
    const near = (mhz: number) => {
      clock.see(0, mhz, 4, false)
      return clock.indexNear(4)
    }
    expect([590, 600, 614, 615, 659, 660, 690, 800].map(near)).toEqual([0, 0, 0, 1, 2, 3, 4, 4])
  })

  it('draws by the model in proportion between two of the table, and no more than its ends beyond them', () => {
    const clock = new RunClock(clocksMhz)
    expect(clock.modelled(modelW, 3)).toBe(80)
    const drawn = (mhz: number) => {
      clock.see(0, mhz, 4, false)
      return clock.modelled(modelW, 4)
    }
    expect([500, 600, 606, 630, 645, 690, 800].map(drawn)).toEqual([60, 60, 62, 70, 75, 90, 90])
  })

  it('goes on as it was where a request was refused and nothing measured', () => {
    const clock = new RunClock(clocksMhz)
    clock.see(0, 630, 2, false)
    clock.see(100, null, 4, true)
    expect(clock.indexNear(4)).toBe(2)
    clock.see(200, null, 4, false)
    expect(clock.indexNear(4)).toBe(4)
  })
})

describe('a request for a clock', () => {
  /** Asked for at each time, and shown so much later. */
  function answered(...afterMs: readonly number[]): RunClock {
    const clock = new RunClock(clocksMhz)
    let timeMs = 0
    let index = 0
    clock.see(timeMs, clocksMhz[index]!, index, false)
    for (const ms of afterMs) {
      timeMs += 10_000
      const before = clocksMhz[index]!
      index = 4 - index
      clock.ask(timeMs)
      for (let waited = 100; waited < ms; waited += 100) clock.see(timeMs + waited, before, index, false)
      clock.see(timeMs + ms, clocksMhz[index]!, index, false)
    }
    return clock
  }

  it('that shows with the next sample is answered at once', () => {
    expect(answered(100).answerMs).toBe(0)
    expect(answered(250, 200).answerMs).toBe(0)
  })

  it('that shows later tells how late, believed at once where it is longer and slowly where it is shorter', () => {
    expect(answered(800).answerMs).toBe(550)
    expect(answered(800, 1200).answerMs).toBe(950)
    expect(answered(800, 100).answerMs).toBeCloseTo(0.8 * 550, 9)
    // Nobody waits for so long: it was lost, and what shows now is another one.
    expect(answered(9000).answerMs).toBe(0)
    expect([answered(2750).answerMs, answered(2751).answerMs]).toEqual([2500, 0])
  })

  it('has shown where the measured clock is within three quarters of a step of it', () => {
    const answerMs = (shownMhz: number) => {
      const clock = new RunClock(clocksMhz)
      clock.see(0, 600, 0, false)
      clock.ask(1000)
      clock.see(1800, shownMhz, 4, false)
      clock.see(1900, 690, 4, false)
      return clock.answerMs
    }
    // A step is 30 MHz up there.
    expect([690, 667.5, 712.5].map(answerMs)).toEqual([550, 550, 550])
    expect([667, 713].map(answerMs)).toEqual([0, 0])
  })

  it('that was refused is not underway, whatever is measured', () => {
    const clock = new RunClock(clocksMhz)
    clock.see(0, 600, 0, false)
    clock.ask(1000)
    clock.see(1100, 600, 4, true)
    expect(clock.underway(1100)).toBe(false)
  })

  it('is underway until it shows, or for as long as is usual here', () => {
    const clock = new RunClock(clocksMhz)
    expect(clock.underway(0)).toBe(false)
    clock.see(0, 600, 0, false)
    clock.ask(1000)
    expect([1000, 1300, 1400].map((timeMs) => clock.underway(timeMs))).toEqual([true, true, false])
    clock.see(1200, 690, 4, false)
    expect(clock.underway(1200)).toBe(false)
    const late = answered(800)
    late.ask(50_000)
    expect([50_900, 50_950].map((timeMs) => late.underway(timeMs))).toEqual([true, false])
  })

  it('that firmware answers with a third clock tells nothing of the time', () => {
    const clock = new RunClock(clocksMhz)
    clock.see(0, 600, 0, false)
    clock.ask(1000)
    clock.see(1500, 645, 4, false)
    expect(clock.underway(1500)).toBe(false)
    clock.see(2000, 690, 4, false)
    expect(clock.answerMs).toBe(0)
  })
})
