import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { disturbedStories, liveDisturbed } from './disturbed-board.js'

describe('after whatever went wrong', () => {
  it('the clock is back near the best one within ten seconds in 24 of 25 stories, and below the cap in all but two', () => {
    const ends = fc.sample(disturbedStories, { seed: 11, numRuns: 100 }).map(liveDisturbed)
    expect(ends.filter(({ backMs }) => backMs > 10_000).length).toBeLessThanOrEqual(4)
    expect(ends.filter(({ abovePercent }) => abovePercent > 1).length).toBeLessThanOrEqual(2)
  })
})
