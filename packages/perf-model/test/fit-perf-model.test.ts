import { fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { InvalidInputError, type TraceRow } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { measuredNetworks, measuredRows } from './synthetic-rows.js'

const truth = loadPerfModel('A100')
const measure = (seed: number, count: number) => measuredRows(truth, seed, count)

const failedRow: TraceRow = {
  ...measure(9, 1)[0]!,
  smUtilPercent: 0,
  memUtilPercent: 0,
  throughput: 0,
  powerAverageW: 0,
  failed: true,
}

describe('fitPerfModel', () => {
  const rows = measure(1, 250)
  const options = { source: 'synthetic rows', folds: 2, starts: 1, maxIterations: 40 }
  const fitted = fitPerfModel([...rows, failedRow], truth.spec, options)
  const model = new PerfModel(fitted.parameters)

  it('predicts configurations that it has not seen about as well as they were measured', () => {
    const errors = { throughput: [] as number[], power: [] as number[] }
    for (const row of measure(2, 300)) {
      const prediction = model.predict({ tenants: row.tenants, smClockMhz: row.smClockMhz, memClockMhz: 1215 })
      errors.throughput.push(Math.abs(prediction.throughput / row.throughput - 1))
      errors.power.push(Math.abs(prediction.powerW / row.powerAverageW - 1))
    }
    const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!
    expect(median(errors.throughput)).toBeLessThan(0.02)
    expect(median(errors.power)).toBeLessThan(0.01)
  })

  it('reports held-out errors for every quantity and kind of rows, and they are not below those in sample', () => {
    const find = (list: typeof fitted.report.heldOutErrors, quantity: string) =>
      list.find((entry) => entry.quantity === quantity && entry.rows === 'all')!
    for (const quantity of ['throughput', 'tenant throughput', 'power', 'SM utilisation', 'memory utilisation']) {
      expect(find(fitted.report.heldOutErrors, quantity).count).toBeGreaterThanOrEqual(rows.length)
    }
    const heldOut = find(fitted.report.heldOutErrors, 'throughput')
    expect(heldOut.median).toBeLessThan(2.5)
    expect(heldOut.p95).toBeGreaterThan(find(fitted.report.inSampleErrors, 'throughput').p95 * 0.9)
    expect(fitted.parameters.provenance.heldOutErrors).toEqual(fitted.report.heldOutErrors)
  })

  it('recovers the memory needs', () => {
    for (const name of measuredNetworks) {
      const tenant = { model: name, mpsPercent: 20, batchSize: 100 }
      expect(model.memoryBytes(tenant) / truth.memoryBytes(tenant)).toBeCloseTo(1, 2)
    }
    expect(fitted.parameters.boardParameters.memoryReservedMib).toBeCloseTo(500, -1)
  })

  it('leaves failed rows out and counts them', () => {
    expect(fitted.report).toMatchObject({ rows: rows.length, failedRows: 1 })
    expect(fitted.parameters.provenance).toMatchObject({ rows: rows.length, failedRows: 1 })
  })

  it('gives the same parameters for the same rows and seed', () => {
    const small = rows.slice(0, 80)
    const quick = { source: 'synthetic rows', folds: 0, starts: 2, maxIterations: 5 }
    const once = fitPerfModel(small, truth.spec, quick)
    expect(fitPerfModel(small, truth.spec, quick)).toEqual(once)
    expect(once.report.heldOutErrors).toEqual([])
  })

  it('says what it cannot fit', () => {
    expect(() => fitPerfModel([], truth.spec, options)).toThrowError(InvalidInputError)
    expect(() => fitPerfModel([failedRow], truth.spec, options)).toThrowError('at least one row that did not fail')
    expect(() => fitPerfModel(rows.slice(0, 3), truth.spec, { ...options, folds: 5 })).toThrowError('folds')
    expect(() => fitPerfModel(rows, truth.spec, { ...options, folds: 1 })).toThrowError('folds')
  })
})
