import { incompleteBeta, logGamma, normalCdf, normalDensity, normalQuantileOfTail, normalTail } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { studentQuantile975, studentTwoSided } from '../src/student-distribution.js'

describe('the normal distribution', () => {
  it('is symmetric, monotone and right where it is known', () => {
    fc.assert(
      fc.property(fc.double({ min: -40, max: 40, noNaN: true }), (z) => {
        expect(normalCdf(z) + normalCdf(-z)).toBeCloseTo(1, 12)
        expect(normalCdf(z + 0.1)).toBeGreaterThanOrEqual(normalCdf(z))
        expect(normalTail(z)).toBe(normalCdf(-z))
      }),
    )
    expect(normalCdf(1.959963984540054)).toBeCloseTo(0.975, 12)
    expect(normalCdf(0)).toBeCloseTo(0.5, 15)
  })

  it('keeps the digits of far tails, which a difference from 1 has lost', () => {
    expect(normalTail(5) / 2.866515718791939e-7).toBeCloseTo(1, 10)
    expect(normalTail(10) / 7.61985302416052e-24).toBeCloseTo(1, 6)
    expect(1 - normalCdf(10)).toBe(0)
  })

  it('has its density as the slope of its distribution', () => {
    fc.assert(
      fc.property(fc.double({ min: -6, max: 6, noNaN: true }), (z) => {
        const slope = (normalCdf(z + 1e-5) - normalCdf(z - 1e-5)) / 2e-5
        expect(slope).toBeCloseTo(normalDensity(z), 8)
      }),
    )
  })

  it.each([
    [0.05, 1.6448536269514722],
    [0.01, 2.3263478740408408],
    [0.001, 3.090232306167813],
    [1e-9, 5.9978070150076865],
    [0.5, 0],
  ])('has the tail %d beyond %d', (probability, z) => {
    expect(normalQuantileOfTail(probability)).toBeCloseTo(z, 6)
    expect(normalTail(z)).toBeCloseTo(probability, 12)
  })

  it('leaves never more beyond its quantile than was asked for', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 0.5, noNaN: true }), (probability) => {
        expect(normalTail(normalQuantileOfTail(probability))).toBeLessThanOrEqual(probability * (1 + 1e-15))
      }),
    )
  })
})

describe("Student's distribution", () => {
  it('is that of Cauchy with one degree of freedom', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 50, noNaN: true }), (t) => {
        // Near t = 0, the square of t is lost when it is added to the degrees of freedom, which costs half the digits.
        expect(studentTwoSided(t, 1)).toBeCloseTo(1 - (2 / Math.PI) * Math.atan(t), 7)
      }),
    )
  })

  it('has a closed form with two degrees of freedom, and nears the normal one with many', () => {
    for (const t of [0, 0.3, 1, 2.5, 9]) {
      expect(studentTwoSided(t, 2)).toBeCloseTo(1 - t / Math.sqrt(2 + t * t), 8)
      expect(studentTwoSided(t, 1e6)).toBeCloseTo(2 * normalTail(t), 5)
    }
  })

  it('leaves 5 % beyond its 0.975 quantiles', () => {
    for (let freedom = 1; freedom <= 200; freedom++) {
      expect(studentTwoSided(studentQuantile975(freedom), freedom)).toBeCloseTo(0.05, 4)
    }
  })
})

describe('the functions below them', () => {
  it('is the factorial, and the root of pi at one half', () => {
    let factorial = 1
    for (let n = 1; n < 20; n++) {
      expect(logGamma(n)).toBeCloseTo(Math.log(factorial), 8)
      factorial *= n
    }
    expect(logGamma(0.5)).toBeCloseTo(0.5 * Math.log(Math.PI), 8)
  })

  it('is a polynomial where the parameters are whole: I(x; 1, b) = 1 - (1 - x)^b', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 12 }), (x, b) => {
        expect(incompleteBeta(x, 1, b)).toBeCloseTo(1 - (1 - x) ** b, 8)
        expect(incompleteBeta(x, b, 3) + incompleteBeta(1 - x, 3, b)).toBeCloseTo(1, 8)
      }),
    )
  })
})
