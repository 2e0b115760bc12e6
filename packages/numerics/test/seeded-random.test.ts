import { SeededRandom, seedFrom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const draws = (random: SeededRandom, count: number) => Array.from({ length: count }, () => random.uniform())

describe('a seeded source of random numbers', () => {
  it('draws these numbers for these seeds, on every platform and in every release', () => {
    const integers = (seed: number) => {
      const random = new SeededRandom(seed)
      return Array.from({ length: 4 }, () => random.integer(1_000_000))
    }
    expect({ 0: integers(0), 1: integers(1), big: integers(0xffffffff) }).toMatchInlineSnapshot(`
      {
        "0": [
          886853,
          263958,
          12474,
          673236,
        ],
        "1": [
          568605,
          753928,
          889393,
          490020,
        ],
        "big": [
          194618,
          447334,
          548596,
          439067,
        ],
      }
    `)
  })

  it('draws the same for the same seed, and something else for another', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (seed) => {
        expect(draws(new SeededRandom(seed), 5)).toEqual(draws(new SeededRandom(seed), 5))
        expect(draws(new SeededRandom(seed), 5)).not.toEqual(draws(new SeededRandom((seed + 1) >>> 0), 5))
      }),
    )
  })

  it('draws uniformly from [0, 1)', () => {
    const values = draws(new SeededRandom(7), 20_000)
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...values)).toBeLessThan(1)
    const counts = new Array<number>(10).fill(0)
    for (const value of values) counts[Math.floor(10 * value)]!++
    // A chi-square variable with 9 degrees of freedom exceeds 27.9 once in a thousand.
    const chiSquare = counts.reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0)
    expect(chiSquare).toBeLessThan(27.9)
  })

  it('draws every integer below a bound, and none else', () => {
    const random = new SeededRandom(3)
    const seen = new Set(Array.from({ length: 1000 }, () => random.integer(6)))
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('draws normally with mean 0 and deviation 1', () => {
    const random = new SeededRandom(11)
    const values = Array.from({ length: 20_000 }, () => random.normal())
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
    expect(Math.abs(mean)).toBeLessThan(0.025)
    expect(Math.abs(variance - 1)).toBeLessThan(0.05)
    const withinOne = values.filter((value) => Math.abs(value) < 1).length / values.length
    expect(withinOne).toBeCloseTo(0.683, 1)
  })
})

describe('seedFrom', () => {
  it('is a seed of 32 bits that depends on each part and where it ends', () => {
    expect(seedFrom('3080Ti', 1, 'sensor')).toBe(seedFrom('3080Ti', 1, 'sensor'))
    expect(seedFrom('ab', 'c')).not.toBe(seedFrom('a', 'bc'))
    expect(seedFrom('a')).not.toBe(seedFrom('b'))
    for (const seed of [seedFrom(), seedFrom('', 0), seedFrom('ü', 1e9)]) {
      expect(Number.isInteger(seed) && seed >= 0 && seed <= 0xffffffff).toBe(true)
    }
  })
})
