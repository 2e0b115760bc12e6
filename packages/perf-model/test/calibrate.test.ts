import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { type CalibrationError, calibrate } from '../src/fit/calibrate.js'
import { calibrationLevels, FEATURES, feature } from '../src/uncertainty/calibration-layout.js'
import { quantileSds } from '../src/uncertainty/uncertainty.js'

/** Errors whose size goes with some features, and which are skewed and heavier in the tails than a normal variable. */
function drawn(seed: number, count: number): CalibrationError[] {
  const random = new SeededRandom(seed)
  return Array.from({ length: count }, () => {
    const features = new Float64Array(FEATURES)
    features[feature.one] = 1
    features[feature.unknown] = Math.log(0.005 + 0.05 * random.uniform())
    features[feature.smallBatch] = random.uniform() < 0.2 ? 1 : 0.1 * random.uniform()
    features[feature.clock] = random.uniform()
    features[feature.clockSquare] = features[feature.clock]! ** 2
    const sd = Math.exp(0.5 * features[feature.unknown]! - 1.5 + features[feature.smallBatch]!)
    const heavy = random.uniform() < 0.1 ? 2.5 : 1
    return { features, error: sd * heavy * (random.normal() + 0.1) }
  })
}

describe('the levels of a calibration', () => {
  it('are probabilities, ascending, as many above the median as below', () => {
    expect(calibrationLevels).toEqual(calibrationLevels.toSorted((a, b) => a - b))
    calibrationLevels.forEach((level, i) => {
      expect(level + calibrationLevels.at(-1 - i)!).toBeCloseTo(1, 9)
    })
  })
})

describe('calibrate', () => {
  const { weights, quantiles } = calibrate('throughput', drawn(1, 1500))
  const fresh = drawn(2, 4000)
  const inSds = ({ error, features }: CalibrationError) =>
    error / Math.exp(features.reduce((sum, value, j) => sum + weights[j]! * value, 0))
  const groups: Record<string, (entry: CalibrationError) => boolean> = {
    all: () => true,
    'small batches': ({ features }) => features[feature.smallBatch] === 1,
    'what is known best': ({ features }) => features[feature.unknown]! < Math.log(0.015),
    'what is known least': ({ features }) => features[feature.unknown]! > Math.log(0.045),
  }

  it.each(Object.keys(groups))('holds what one and two standard deviations promise: %s', (name) => {
    const sizes = fresh.filter(groups[name]!).map((entry) => Math.abs(inSds(entry)))
    const within = (sds: number) => sizes.filter((size) => size <= sds).length / sizes.length
    expect(within(1)).toBeGreaterThan(0.62)
    expect(within(1)).toBeLessThan(0.76)
    // One error in ten is two and a half times as large.
    expect(within(2)).toBeGreaterThan(0.9)
    expect(within(2)).toBeLessThan(0.98)
  })

  it.each([0.01, 0.05, 0.2, 0.5, 0.9, 0.99])('has the quantile of %d', (probability) => {
    const below = fresh.filter((entry) => inSds(entry) <= quantileSds(quantiles, probability)).length / fresh.length
    expect(Math.abs(below - probability)).toBeLessThan(0.01 + 0.05 * Math.sqrt(probability * (1 - probability)))
  })

  it('rises without end beyond the levels that were counted', () => {
    const probabilities = [1e-6, 1e-4, 0.005, 0.3, 0.995, 1 - 1e-4, 1 - 1e-6]
    const found = probabilities.map((probability) => quantileSds(quantiles, probability))
    for (let i = 1; i < found.length; i++) expect(found[i]!).toBeGreaterThan(found[i - 1]!)
  })

  it('takes what the fit does not know for the size of the errors until rows say otherwise', () => {
    // The errors go with its root.
    const [few, some, many] = [2, 40, 4000].map(
      (count) => calibrate('power', drawn(3, count)).weights[feature.unknown]!,
    )
    expect(few).toBeGreaterThan(0.75)
    expect(some!).toBeLessThan(few!)
    expect(many).toBeCloseTo(0.5, 1)
  })
})
