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
})
