import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fitPerfModel, PerfModel, refit } from '@pctodl/perf-model'
import { findGpuSpec, networkNames, type TraceRow } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { mixSweep } from '@pctodl/profiler'
import { describe, expect, it } from 'vitest'
import { measuredRows } from '../scripts/evaluation/measured-rows.js'

const spec = findGpuSpec('H100')
const [memClockMhz] = spec.performanceMemClocksMhz
const simulated = mixSweep(spec, networkNames, memClockMhz!, { count: 150, seed: 3 })
const { parameters } = fitPerfModel(
  measuredRows(
    'H100',
    simulated.map(({ tenants, smClockMhz }) => ({ tenants, smClockMhz: smClockMhz!, memClockMhz: memClockMhz! })),
  ),
  spec,
  { source: 'the simulated H100', starts: 1, folds: 3 },
)
const model = new PerfModel(parameters, spec)
/** Rows of the seven networks on real H100, each alone, and in mixes. */
const real = parseTraceCsv(readFileSync(path.resolve(import.meta.dirname, '../evidence/H100/rows.csv'), 'utf8'))
  .filter(({ failed, tenants }) => !failed && tenants.every((tenant) => model.networks.includes(tenant.model)))
  .map((row) => ({ ...row, memClockMhz: memClockMhz! }))
const scaled = (rows: readonly TraceRow[], factor: number) =>
  rows.map((row) => ({ ...row, powerAverageW: factor * row.powerAverageW }))

describe('rows of real boards', () => {
  const learnt = refit(model, real)

  it('are learnt, although they draw a quarter less than the simulated board', () => {
    expect(real.length).toBeGreaterThan(10)
    const errorOf = (of: PerfModel) =>
      real.reduce((sum, row) => sum + Math.abs(Math.log(row.powerAverageW / of.predict(row).powerW)), 0)
    expect(errorOf(learnt)).toBeLessThan(errorOf(model))
  })

  it('are learnt one by one, and from seven networks that run alone and draw a third less in the median', () => {
    const oneByOne = real.reduce((of, row) => refit(of, [row]), model)
    expect(oneByOne.parameters.provenance.refits).toBe(real.length)
    const alone = real.slice(0, 7)
    expect(alone.every(({ tenants }) => tenants.length === 1)).toBe(true)
    expect(refit(model, alone).parameters.provenance.refits).toBe(1)
  })

  it.each([0.5, 2])('are refused if each power is %d times the measured one', (factor) => {
    expect(() => refit(learnt, scaled(real, factor))).toThrow(/^rows\.powerAverageW: got .* times the predicted power/)
  })

  it.each([0.8, 1.25])('are learnt from a board that draws %d times the power', (factor) => {
    expect(refit(learnt, scaled(real, factor)).parameters.provenance.refits).toBe(2)
  })
})
