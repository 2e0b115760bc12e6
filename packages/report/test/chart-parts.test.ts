import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chartColors, chartOrder } from '../src/chart/algorithm-colors.js'
import { thinCurve } from '../src/chart/chart-parts.js'
import { movingAverageW, powerSignal } from '../src/evaluate/index.js'

function thinned(timeMs: readonly number[], values: readonly number[], bucketMs: number): [number, number][] {
  const points: [number, number][] = []
  thinCurve(timeMs, values, bucketMs, (t, value) => points.push([t, value]))
  return points
}

describe('movingAverageW', () => {
  it('is the trailing average at the end of each step, undefined until half of the window is known', () => {
    const timeMs = [400, 800, 1200, 5000, 5100]
    const signal = powerSignal({ timeMs, powerCapW: timeMs.map(() => 100), sensorW: [10, 20, 30, null, 50] }, 'sensor')
    const averages = movingAverageW(signal, 1000)
    expect(averages[0]).toBeNaN()
    expect(averages[1]).toBeCloseTo(15, 10)
    expect(averages[2]).toBeCloseTo((200 * 10 + 400 * 20 + 400 * 30) / 1000, 10)
    expect(averages[3]).toBeNaN()
    expect(averages[4]).toBeNaN()
  })
})

describe('thinCurve', () => {
  it('keeps the lowest and the highest of each bucket in order of time', () => {
    expect(thinned([0, 1, 2, 3, 10, 11], [5, 9, 1, 4, 7, 7], 10)).toEqual([
      [1, 9],
      [2, 1],
      [10, 7],
    ])
  })

  it('keeps one break of a gap', () => {
    const gap = Number.NaN
    expect(thinned([0, 1, 2, 3, 4], [gap, 5, gap, gap, 6], 1)).toEqual([
      [1, 5],
      [2, gap],
      [4, 6],
    ])
  })

  it('never loses a peak and never makes a point up', () => {
    const anyCurve = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(anyCurve, fc.integer({ min: 1, max: 50 }), (values, bucketMs) => {
        const points = thinned(
          values.map((_, i) => i),
          values,
          bucketMs,
        )
        expect(Math.max(...points.map(([, value]) => value))).toBe(Math.max(...values))
        expect(Math.min(...points.map(([, value]) => value))).toBe(Math.min(...values))
        points.forEach(([t, value], i) => {
          expect(value).toBe(values[t])
          if (i > 0) expect(t).toBeGreaterThan(points[i - 1]![0])
        })
        expect(points.length).toBeLessThanOrEqual(2 * Math.ceil(values.length / bucketMs))
      }),
    )
  })
})

describe('chart style', () => {
  it('keeps the colour of an algorithm whichever others are shown', () => {
    const all = chartOrder(['mine', 'powercap', 'pctodl', 'morak', 'mine'])
    expect(all).toEqual(['pctodl', 'morak', 'powercap', 'mine'])
    expect(chartColors(all)[2]).toBe(chartColors(['powercap'])[0])
    expect(new Set(chartColors(all)).size).toBe(4)
  })
})
