import { mean } from '@pctodl/numerics'
import { loadPerfModel, PerfModel, type PerfModelParameters, refit } from '@pctodl/perf-model'
import { UnknownNameError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { measuredRows } from './synthetic-rows.js'

const shipped = loadPerfModel('A100').parameters
/** A board whose kind differs from its equations to no side, as the truth here does. */
const model = new PerfModel({ ...shipped, errors: shipped.errors.map((state) => ({ ...state, mean: [] })) })
/** A board on which resnet50 computes 10 % slower than the model predicts, and which draws 6 W more when idle. */
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

  it('leaves the model given, and the equations, as they were', () => {
    const before: PerfModelParameters = structuredClone(model.parameters)
    refit(model, newRows)
    expect(model.parameters).toEqual(before)
    for (const network of before.networks) {
      const after = updated.parameters.networks.find((entry) => entry.name === network.name)!
      expect(after).toEqual(network)
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

  it('is surer with every row, and less sure of a board that surprises', () => {
    const { tenants, smClockMhz, memClockMhz } = newRows.find((row) => row.tenants.length === 5)!
    const sdOf = (of: PerfModel) => {
      const { powerW, powerSdW } = of.predict({ tenants, smClockMhz, memClockMhz })
      return powerSdW! / powerW
    }
    const usual = (seed: number, count: number) =>
      measuredRows(model, seed, count).map((row) => ({ ...row, powerAverageW: 1.02 * row.powerAverageW }))
    const surer = refit(model, usual(24, 30))
    expect(sdOf(surer)).toBeLessThan(sdOf(model))
    expect(sdOf(refit(surer, usual(25, 60)))).toBeLessThan(sdOf(surer))
    expect(sdOf(updated)).toBeGreaterThan(sdOf(surer))
    const odd = newRows.map((row, i) => ({ ...row, powerAverageW: row.powerAverageW * (i % 2 ? 1.2 : 0.8) }))
    expect(sdOf(refit(model, odd))).toBeGreaterThan(1.2 * sdOf(updated))
  })

  it.each([10, 30])('learns from %i rows as much where one of them is absurd', (count) => {
    const rows = newRows.slice(0, count)
    const wrong = rows.map((row, i) => (i === 3 ? { ...row, throughput: row.throughput / 10, powerAverageW: 50 } : row))
    for (const quantity of ['throughput', 'powerW'] as const) {
      expect(meanError(refit(model, wrong), quantity)).toBeLessThan(1.5 * meanError(refit(model, rows), quantity))
    }
  })

  it.each([1000, 10, 0.1])('refuses a power that is %d times the predicted one, and names its row', (factor) => {
    const rows = newRows.map((row, i) => (i === 3 ? { ...row, powerAverageW: factor * row.powerAverageW } : row))
    for (const given of [rows, [{ ...rows[0]!, failed: true }, newRows[1]!, newRows[2]!, rows[3]!]]) {
      const message =
        /^rows\[3\]\.powerAverageW: got .* times the predicted power', expected at most 6 times more or less;/
      expect(() => refit(model, given)).toThrow(message)
    }
  })

  it('learns from a board that differs everywhere by 30 %', () => {
    const slower = newRows.map((row) => ({ ...row, throughput: 0.7 * row.throughput }))
    const { tenants, smClockMhz, memClockMhz } = newRows.find((row) => row.tenants.length === 5)!
    const throughputOf = (of: PerfModel) => of.predict({ tenants, smClockMhz, memClockMhz }).throughput
    expect(throughputOf(refit(model, slower)) / throughputOf(truth)).toBeLessThan(0.85)
  })

  it('learns that one network is half as fast, from a tenth of the rows', () => {
    const slow = measuredRows(model, 42, 6, ['resnet50']).map((row) => ({ ...row, throughput: 0.5 * row.throughput }))
    const learnt = refit(model, [...measuredRows(model, 41, 54, ['mobilenet_v2']), ...slow])
    const ratios = measuredRows(model, 97, 50, ['resnet50']).map(({ tenants, smClockMhz, memClockMhz, throughput }) => {
      return learnt.predict({ tenants, smClockMhz, memClockMhz }).throughput / throughput
    })
    expect(mean(ratios)).toBeLessThan(0.75)
  })

  it('learns from ten rows as much where three of them are absurd', () => {
    const rows = measuredRows(truth, 21, 10)
    const wrong = rows.map((row, i) => (i < 3 ? { ...row, throughput: row.throughput / 10 } : row))
    expect(meanError(refit(model, wrong), 'throughput')).toBeLessThan(1.5 * meanError(refit(model, rows), 'throughput'))
  })

  it('knows after ten calls with some rows each what one call with all of them knows', () => {
    const inParts = (size: number) => {
      let learning = model
      for (let i = 0; i < newRows.length; i += size) learning = refit(learning, newRows.slice(i, i + size))
      return learning
    }
    const { tenants, smClockMhz, memClockMhz } = newRows[3]!
    const configuration = { tenants, smClockMhz, memClockMhz }
    const whole = updated.predict(configuration)
    for (const parts of [inParts(3), inParts(10)]) {
      expect(parts.predict(configuration).powerW / whole.powerW).toBeCloseTo(1, 5)
      expect(parts.predict(configuration).throughput / whole.throughput).toBeCloseTo(1, 5)
    }
  })

  it('moves less for the same rows the more it has learnt, until it is told to forget', () => {
    let sure = model
    for (let seed = 40; seed < 48; seed++) sure = refit(sure, measuredRows(model, seed, 40))
    const rows = measuredRows(truth, 50, 30)
    const remembers = meanError(refit(sure, rows), 'throughput')
    const forgets = meanError(refit(sure, rows, { forget: true }), 'throughput')
    expect(forgets).toBeLessThan(0.9 * remembers)
    // What was learnt survives a round trip through a file.
    const reloaded = PerfModel.load(JSON.parse(JSON.stringify(sure.parameters)))
    expect(meanError(refit(reloaded, rows), 'throughput')).toBeCloseTo(remembers, 9)
  })

  it('says what it cannot use', () => {
    const row = newRows[0]!
    expect(() => refit(model, [])).toThrowError('at least one row')
    expect(() => refit(model, [{ ...row, failed: true }])).toThrowError('at least one row')
    expect(() => refit(model, [row, { ...row, memClockMhz: 810 }])).toThrowError('rows[1].memClockMhz: got 810')
    const foreign = { ...row, tenants: [{ ...row.tenants[0]!, model: 'alexnet' }], tenantThroughput: [] }
    expect(() => refit(model, [foreign])).toThrowError(UnknownNameError)
  })
})
