import { loadPerfModel, PerfModel, recalibrate } from '@pctodl/perf-model'
import { describe, expect, it } from 'vitest'
import { measuredRows } from './synthetic-rows.js'

const truth = loadPerfModel('A100')
const { parameters } = truth
/** A board of which one network is three times as far from what is predicted of it as the others. */
const rows = (seed: number, count: number) =>
  measuredRows(truth, seed, count).map((row, i) => {
    const far = row.tenants[0]!.model === 'mobilenet_v2' ? 0.06 : 0.02
    const error = Math.exp(far * Math.sin(1 + 7 * seed * i) * Math.SQRT2)
    return { ...row, throughput: row.throughput * error, tenantThroughput: row.tenantThroughput.map((x) => x * error) }
  })

describe('recalibrate', () => {
  const model = recalibrate(truth, rows(1, 500))

  it('makes standard deviations anew of rows that the fit has not seen, network by network, and no other prediction', () => {
    const unseen = rows(2, 400)
    for (const far of [true, false]) {
      const errors = unseen
        .filter(
          ({ tenants }) =>
            (tenants[0]!.model === 'mobilenet_v2') === far && new Set(tenants.map((t) => t.model)).size === 1,
        )
        .map(({ tenants, smClockMhz, memClockMhz, throughput }) => {
          const { throughput: predicted, throughputSd } = model.predict({ tenants, smClockMhz, memClockMhz })
          expect(predicted).toBe(truth.predict({ tenants, smClockMhz, memClockMhz }).throughput)
          return Math.abs(Math.log(throughput / predicted)) / (throughputSd! / predicted)
        })
      const within = errors.filter((size) => size <= 1).length / errors.length
      expect(within).toBeGreaterThan(0.5)
      expect(within).toBeLessThan(0.9)
    }
  })

  it('refuses rows that are too few, and networks that nobody knows', () => {
    expect(() => recalibrate(truth, rows(1, 50))).toThrow('at least 100 rows')
    const { networks } = parameters
    const fewer = new PerfModel({ ...parameters, networks: networks.filter(({ name }) => name !== 'mobilenet_v2') })
    expect(() => recalibrate(fewer, rows(1, 200))).toThrow('mobilenet_v2')
  })

  it('keeps quantiles in order where all rows are off to one side', () => {
    const faster = rows(3, 300).map((row) => ({ ...row, throughput: row.throughput * 1.3 }))
    const { tenants, smClockMhz, memClockMhz } = faster[0]!
    const levels = [1e-6, 1e-4, 0.001, 0.004, 0.006, 0.1, 0.5, 0.9, 0.994, 0.996, 0.999, 1 - 1e-4, 1 - 1e-6]
    const { throughput } = recalibrate(truth, faster).quantiles({ tenants, smClockMhz, memClockMhz }, levels)
    expect(throughput).toEqual(throughput.slice().sort((a, b) => a - b))
    expect(new Set(throughput).size).toBe(levels.length)
  })

  it.each([
    ['rows[7]', null],
    ['rows[7].throughput', { throughput: Number.POSITIVE_INFINITY }],
    ['rows[7].powerAverageW', { powerAverageW: Number.POSITIVE_INFINITY }],
    ['rows[7].tenantThroughput[0]', { tenantThroughput: [Number.POSITIVE_INFINITY] }],
    ['rows[7].tenants', { tenants: [], tenantThroughput: [] }],
  ])('names %s where it is no measurement', (field, wrong) => {
    const some = rows(1, 120).map((row, i) => (i === 7 ? wrong && { ...row, ...wrong } : row))
    expect(() => recalibrate(truth, some as never)).toThrow(`${field}:`)
  })
})
