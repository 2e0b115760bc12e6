import { meanInterval, pairedTest, ratioEstimate, SeededRandom, welchTest } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const sampleOf = (random: SeededRandom, size: number, centre = 0, deviation = 1) =>
  Array.from({ length: size }, () => centre + deviation * random.normal())

describe('the interval of a ratio', () => {
  it('holds the ratio, widens with scatter and is the same each time', () => {
    const blocks = Array.from({ length: 40 }, (_, i) => i)
    const estimate = ratioEstimate(
      blocks,
      blocks.map(() => 1),
    )!
    expect(estimate.value).toBe(19.5)
    expect(estimate.low).toBeLessThan(19.5)
    expect(estimate.high).toBeGreaterThan(19.5)
    expect(
      ratioEstimate(
        blocks,
        blocks.map(() => 1),
      ),
    ).toEqual(estimate)
    expect(ratioEstimate([1, 1], [2, 2])).toEqual({ value: 0.5, low: 0.5, high: 0.5 })
    expect(ratioEstimate([0], [0])).toBeNull()
  })

  it('holds a known ratio nineteen times in twenty', () => {
    const random = new SeededRandom(11)
    let held = 0
    for (let i = 0; i < 400; i++) {
      const { low, high } = ratioEstimate(sampleOf(random, 31), new Array(31).fill(1))!
      if (low <= 0 && high >= 0) held++
    }
    // 95 % of 400 is 380; the standard deviation of this count is 4.4.
    expect(held).toBeGreaterThan(360)
    expect(held).toBeLessThan(398)
  })
})

describe('the interval of a mean', () => {
  it('is t s / sqrt(n) wide, and unknown for one value', () => {
    expect(meanInterval([1, 2, 3]).halfWidth95).toBeCloseTo(4.30265 / Math.sqrt(3), 4)
    expect(meanInterval([5])).toEqual({ mean: 5, halfWidth95: null })
  })

  it('holds the true mean nineteen times in twenty', () => {
    const random = new SeededRandom(5)
    let held = 0
    for (let i = 0; i < 1000; i++) {
      const { mean, halfWidth95 } = meanInterval(sampleOf(random, 6, 7, 3))
      if (Math.abs(mean - 7) <= halfWidth95!) held++
    }
    expect(held).toBeGreaterThan(925)
    expect(held).toBeLessThan(975)
  })
})

describe('tests of means', () => {
  /** Student's distribution with two degrees of freedom has a closed form. */
  const twoSided = (t: number) => 1 - Math.abs(t) / Math.sqrt(2 + t * t)

  it('have a closed form with two degrees of freedom', () => {
    // Two pairs of equal variance: 2 degrees of freedom, squared error 1 + 1.
    expect(welchTest([0, 2], [3, 5])).toBeCloseTo(twoSided(3 / Math.sqrt(2)), 8)
    // A sample that does not vary adds nothing to the error: 3 - 1 degrees of freedom.
    expect(welchTest([1, 2, 3], [5, 5])).toBeCloseTo(twoSided(3 * Math.sqrt(3)), 8)
    expect(welchTest([5, 5], [1, 2, 3])).toBeCloseTo(twoSided(3 * Math.sqrt(3)), 8)
    expect(pairedTest([11, 22, 33], [10, 20, 30])).toBeCloseTo(twoSided(2 * Math.sqrt(3)), 8)
  })

  it('says nothing of single values and of samples that do not vary', () => {
    expect(welchTest([1], [2, 3])).toBeNull()
    expect(welchTest([1, 1], [1, 1])).toBeNull()
    expect(pairedTest([1], [2])).toBeNull()
    expect(pairedTest([1, 2, 3], [2, 3, 4])).toBeNull()
    expect(() => pairedTest([1, 2], [1])).toThrowError(InvalidInputError)
  })

  it.each([
    ['Welch', (a: number[], b: number[]) => welchTest(a, b)],
    ['paired', (a: number[], b: number[]) => pairedTest(a, b)],
  ])('%s: five in a hundred equal samples look different at 5 %%', (_, test) => {
    const random = new SeededRandom(3)
    let different = 0
    for (let i = 0; i < 1000; i++) if (test(sampleOf(random, 8), sampleOf(random, 8))! < 0.05) different++
    expect(different).toBeGreaterThan(25)
    expect(different).toBeLessThan(75)
  })

  it('sees in pairs what it cannot see in crowds', () => {
    const random = new SeededRandom(2)
    const before = sampleOf(random, 10, 100, 20)
    const after = before.map((value) => value + 1 + 0.5 * random.normal())
    expect(pairedTest(after, before)!).toBeLessThan(0.01)
    expect(welchTest(after, before)!).toBeGreaterThan(0.5)
  })

  it('do not depend on which sample comes first, nor on scale', () => {
    const sample = fc.array(fc.double({ min: 1, max: 100, noNaN: true }), { minLength: 2, maxLength: 8 })
    fc.assert(
      fc.property(sample, sample, fc.double({ min: 0.1, max: 10, noNaN: true }), (a, b, scale) => {
        const p = welchTest(a, b)
        if (p === null) return
        expect(p).toBeGreaterThanOrEqual(0)
        expect(p).toBeLessThanOrEqual(1 + 1e-12)
        expect(welchTest(b, a)).toBeCloseTo(p, 9)
        expect(
          welchTest(
            a.map((v) => v * scale),
            b.map((v) => v * scale),
          ),
        ).toBeCloseTo(p, 6)
      }),
    )
  })
})
