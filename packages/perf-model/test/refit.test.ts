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

  it('raises the standard deviations where the board has changed, and lowers them as it learns', () => {
    const { tenants, smClockMhz, memClockMhz } = newRows.find((row) => row.tenants.length === 5)!
    const sdOf = (of: PerfModel) => {
      const { powerW, powerSdW } = of.predict({ tenants, smClockMhz, memClockMhz })
      return powerSdW! / powerW
    }
    const surprised = refit(model, newRows)
    expect(sdOf(surprised)).toBeGreaterThan(1.2 * sdOf(model))
    let learning = surprised
    for (let seed = 25; seed < 35; seed++) learning = refit(learning, measuredRows(truth, seed, 60))
    expect(sdOf(learning)).toBeLessThan(0.8 * sdOf(surprised))
  })

  it('knows after ten calls with some rows each about what one call with all of them knows', () => {
    const inParts = (size: number) => {
      let learning = model
      for (let i = 0; i < newRows.length; i += size) learning = refit(learning, newRows.slice(i, i + size))
      return learning
    }
    const little = inParts(3)
    expect(meanError(little, 'throughput')).toBeLessThan(1.2 * meanError(updated, 'throughput'))
    // What the idle power and the networks' energies owe to each other is not kept from call to call.
    expect(meanError(inParts(10), 'powerW')).toBeLessThan(1.5 * meanError(updated, 'powerW'))
    expect(meanError(little, 'powerW')).toBeLessThan(0.15 * meanError(model, 'powerW'))
    const sdOf = (of: PerfModel, parameter: string) => {
      const { parameters, covariance } = of.parameters.beliefs.find(
        (entry) => entry.owner === 'resnet50' && entry.quantity === 'speed',
      )!
      return Math.sqrt(covariance[parameters.indexOf(parameter) * (parameters.length + 1)]!)
    }
    for (const parameter of ['computePerSample', 'launchMs']) {
      expect(sdOf(updated, parameter)).toBeLessThan(0.1)
      expect(sdOf(little, parameter) / sdOf(updated, parameter)).toBeGreaterThan(0.6)
      expect(sdOf(little, parameter) / sdOf(updated, parameter)).toBeLessThan(1.7)
    }
  })

  it('moves less for the same rows the more it has learnt, until it is told to forget', () => {
    let sure = model
    for (let seed = 40; seed < 48; seed++) sure = refit(sure, measuredRows(model, seed, 40))
    const rows = measuredRows(truth, 50, 6)
    const remembers = meanError(refit(sure, rows), 'throughput')
    const forgets = meanError(refit(sure, rows, { forget: true }), 'throughput')
    expect(forgets).toBeLessThan(0.9 * remembers)
    // Beliefs survive the way through a file.
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
    for (const freedom of [0, -1, 2, Number.NaN]) {
      expect(() => refit(model, newRows, { freedom })).toThrowError(InvalidInputError)
    }
  })
})
