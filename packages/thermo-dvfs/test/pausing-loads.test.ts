import { describe, expect, it } from 'vitest'
import { type PausingCase, pausingRun } from './pausing-board.js'

const cases: PausingCase[] = [
  { reading: 'part-time', gain: 0.7, lagMs: 1000, pauses: [500, 500] },
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

/** What a one-second average says of a power over time, ten times a second. */
function averages(powerAt: (timeMs: number) => number): number[] {
  return Array.from({ length: 100 }, (_, i) => {
    let sumW = 0
    for (let timeMs = 100 * i; timeMs < 100 * i + 1000; timeMs += 10) sumW += powerAt(timeMs)
    return sumW / 100
  })
}

describe('what nobody can see', () => {
  // Its counters go on, too: no tenant stands still for long enough to be missed. So both get the same answers.
  it('a one-second average of a load that pauses in every second is that of a lighter load', () => {
    const pausing = averages((timeMs) => (timeMs % 1000 < 700 ? 150 : 50))
    const lighter = averages(() => 120)
    for (const [i, powerW] of pausing.entries()) expect(powerW).toBeCloseTo(lighter[i]!, 9)
  })
})
