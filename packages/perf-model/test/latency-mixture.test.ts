import { describe, expect, it } from 'vitest'
import { LatencyMixture } from '../src/serving/latency-mixture.js'

describe('a mixture of latencies', () => {
  it('takes as many parts as come', () => {
    const mixture = new LatencyMixture()
    for (let i = 0; i < 1000; i++) mixture.add(1, i, 0)
    expect(mixture.within(249)).toBe(0.25)
    expect(mixture.within(998)).toBe(0.999)
    expect(mixture.within(999)).toBe(1)
    expect(Math.abs(mixture.quantileMs(0.75) - 749)).toBeLessThan(1)
  })

  it('spreads a part evenly over its width, and counts it by its weight', () => {
    const mixture = new LatencyMixture()
    mixture.add(3, 10, 20)
    mixture.add(1, 50, 0)
    mixture.add(0, 1, Number.NaN)
    expect(mixture.within(9)).toBe(0)
    expect(mixture.within(20)).toBe(0.375)
    expect(mixture.within(40)).toBe(0.75)
    expect(mixture.within(50)).toBe(1)
    expect(mixture.quantileMs(0.375)).toBeCloseTo(20, 1)
  })

  it('is empty again when it is cleared', () => {
    const mixture = new LatencyMixture()
    mixture.add(5, 100, 0)
    mixture.clear()
    mixture.add(1, 2, 0)
    expect(mixture.within(2)).toBe(1)
  })
})
