import fc from 'fast-check'
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

  it('has quantiles that are what as large a share stays within, and that rise with it', () => {
    const part = fc.record({
      weight: fc.double({ min: 0.01, max: 10, noNaN: true }),
      lowMs: fc.double({ min: 0.1, max: 100, noNaN: true }),
      widthMs: fc.oneof(fc.constant(0), fc.double({ min: 0.1, max: 100, noNaN: true })),
    })
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 10 }), (parts) => {
        const mixture = new LatencyMixture()
        for (const { weight, lowMs, widthMs } of parts) mixture.add(weight, lowMs, widthMs)
        let beforeMs = 0
        for (const share of [0.01, 0.3, 0.5, 0.9, 0.99, 1]) {
          const quantileMs = mixture.quantileMs(share)
          expect(mixture.within(quantileMs)).toBeGreaterThanOrEqual(share - 1e-9)
          expect(mixture.within(quantileMs * 0.998)).toBeLessThanOrEqual(share + 1e-9)
          expect(quantileMs).toBeGreaterThanOrEqual(beforeMs)
          beforeMs = quantileMs
        }
        const last = Math.max(...parts.map(({ lowMs, widthMs }) => lowMs + widthMs))
        expect(mixture.within(last)).toBeCloseTo(1, 12)
        expect(beforeMs).toBeCloseTo(last, 9)
      }),
    )
  })
})
