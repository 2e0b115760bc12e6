import { describe, expect, it } from 'vitest'
import { RootSearch } from '../src/root-search.js'

interface Rising {
  readonly value: (x: number) => number
  readonly slope: (x: number) => number
  readonly bend: (x: number) => number
}

const exponential: Rising = { value: (x) => Math.exp(x) - 20, slope: Math.exp, bend: Math.exp }
const cube: Rising = { value: (x) => x ** 3 - 2, slope: (x) => 3 * x * x, bend: (x) => 6 * x }
/** So flat on either side that steps of the tangent leave any bracket. */
const step: Rising = {
  value: (x) => Math.atan(40 * (x - 3)),
  slope: (x) => 40 / (1 + (40 * (x - 3)) ** 2),
  bend: (x) => (-2 * 40 ** 3 * (x - 3)) / (1 + (40 * (x - 3)) ** 2) ** 2,
}

function search({ value, slope, bend }: Rising, start: number, low: number, high: number) {
  const found = new RootSearch()
  found.begin(start, low, high)
  let steps = 0
  for (; !found.done; steps++) {
    expect(found.x).toBeGreaterThanOrEqual(low)
    expect(found.x).toBeLessThanOrEqual(high)
    found.value = value(found.x)
    found.slope = slope(found.x)
    found.bend = bend(found.x)
    found.step()
  }
  return { x: found.x, steps }
}

describe('RootSearch', () => {
  it.each([
    ['an exponential', exponential, 2.5, 0, 10, Math.log(20), 4],
    ['a cube', cube, 1, 0.1, 5, Math.cbrt(2), 4],
    ['a step that it begins far from', step, 9.5, 0, 10, 3, 20],
    ['a root that it begins at', exponential, Math.log(20), 0, 10, Math.log(20), 1],
  ] as const)('finds the root of %s in a few evaluations', (_, rising, start, low, high, root, most) => {
    const { x, steps } = search(rising, start, low, high)
    expect(Math.abs(x / root - 1)).toBeLessThan(1e-9)
    expect(steps).toBeLessThanOrEqual(most)
  })

  it('forgets one search in the next', () => {
    const twice = new RootSearch()
    for (const { value, slope, bend } of [exponential, exponential]) {
      twice.begin(2.5, 0, 10)
      while (!twice.done) {
        twice.value = value(twice.x)
        twice.slope = slope(twice.x)
        twice.bend = bend(twice.x)
        twice.step()
      }
      expect(twice.x).toBe(search(exponential, 2.5, 0, 10).x)
    }
  })

  it('ends where the function is no number', () => {
    expect(search({ value: () => Number.NaN, slope: () => 1, bend: () => 0 }, 1, 0, 2).steps).toBeLessThanOrEqual(60)
  })
})
