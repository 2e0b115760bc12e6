import { SeededRandom, seedFrom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateEstimate } from '../src/services/rate-estimate.js'

const STEP_MS = 20

/** An estimate that has counted requests that come at random, told every 20 ms. */
class Counted {
  readonly estimate: RateEstimate
  timeMs = 0
  readonly #random: SeededRandom
  #arrived = 0

  constructor(expectedPerS: number, seed = 1) {
    this.estimate = new RateEstimate(expectedPerS)
    this.#random = new SeededRandom(seedFrom('arrivals', seed))
    this.estimate.update(0, 0)
  }

  /** @param each called after every 20 ms */
  go(ratePerS: number, durationMs: number, each: () => void = () => undefined): this {
    const until = this.timeMs + durationMs
    while (this.timeMs < until) {
      this.timeMs += STEP_MS
      for (let sum = this.#wait(ratePerS); sum < STEP_MS; sum += this.#wait(ratePerS)) this.#arrived++
      this.estimate.update(this.timeMs, this.#arrived)
      each()
    }
    return this
  }

  #wait(ratePerS: number): number {
    return ratePerS > 0 ? (-1000 * Math.log(1 - this.#random.uniform())) / ratePerS : Number.POSITIVE_INFINITY
  }
}

describe('the estimate of a rate', () => {
  it('sees a jump at once, and knows within 1.3 s what it comes to', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 1500 }),
        fc.double({ min: 2.5, max: 5, noNaN: true }),
        fc.integer(),
        (ratePerS, factor, seed) => {
          const counted = new Counted(ratePerS, seed).go(ratePerS, 15_000)
          const { estimate } = counted
          const from = counted.timeMs
          let seenMs = Number.POSITIVE_INFINITY
          let knownMs = Number.POSITIVE_INFINITY
          counted.go(factor * ratePerS, 2000, () => {
            if (estimate.bursting) seenMs = Math.min(seenMs, counted.timeMs - from)
            else if (seenMs < Number.POSITIVE_INFINITY) knownMs = Math.min(knownMs, counted.timeMs - from)
          })
          expect(seenMs).toBeLessThanOrEqual(400)
          expect(knownMs).toBeLessThanOrEqual(1300)
          expect(estimate.aheadPerS).toBeGreaterThan(0.7 * factor * ratePerS)
          expect(estimate.aheadPerS).toBeLessThan(1.5 * factor * ratePerS)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('sees a jump upon a jump', () => {
    const counted = new Counted(150).go(150, 10_000).go(450, 2000)
    expect(counted.estimate.bursting).toBe(false)
    expect(counted.go(1200, 300).estimate.bursting).toBe(true)
  })

  it('forgets a burst over seconds, not at once', () => {
    const counted = new Counted(200).go(200, 10_000).go(600, 5000)
    expect(counted.go(200, 1000).estimate.aheadPerS).toBeGreaterThan(350)
    expect(counted.go(200, 15_000).estimate.aheadPerS).toBeLessThan(250)
  })

  it('takes chance for chance', () => {
    let bursting = 0
    let looks = 0
    for (let seed = 0; seed < 10; seed++) {
      const counted = new Counted(300, seed)
      counted.go(300, 30_000, () => {
        looks++
        if (counted.estimate.bursting) bursting++
      })
      expect(counted.estimate.meanPerS).toBeGreaterThan(240)
      expect(counted.estimate.meanPerS).toBeLessThan(360)
    }
    expect(bursting / looks).toBeLessThan(0.02)
  })

  it('counts on from where a count begins again, and counts what comes while time stands', () => {
    const estimate = new RateEstimate(300)
    let timeMs = 0
    let arrived = 1e6
    estimate.update(timeMs, arrived)
    const go = (steps: number) => {
      for (let i = 0; i < steps; i++) {
        timeMs += 20
        arrived += 6
        estimate.update(timeMs, arrived)
      }
    }
    go(500)
    arrived = 0
    go(50)
    expect(estimate.meanPerS).toBeCloseTo(300, 6)
    expect(estimate.recentPerS).toBeCloseTo(300, 6)
    // Told twice at once: what came in between belongs to the next step.
    estimate.update(timeMs, arrived + 3)
    go(50)
    expect(estimate.meanPerS).toBeCloseTo(300, 6)
  })
})
