import { describe, expect, it } from 'vitest'
import { type PausingCase, pausingRun } from './pausing-board.js'

const readings: PausingCase['reading'][] = ['both', 'one-second-average', 'part-time']

describe('readings that are late, nothing but the clock holding the cap', () => {
  it.each(
    readings.flatMap((reading) =>
      [600, 1000, 1800].flatMap((lagMs) => [0.6, 1, 1.5].map((gain) => ({ reading, lagMs, gain }))),
    ),
  )('$reading, $lagMs ms late, true power $gain of the model', (given) => {
    const { violationPercent, longestMs, full, changes } = pausingRun(given)
    expect(violationPercent).toBeLessThanOrEqual(1)
    expect(longestMs).toBeLessThanOrEqual(2000)
    expect(full).toBeGreaterThan(0.96)
    expect(changes).toBeLessThan(25)
  })
})
