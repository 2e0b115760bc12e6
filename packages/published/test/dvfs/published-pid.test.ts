import { describe, expect, it } from 'vitest'
import { PublishedPid, publishedPidGains } from '../../src/dvfs/index.js'
import type { PublishedPidGains } from '../../src/dvfs/published-pid.js'

// Clocks so fine that every term of a step shows: the clock in MHz is its own index.
const clocksMhz = Array.from({ length: 4_000_001 }, (_, i) => i)
const AT = 1_000_000
const CAP_W = 100

/** The Python code's `PIDController(kp=7e-4, ki=4e-5, kd=5e-6)`, retyped from its program. */
const [kp, ki, kd] = [7e-4, 4e-5, 5e-6]

/** The steps of a controller that is always told the same clock, as relative changes of the index. */
function steps(errorsW: readonly number[], gains?: PublishedPidGains): number[] {
  const pid = new PublishedPid(clocksMhz, gains)
  return errorsW.map((errorW) => pid.step(AT, CAP_W - errorW, CAP_W) / AT - 1)
}

const expectSteps = (errorsW: readonly number[], expected: readonly number[]) => {
  const taken = steps(errorsW)
  for (const [i, delta] of expected.entries()) expect(taken[i], `step ${i + 1}`).toBeCloseTo(delta, 5)
}

describe('PublishedPid, term by term', () => {
  it('has the gains of the published program unless told otherwise', () => {
    expect(steps([8, -12])).toEqual(steps([8, -12], { kp: 7e-4, ki: 4e-5, kd: 5e-6, alpha: 0.97 }))
    expect(publishedPidGains).toEqual({ kp: 7e-4, ki: 4e-5, kd: 5e-6, alpha: 0.97 })
  })

  it('wants a clock, and is content with one', () => {
    expect(() => new PublishedPid([])).toThrow(expect.objectContaining({ field: 'smClocksMhz' }))
    expect(new PublishedPid([900]).step(900, 50, 100)).toBe(900)
  })

  it('forgets in its band how often it was at an end of the clocks in vain', () => {
    // At the highest clock with room for 8 W: in vain, which makes the integral count a hundred times as much.
    const after = (...betweenW: readonly number[]) => {
      const pid = new PublishedPid(clocksMhz)
      pid.step(clocksMhz.at(-1)!, CAP_W - 8, CAP_W)
      for (const errorW of betweenW) pid.step(AT, CAP_W - errorW, CAP_W)
      return pid.step(AT, CAP_W - 1, CAP_W) / AT - 1
    }
    expect(after()).toBeCloseTo(kp + 100 * ki * (8 + 1) + kd * (1 - 2 * 8), 5)
    expect(after(2.5)).toBeCloseTo(kp + ki + kd * (1 - 2 * 8), 5)
  })

  it('adds error, sum of the errors and second difference near the cap', () => {
    const e = [8, 9, 7]
    expectSteps(e, [
      (kp + ki + kd) * 8,
      kp * 9 + ki * (8 + 9) + kd * (9 - 2 * 8),
      kp * 7 + ki * (8 + 9 + 7) + kd * (7 - 2 * 9 + 8),
    ])
  })

  it.each([
    [10.5, 10, true],
    [20, 10, true],
    [21, 5, false],
    [30, 5, false],
    [31, 10, false],
    [50, 10, false],
    [51, 10, false],
  ])(
    'at an error of %d W of 100 multiplies the proportional gain by %d, and uses the integral: %s',
    (errorW, gain, integral) => {
      expectSteps([errorW], [(kp * gain + (integral ? ki : 0) + kd) * errorW])
    },
  )

  it.each([
    [25, 1 / 2],
    [40, 1 / 3],
    [60, 1 / 4],
  ])('after an error of %d W of 100 goes on with %d of it as the integral', (errorW, part) => {
    const [, second] = steps([errorW, 8])
    expect(second).toBeCloseTo(kp * 8 + ki * (part * errorW + 8) + kd * (8 - 2 * errorW), 5)
  })

  it('forgets the integral where the error changes sign, for that step altogether', () => {
    expectSteps(
      [8, -7, -6],
      [(kp + ki + kd) * 8, kp * -7 + kd * (-7 - 2 * 8), kp * -6 + ki * -6 + kd * (-6 - 2 * -7 + 8)],
    )
  })

  it('holds between 97 % of the cap and 2 % below it, and forgets the integral there', () => {
    const pid = new PublishedPid(clocksMhz)
    pid.step(AT, CAP_W - 8, CAP_W)
    expect(pid.step(AT, CAP_W - 3, CAP_W)).toBe(AT)
    expect(pid.step(AT, CAP_W - 2.1, CAP_W)).toBe(AT)
    // The errors of before the hold are still the last ones.
    expect(pid.step(AT, CAP_W - 8, CAP_W) / AT - 1).toBeCloseTo(kp * 8 + ki * 8 + kd * (8 - 2 * 8), 5)
    expect(pid.step(AT, CAP_W - 2, CAP_W)).not.toBe(AT)
    expect(pid.step(AT, CAP_W - 3.1, CAP_W)).not.toBe(AT)
  })

  it('multiplies the integral gain by 100 for each step that moved nothing far from the cap', () => {
    const gains = { kp: 0, ki: 1e-6, kd: 0, alpha: 0.97 }
    const pid = new PublishedPid(clocksMhz, gains)
    for (let repeat = 0; repeat < 2; repeat++) expect(pid.step(0, CAP_W + 6, CAP_W)).toBe(0)
    expect(pid.step(AT, CAP_W + 6, CAP_W) / AT - 1).toBeCloseTo(1e-6 * 100 ** 2 * -18, 5)
    // That moved, so the next one counts from nothing.
    expect(pid.step(AT, CAP_W + 6, CAP_W) / AT - 1).toBeCloseTo(1e-6 * -24, 6)
  })

  it('does not count standing still at less than 5 % from the cap', () => {
    const pid = new PublishedPid(clocksMhz)
    expect(pid.step(0, CAP_W + 5, CAP_W)).toBe(0)
    expect(pid.step(AT, CAP_W + 6, CAP_W) / AT - 1).toBeCloseTo(kp * -6 + ki * -11 + kd * (-6 + 10), 5)
  })

  it('forgets what it knew under another cap', () => {
    const pid = new PublishedPid(clocksMhz)
    pid.step(AT, 92, 100)
    expect(pid.step(AT, 192, 200) / AT - 1).toBeCloseTo((kp + ki + kd) * 8, 5)
  })

  it('moves by one clock where a step up would round to none, and stays on the table', () => {
    const few = new PublishedPid([600, 900, 1200])
    expect(few.step(900, 92, 100)).toBe(1200)
    expect(few.step(1200, 20, 100)).toBe(1200)
    expect(few.step(600, 400, 100)).toBe(600)
    expect(new PublishedPid([600, 900, 1200]).step(1200, 101, 100)).toBe(900)
  })
})
