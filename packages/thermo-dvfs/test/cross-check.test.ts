import { describe, expect, it } from 'vitest'
import { CrossCheck } from '../src/cross-check.js'

function compared(pairs: readonly (readonly [seconds: number, first: number, second: number])[]): CrossCheck {
  const check = new CrossCheck()
  let timeMs = 0
  for (const [seconds, first, second] of pairs) {
    for (let i = 0; i < 10 * seconds; i++) {
      timeMs += 100
      check.compare(timeMs, 100, first, second)
    }
  }
  return check
}

describe('CrossCheck', () => {
  it('takes a constant ratio for the witnesses own errors', () => {
    expect(compared([[60, 150, 153]])).toMatchObject({ disagrees: false, correction: 1 })
  })

  it('says by how much a reading has become too low, and when that is over', () => {
    const low = compared([
      [20, 150, 153],
      [4, 142.5, 153],
    ])
    expect(low.disagrees).toBe(true)
    expect(low.correction).toBeCloseTo(150 / 142.5, 2)
    const over = compared([
      [20, 150, 153],
      [4, 142.5, 153],
      [4, 150, 153],
    ])
    expect(over.correction).toBe(1)
  })

  it('disagrees from the start where the two are further apart than sensors are', () => {
    expect(compared([[4, 140, 153]]).disagrees).toBe(true)
  })

  /** Compares one window of two seconds for each ratio of the second power to the first. */
  function windows(...ratios: readonly number[]): CrossCheck {
    const check = new CrossCheck()
    for (const [i, ratio] of ratios.entries()) check.compare(2000 * (i + 1), 2000, 100, 100 * ratio)
    return check
  }

  it('takes them for apart beyond six percent at first, and beyond three once they have agreed', () => {
    for (const side of [1, -1]) {
      expect([windows(1 + 0.059 * side).disagrees, windows(1 + 0.061 * side).disagrees]).toEqual([false, true])
      expect([windows(1, 1, 1 + 0.059 * side), windows(1, 1, 1, 1 + 0.031 * side)].map((c) => c.disagrees)).toEqual([
        false,
        true,
      ])
      expect(windows(1, 1, 1, 1 + 0.029 * side).disagrees).toBe(false)
    }
  })

  it('has the mean of what they agreed at for the baseline, begun with none, and of late the last 40 s', () => {
    for (const agreed of [1, 2, 5, 12]) {
      const baseline = (1 + 1.02 * agreed) / (agreed + 1)
      expect(windows(...new Array<number>(agreed).fill(1.02), 1.2).correction).toBeCloseTo(1.2 / baseline, 9)
    }
    const late = windows(...new Array<number>(200).fill(1), ...new Array<number>(15).fill(1.02), 1.2)
    expect(late.correction).toBeCloseTo(1.2 / (1.02 - 0.02 * (1 - 1 / 20) ** 15), 9)
  })

  it('concludes after two seconds that were not interrupted, and not before', () => {
    const check = new CrossCheck()
    check.compare(1000, 1000, 100, 70)
    expect(check.disagrees).toBe(false)
    check.interrupt()
    check.compare(2500, 1000, 100, 70)
    check.compare(3499, 999, 100, 70)
    expect(check.disagrees).toBe(false)
    check.compare(3500, 1, 100, 70)
    expect(check.correction).toBeCloseTo(0.7, 9)
  })

  it('concludes after one second where the reading is too low', () => {
    const check = new CrossCheck()
    check.compare(1900, 999, 100, 130)
    expect(check.contradicts).toBe(true)
    expect(check.disagrees).toBe(false)
    check.compare(1901, 1, 100, 130)
    expect(check.correction).toBeCloseTo(1.3, 9)
    expect(check.contradicts).toBe(false) // the next window is empty
  })
})
