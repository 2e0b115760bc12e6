import { mean, SeededRandom } from '@pctodl/numerics'
import { ArrivalRate } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'

/** Poisson counts of a tenth of a second, in bunches of `bunch` requests. */
function counts(random: SeededRandom, perS: number, bunch: number): number {
  let timeS = 0
  let count = -bunch
  while (timeS < 0.1) {
    timeS -= (bunch * Math.log(1 - random.uniform())) / perS
    count += bunch
  }
  return count
}

interface Traffic {
  readonly rates: readonly (readonly [samples: number, perS: number])[]
  readonly bunch?: number
}

/** Estimates after each tenth of a second. */
function estimates({ rates, bunch = 1 }: Traffic, seed: number) {
  const random = new SeededRandom(seed)
  const rate = new ArrivalRate(7)
  let arrived = 0
  let timeMs = 0
  return rates.flatMap(([samples, perS]) =>
    Array.from({ length: samples }, () => {
      arrived += counts(random, perS, bunch)
      timeMs += 100
      rate.update(timeMs, arrived)
      return {
        perS: rate.perS,
        burstiness: rate.burstiness,
        peakPerS: rate.peakPerS,
        meanPerS: rate.meanPerS(3),
        arrived,
      }
    }),
  )
}

const seeds = Array.from({ length: 40 }, (_, i) => i + 1)
const meanOf = (value: (seed: number) => number) => mean(seeds.map(value))

describe('the estimated rate of arrivals', () => {
  it.each([
    [5, 0.088],
    [80, 0.018],
    [900, 0.006],
  ])('of a steady %d/s is near it', (perS, most) => {
    const error = meanOf((seed) =>
      mean(
        estimates({ rates: [[600, perS]] }, seed)
          .slice(300)
          .map((at) => Math.abs(at.perS / perS - 1)),
      ),
    )
    expect(error).toBeLessThan(most)
  })

  it('of bunches is as calm: they are measured, and ask for more evidence', () => {
    const error = meanOf((seed) =>
      mean(
        estimates({ rates: [[600, 900]], bunch: 10 }, seed)
          .slice(300)
          .map((at) => Math.abs(at.perS / 900 - 1)),
      ),
    )
    expect(error).toBeLessThan(0.018)
  })

  it.each([
    [1, 1, 1.06],
    [4, 3.6, 4.15],
    [20, 18.5, 21],
  ])('knows how large bunches of %d are', (bunch, least, most) => {
    const burstiness = meanOf((seed) => estimates({ rates: [[500, 400]], bunch }, seed).at(-1)!.burstiness)
    expect(burstiness).toBeGreaterThanOrEqual(least)
    expect(burstiness).toBeLessThan(most)
  })

  it('of bunches is not taken for granted before many requests have come', () => {
    const burstiness = meanOf((seed) => estimates({ rates: [[20, 20]], bunch: 10 }, seed).at(-1)!.burstiness)
    expect(burstiness).toBeGreaterThan(3.4)
    expect(burstiness).toBeLessThan(4.4)
  })

  it.each([
    [3, 1.8],
    [1.5, 7.2],
    [0.5, 8],
    [0.1, 7.3],
  ])('follows a load that becomes %d-fold within %d samples', (factor, most) => {
    const samples = meanOf((seed) => {
      const after = estimates(
        {
          rates: [
            [300, 400],
            [100, 400 * factor],
          ],
        },
        seed,
      ).slice(300)
      return 1 + after.findIndex(({ perS }) => Math.abs(perS / (400 * factor) - 1) < 0.15)
    })
    expect(samples).toBeGreaterThanOrEqual(1)
    expect(samples).toBeLessThan(most)
  })

  it('remembers its peak for a minute', () => {
    for (const seed of seeds.slice(0, 4)) {
      const all = estimates(
        {
          rates: [
            [100, 800],
            [700, 100],
          ],
        },
        seed,
      )
      const highest = Math.max(...all.slice(0, 100).map(({ perS }) => perS))
      expect(all[99 + 590]!.peakPerS).toBeGreaterThan(700)
      expect(all.every(({ peakPerS, perS }) => peakPerS >= perS)).toBe(true)
      expect(all[300]!.peakPerS).toBeLessThanOrEqual(highest)
      expect(all.at(-1)!.peakPerS).toBeLessThan(250)
    }
  })

  it('over some seconds is the mean of exactly these, once they have passed', () => {
    const all = estimates({ rates: [[80, 60]] }, 3)
    all.forEach(({ meanPerS, perS }, i) => {
      expect(meanPerS).toBeCloseTo(i < 30 ? perS : (all[i]!.arrived - all[i - 30]!.arrived) / 3, 9)
    })
  })

  it('is the expected one until two samples, and begins anew where the count does', () => {
    const rate = new ArrivalRate(7)
    const said = [0, 0, 5, 10, 2, 4].map((arrived, i) => {
      rate.update(i === 1 ? 0 : 100 * i, arrived)
      return rate.perS
    })
    expect(said.slice(0, 2)).toEqual([7, 7])
    // The second report of one moment does not count.
    expect(said[2]).toBeCloseTo(25, 9)
    expect(said[5]).toBeCloseTo(20, 9)
  })
})
