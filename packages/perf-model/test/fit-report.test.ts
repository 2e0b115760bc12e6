import { describe, expect, it } from 'vitest'
import { errorSummaries, errorsOf } from '../src/fit/fit-report.js'
import type { TableRow } from '../src/fit/trace-table.js'
import type { ErrorSummary } from '../src/parameters.js'
import type { Solution } from '../src/solve.js'
import { ErrorTerms } from '../src/uncertainty/error-terms.js'

const terms = new ErrorTerms(1)
const features = { throughput: terms, power: terms, speedSd: 0.01, powerSd: 0.01 }

/** Of `networks`, predicted 100 samples/s and 200 W, measured so many times as much. */
function summariesOf(
  rows: readonly { readonly networks: readonly string[]; readonly times: number }[],
): ErrorSummary[] {
  const collected = rows.map(({ networks, times }) => {
    const measured = {
      throughput: 100 * times,
      tenantThroughput: [100 * times],
      powerAverageW: 200 * times,
      smUtilPercent: 50,
      memUtilPercent: 20,
    }
    const predicted = { totalThroughput: 100, throughput: [100], powerW: 200, smUtilPercent: 53, memUtilPercent: 20 }
    return errorsOf(
      {
        row: measured,
        networks,
        mix: networks.length === 1 ? 'like tenants' : 'several networks',
      } as unknown as TableRow,
      { evaluate: () => predicted as unknown as Solution, featuresOf: () => features, limitW: 1000 },
    )
  })
  return errorSummaries(collected)
}

describe('the errors of a fit', () => {
  it('are said of those kinds of rows that there are, in percent or in points', () => {
    const summaries = summariesOf([
      { networks: ['a'], times: 1.25 },
      { networks: ['a'], times: 1 },
    ])
    expect(summaries).toHaveLength(10)
    expect(new Set(summaries.map(({ rows }) => rows))).toEqual(new Set(['all', 'like tenants']))
    const of = (quantity: string) => summaries.find((entry) => entry.quantity === quantity && entry.rows === 'all')
    expect(of('throughput')).toMatchObject({ unit: '%', count: 2, median: 10, p95: 19 })
    expect(of('SM utilisation')).toMatchObject({ unit: 'points', median: 3 })
  })

  it('are said of rows with several networks apart', () => {
    const summaries = summariesOf([
      { networks: ['a'], times: 1.25 },
      { networks: ['a', 'b'], times: 1 },
    ])
    const of = (rows: string) => summaries.find((entry) => entry.quantity === 'power' && entry.rows === rows)
    expect([of('several networks'), of('like tenants'), of('unlike tenants')]).toMatchObject([
      { count: 1, median: 0 },
      { count: 1, median: 20 },
      undefined,
    ])
  })
})
