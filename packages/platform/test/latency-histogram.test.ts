import { LatencyHistogram } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const latencies = fc.array(fc.double({ min: 0.001, max: 7_000_000, noNaN: true }), { minLength: 1, maxLength: 200 })

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram()
  for (const value of values) histogram.record(value)
  return histogram
}

describe('LatencyHistogram', () => {
  it('finds quantiles to 1 % (or 1 us) at any magnitude', () => {
    fc.assert(
      fc.property(latencies, fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1), (values, share) => {
        const exact = [...values].sort((a, b) => a - b)[Math.max(1, Math.ceil(share * values.length)) - 1]!
        const found = histogramOf(values).quantileMs(share)
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(Math.max(0.001, exact * 0.01))
      }),
    )
  })

  it('gives the histogram of a window as the difference of two readings', () => {
    fc.assert(
      fc.property(latencies, latencies, (before, within) => {
        const running = histogramOf(before)
        const atStart = running.snapshot()
        for (const value of within) running.record(value)
        const window = running.since(atStart)
        const expected = histogramOf(within)
        expect(window.count).toBe(within.length)
        for (const share of [0.1, 0.5, 0.95, 1]) expect(window.quantileMs(share)).toBe(expected.quantileMs(share))
        expect(atStart.count).toBe(before.length)
      }),
    )
  })

  it('counts what is no latency as the smallest one', () => {
    for (const value of [-1, Number.NaN]) expect(histogramOf([value]).quantileMs(1)).toBe(0.0005)
  })

  it('says that it is empty', () => {
    expect(new LatencyHistogram().quantileMs(0.5)).toBeNaN()
  })
})
