import { describe, expect, it } from 'vitest'
import { type PausingCase, pausingRun } from './pausing-board.js'

const cases: PausingCase[] = [
  { reading: 'part-time', gain: 0.9, lagMs: 1000, pauses: [2000, 1000] },
  { reading: 'part-time', gain: 1, pauses: [800, 200] },
  { reading: 'part-time', gain: 1.6, pauses: [2000, 1000] },
  { reading: 'both', gain: 1.6, pauses: [3000, 3000] },
  { reading: 'both', gain: 1.2, pauses: [2000, 1000] },
  { reading: 'both', gain: 1, lagMs: 1000, pauses: [2000, 1000] },
  { reading: 'both', gain: 0.9, lagMs: 1000, pauses: [3000, 3000] },
  { reading: 'one-second-average', gain: 0.9, lagMs: 1000, pauses: [2000, 1000] },
  { reading: 'one-second-average', gain: 1.6, pauses: [3000, 3000] },
  { reading: 'one-second-average', gain: 1.2, lagMs: 1000, pauses: [8000, 8000] },
]

describe('a load that pauses again and again, nothing but the clock holding the cap', () => {
  it.each(cases)('$reading, true power $gain of the model, $pauses ms', (given) => {
    const { violationPercent, longestMs, full } = pausingRun(given)
    expect(violationPercent).toBeLessThanOrEqual(1)
    expect(longestMs).toBeLessThanOrEqual(2000)
    expect(full).toBeGreaterThan(0.94)
  })
})
