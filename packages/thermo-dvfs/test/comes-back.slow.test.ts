import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { disturbedStories, liveDisturbed } from './disturbed-board.js'

describe('after whatever went wrong', () => {
  it('the clock is back near the best one within ten seconds in 24 of 25 stories, and below the cap in all but two', () => {
    const ends = fc.sample(disturbedStories, { seed: 11, numRuns: 100 }).map(liveDisturbed)
    expect(ends.filter(({ backMs }) => backMs > 10_000).length).toBeLessThanOrEqual(4)
    expect(ends.filter(({ abovePercent }) => abovePercent > 1).length).toBeLessThanOrEqual(2)
  })

  it('a sensor that was late once is not taken for late for ever: all but two of 150 stories with it end', () => {
    const late = fc
      .sample(disturbedStories, { seed: 1004, numRuns: 300 })
      .filter(({ disturbances }) => disturbances.some(({ kind }) => kind === 'late'))
    const ends = late.slice(0, 150).map(liveDisturbed)
    expect(ends.filter(({ backMs }) => backMs >= 29_900).length).toBeLessThanOrEqual(2)
  })
})
