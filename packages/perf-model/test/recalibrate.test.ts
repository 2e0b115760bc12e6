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
})
