import { loadPerfModel, PerfModel, type PerfModelParameters, refit } from '@pctodl/perf-model'
import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { measuredRows } from './synthetic-rows.js'

const model = loadPerfModel('A100')
/** A board on which resnet50 computes 10 % slower than the model believes, and which idles at 6 W more. */
const truth = new PerfModel({
  ...model.parameters,
  boardParameters: {
    ...model.parameters.boardParameters,
    idlePowerW: model.parameters.boardParameters.idlePowerW.map((entry) => ({ ...entry, powerW: entry.powerW + 6 })),
  },
  networks: model.parameters.networks.map((network) =>
    network.name === 'resnet50' ? { ...network, computePerSample: 1.1 * network.computePerSample } : network,
  ),
})
const newRows = measuredRows(truth, 21, 30)

function meanError(of: PerfModel, quantity: 'throughput' | 'powerW') {
  const rows = measuredRows(truth, 22, 200)
  const errors = rows.map(({ tenants, smClockMhz, memClockMhz }) => {
    const configuration = { tenants, smClockMhz, memClockMhz }
    return Math.abs(of.predict(configuration)[quantity] / truth.predict(configuration)[quantity] - 1)
  })
  return errors.reduce((sum, error) => sum + error, 0) / errors.length
}

describe('refit', () => {
  const updated = refit(model, newRows)

  it('brings the model nearer to a board that has changed, on rows that it has not seen', () => {
    expect(meanError(updated, 'throughput')).toBeLessThan(0.6 * meanError(model, 'throughput'))
    expect(meanError(updated, 'powerW')).toBeLessThan(0.5 * meanError(model, 'powerW'))
  })

  it('leaves the model given, and the networks without rows, as they were', () => {
    const before: PerfModelParameters = loadPerfModel('A100').parameters
    expect(model.parameters).toEqual(before)
    for (const network of before.networks) {
      const after = updated.parameters.networks.find((entry) => entry.name === network.name)!
      if (['resnet50', 'mobilenet_v2'].includes(network.name)) expect(after).not.toEqual(network)
      else expect(after).toEqual(network)
      expect(after.corrections).toEqual(network.corrections)
    }
    expect(updated.parameters.provenance.refits).toBe(1)
    expect(refit(updated, newRows).parameters.provenance.refits).toBe(2)
  })

  it('changes next to nothing where the rows say what the model says', () => {
    const rows = measuredRows(model, 23, 30)
    const same = refit(model, rows)
    const { tenants, smClockMhz, memClockMhz } = rows[0]!
    const configuration = { tenants, smClockMhz, memClockMhz }
    expect(same.predict(configuration).throughput / model.predict(configuration).throughput).toBeCloseTo(1, 1)
    expect(same.predict(configuration).powerW / model.predict(configuration).powerW).toBeCloseTo(1, 2)
  })

  it('moves less with less freedom', () => {
    const cautious = refit(model, newRows, { freedom: 0.001 })
    expect(meanError(cautious, 'throughput')).toBeGreaterThan(meanError(updated, 'throughput'))
  })

  it('says what it cannot use', () => {
    const row = newRows[0]!
    expect(() => refit(model, [])).toThrowError('at least one row')
    expect(() => refit(model, [{ ...row, failed: true }])).toThrowError('at least one row')
    expect(() => refit(model, [row, { ...row, memClockMhz: 810 }])).toThrowError('rows[1].memClockMhz: got 810')
    const foreign = { ...row, tenants: [{ ...row.tenants[0]!, model: 'alexnet' }], tenantThroughput: [] }
    expect(() => refit(model, [foreign])).toThrowError(UnknownNameError)
    for (const freedom of [0, -1, 2, Number.NaN]) {
      expect(() => refit(model, newRows, { freedom })).toThrowError(InvalidInputError)
    }
  })
})
