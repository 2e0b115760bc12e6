import { describe, expect, it } from 'vitest'
import { ErrorCollector } from '../src/fit/fit-report.js'
import type { TableRow } from '../src/fit/trace-table.js'
import { updatedCalibration } from '../src/fit/updated-calibration.js'
import type { Solution } from '../src/solve.js'
import { FEATURES, feature } from '../src/uncertainty/calibration-layout.js'

const features = new Float64Array(FEATURES)
features[feature.one] = 1

/** Of `networks`, predicted 100 samples/s and 200 W, measured so many times as much. */
function collected(rows: readonly { readonly networks: readonly string[]; readonly times: number }[]): ErrorCollector {
  const collector = new ErrorCollector()
  for (const { networks, times } of rows) {
    const measured = {
      throughput: 100 * times,
      tenantThroughput: [100 * times],
      powerAverageW: 200 * times,
      smUtilPercent: 50,
      memUtilPercent: 20,
    }
    const predicted = { totalThroughput: 100, throughput: [100], powerW: 200, smUtilPercent: 53, memUtilPercent: 20 }
    collector.add(
      { row: measured, networks, likeTenants: networks.length === 1 } as unknown as TableRow,
      predicted as unknown as Solution,
      { speed: features, power: features },
    )
  }
  return collector
}

describe('the errors of a fit', () => {
  it('are said of those kinds of rows that there are, in percent or in points', () => {
    const summaries = collected([
      { networks: ['a'], times: 1.25 },
      { networks: ['a'], times: 1 },
    ]).summaries()
    expect(summaries).toHaveLength(10)
    expect(new Set(summaries.map(({ rows }) => rows))).toEqual(new Set(['all', 'like tenants']))
    const of = (quantity: string) => summaries.find((entry) => entry.quantity === quantity && entry.rows === 'all')
    expect(of('throughput')).toMatchObject({ unit: '%', count: 2, median: 10, p95: 19 })
    expect(of('SM utilisation')).toMatchObject({ unit: 'points', median: 3 })
  })

  it('are said of rows with several networks apart', () => {
    const summaries = collected([
      { networks: ['a'], times: 1.25 },
      { networks: ['a', 'b'], times: 1 },
    ]).summaries()
    const of = (rows: string) => summaries.find((entry) => entry.quantity === 'power' && entry.rows === rows)
    expect([of('several networks'), of('like tenants'), of('unlike tenants')]).toMatchObject([
      { count: 1, median: 0 },
      { count: 1, median: 20 },
      undefined,
    ])
  })
})

describe('a calibration after new rows', () => {
  const before = {
    quantity: 'power' as const,
    count: 20,
    weights: [...features].map((one) => one * Math.log(0.1)),
    quantiles: [],
  }

  it('grows as the root of the mean square of all errors, in standard deviations', () => {
    const rows = Array.from({ length: 20 }, () => ({ networks: ['a'], times: Math.exp(0.2) }))
    const [after] = updatedCalibration([before], collected(rows), [])
    // Twenty rows of one standard deviation before, twenty of two now.
    expect(after!.weights[0]).toBeCloseTo(Math.log(0.1) + 0.5 * Math.log((20 + 20 * 4) / 40), 4)
    expect(after!.count).toBe(40)
  })

  it('takes an outlier for six standard deviations, and no rows for nothing', () => {
    const [after] = updatedCalibration([before], collected([{ networks: ['a'], times: 50 }]), [])
    expect(after!.weights[0]).toBeCloseTo(Math.log(0.1) + 0.5 * Math.log((20 + 36) / 21), 4)
    expect(updatedCalibration([before], collected([]), [])).toEqual([before])
  })

  it('counts what was known before as 20 rows at least and 100 at most', () => {
    const grown = (count: number) => {
      const rows = [{ networks: ['a'], times: Math.exp(0.3) }]
      return updatedCalibration([{ ...before, count }], collected(rows), [])[0]!.weights[0]
    }
    expect(grown(3)).toBe(grown(20))
    expect(grown(1000)).toBe(grown(100))
    expect(grown(100)).toBeLessThan(grown(20)!)
  })
})
