import { layerGraph, networkWork } from '@pctodl/model-zoo'
import { mean } from '@pctodl/numerics'
import { addNetwork, fitPerfModel, loadPerfModel, PerfModel, refit } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import { findGpuSpec, type NetworkName, type Service, type TraceRow } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { arrivalsAt, atClock, attainment, between, edges, fixed, meanW, tell } from './harness.js'
import { randomConfigurations, rowsOf } from './random-configurations.js'

const truth = loadPerfModel('A100')
const networks = ['mobilenet_v2', 'resnet50']
const rms = (values: readonly number[]) => Math.sqrt(mean(values.map((value) => value ** 2)))
/** Root of the mean square of the logarithms of what is predicted over what was measured. */
function errorsOf(model: PerfModel, rows: readonly TraceRow[]) {
  const said = rows.map(({ tenants, smClockMhz, memClockMhz }) => model.predict({ tenants, smClockMhz, memClockMhz }))
  return {
    throughput: rms(said.map(({ throughput }, i) => Math.log(throughput / rows[i]!.throughput))),
    powerW: rms(said.map(({ powerW }, i) => Math.log(powerW / rows[i]!.powerAverageW))),
  }
}

describe('a predictor that is fitted', () => {
  const rows = rowsOf(truth, randomConfigurations(truth, 260, 1, networks))
  const failed = { ...rows[0]!, throughput: 0, powerAverageW: 0, failed: true }
  const options = { source: 'a story', folds: 2, starts: 1, maxIterations: 30 }
  const fitted = fitPerfModel([...rows, failed], truth.spec, options)
  const model = new PerfModel(fitted.parameters)

  it('predicts what it has not seen as well as it was measured, nearly', () => {
    const errors = errorsOf(model, rowsOf(truth, randomConfigurations(truth, 120, 2, networks), { noise: 0 }))
    expect(errors.throughput).toBeLessThan(0.04)
    expect(errors.powerW).toBeLessThan(0.015)
    for (const name of networks) {
      const tenant = { model: name, mpsPercent: 20, batchSize: 100 }
      expect(model.memoryBytes(tenant) / truth.memoryBytes(tenant)).toBeCloseTo(1, 1)
    }
    expect(model.networks.toSorted()).toEqual(networks)
  })

  it('reports how well, of every row, and which it left out', () => {
    const { report } = fitted
    expect(report).toMatchObject({ rows: rows.length, failedRows: 1 })
    expect(report.predictions).toHaveLength(rows.length)
    const of = (list: typeof report.heldOutErrors, quantity: string) =>
      list.find((each) => each.quantity === quantity && each.rows === 'all')!
    for (const quantity of ['throughput', 'power']) {
      expect(of(report.heldOutErrors, quantity).median).toBeGreaterThan(0)
      expect(of(report.heldOutErrors, quantity).median).toBeLessThan(3)
      expect(of(report.heldOutErrors, quantity).p95).toBeGreaterThanOrEqual(of(report.heldOutErrors, quantity).median)
      expect(of(report.heldOutErrors, quantity).median).toBeGreaterThan(
        0.8 * of(report.inSampleErrors, quantity).median,
      )
    }
    expect(fitted.parameters.provenance).toMatchObject({ rows: rows.length, failedRows: 1, source: 'a story' })
  })

  it('moves with a few rows of the board that it runs on, and not by more than these say', () => {
    const shipped = loadPerfModel('A100')
    const other = rowsOf(truth, randomConfigurations(truth, 25, 3, networks), { faster: 0.93, hungrier: 1.06 })
    const unseen = rowsOf(truth, randomConfigurations(truth, 60, 4, networks), {
      faster: 0.93,
      hungrier: 1.06,
      noise: 0,
    })
    const moved = refit(shipped, other)
    const [before, after] = [errorsOf(shipped, unseen), errorsOf(moved, unseen)]
    expect(after.throughput).toBeLessThan(0.6 * before.throughput)
    expect(after.powerW).toBeLessThan(0.6 * before.powerW)
    expect(errorsOf(shipped, unseen)).toEqual(before)
    expect(moved.parameters.provenance.refits).toBe(1)
    const again = refit(moved, other)
    expect(errorsOf(again, unseen).throughput).toBeLessThan(1.1 * after.throughput)
    expect(() => refit(shipped, [])).toThrow()
    expect(() => refit(shipped, [{ ...other[0]!, memClockMhz: 5 }])).toThrow(/rows\[0\]\.memClockMhz/)
    const [unsure, sure] = [shipped, moved].map((each) => each.predict(unseen[0]!))
    expect(sure!.powerSdW).toBeGreaterThan(0)
    expect(sure!.powerSdW! / sure!.powerW).toBeLessThan(unsure!.powerSdW! / unsure!.powerW)
  })

  it('knows a network more from its graph, better from ten rows, and is less sure of it', () => {
    const all = loadPerfModel('A100')
    const without = PerfModel.load({
      ...all.parameters,
      networks: all.parameters.networks.filter(({ name }) => name !== 'densenet201'),
      profile: {
        ...all.parameters.profile,
        networks: all.parameters.profile.networks.filter(({ name }) => name !== 'densenet201'),
      },
    })
    const known = Object.fromEntries(
      without.networks.map((name) => [name, networkWork(layerGraph(name as NetworkName))]),
    )
    const work = networkWork(layerGraph('densenet201'))
    const unseen = rowsOf(all, randomConfigurations(all, 40, 8, ['densenet201']), { noise: 0 })
    const blind = addNetwork(without, 'dense', work, { known })
    const as = (rows: readonly TraceRow[]) =>
      rows.map((row) => ({ ...row, tenants: row.tenants.map((tenant) => ({ ...tenant, model: 'dense' })) }))
    const ten = rowsOf(all, randomConfigurations(all, 12, 9, ['densenet201']))
    const seen = addNetwork(without, 'dense', work, { known, rows: as(ten) })
    const [first, second] = [errorsOf(blind, as(unseen)), errorsOf(seen, as(unseen))]
    expect(first.throughput).toBeLessThan(0.6)
    expect(second.throughput).toBeLessThan(0.12)
    expect(second.powerW).toBeLessThan(0.06)
    expect(second.throughput).toBeLessThan(first.throughput)
    const sdOf = (model: PerfModel, rows: readonly TraceRow[]) =>
      mean(rows.map((row) => model.predict(row)).map(({ throughputSd, throughput }) => throughputSd! / throughput))
    expect(sdOf(blind, as(unseen))).toBeGreaterThan(sdOf(seen, as(unseen)))
    expect(sdOf(seen, as(unseen))).toBeGreaterThan(0.8 * sdOf(all, unseen))
    expect(() => addNetwork(without, 'resnet50', work, { known })).toThrow(/resnet50/)
    expect(() => addNetwork(without, 'dense', work, { known: {} })).toThrow(/known/)
  })

  it('says what it cannot fit', () => {
    expect(() => fitPerfModel([], truth.spec, options)).toThrow(/row/)
    expect(() => fitPerfModel([failed], truth.spec, options)).toThrow(/row/)
    expect(() => fitPerfModel(rows, truth.spec, { ...options, folds: 1 })).toThrow(/folds: got 1/)
    expect(() => fitPerfModel(rows, findGpuSpec('3080Ti'), options)).toThrow()
  })
})

describe('what is predicted of services', () => {
  const model = loadPerfModel('3080Ti')
  const service: Service = {
    name: 'search',
    model: 'resnet50',
    objective: { p99Ms: 60 },
    weight: 1,
    maxBatchSize: 16,
    maxQueueDelayMs: 0,
  }
  const photos: Service = { ...service, name: 'photos', model: 'mobilenet_v2', objective: { p99Ms: 40 } }
  const tenants = [
    { model: 'resnet50', mpsPercent: 60, batchSize: 16, service: 'search' },
    { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 16, service: 'photos' },
  ]

  it.each([
    [300, 500, 900],
    [800, 900, 1410],
    [60, 100, 510],
  ])('at %i and %i requests/s and %i MHz is what they then meet', async (search, other, smClockMhz) => {
    const configuration = { tenants, smClockMhz, memClockMhz: 9501 }
    const said = new ServingModel(model, configuration, [service, photos]).predict([search, other])
    const demands = [
      { service, ratePerS: () => search },
      { service: photos, ratePerS: () => other },
    ]
    const told = await tell(
      { name: '', board: '3080Ti', caps: fixed(350), seconds: 40, demands },
      atClock(configuration),
    )
    expect(Math.abs(said.powerW / meanW(between(told, 8)) - 1)).toBeLessThan(0.06)
    said.services.forEach(({ p99Ms, attainment: share }, i) => {
      const { name } = [service, photos][i]!
      const [from, to] = edges(told, name, 8)
      const met = to.latencies.since(from.latencies).quantileMs(0.99)
      expect(p99Ms / met, `${name}: ${p99Ms} against ${met} ms`).toBeGreaterThan(0.7)
      expect(p99Ms / met, `${name}: ${p99Ms} against ${met} ms`).toBeLessThan(1.45)
      expect(Math.abs(share - attainment(told, name, 8))).toBeLessThan(0.05)
    })
  })

  it('gets worse with the rate, with bunches, and with less clock', () => {
    const at = (ratePerS: number, smClockMhz = 900, burstiness = 1) =>
      new ServingModel(model, { tenants, smClockMhz, memClockMhz: 9501 }, [service, photos]).predict(
        [ratePerS, 200],
        [burstiness, 1],
      )
    const p99 = [50, 200, 400, 600, 700].map((rate) => at(rate).services[0]!.p99Ms)
    for (let i = 1; i < p99.length; i++) expect(p99[i]).toBeGreaterThan(p99[i - 1]! * 0.98)
    expect(at(400, 900, 8).services[0]!.p99Ms).toBeGreaterThan(at(400).services[0]!.p99Ms)
    expect(at(400, 600).services[0]!.p99Ms).toBeGreaterThan(at(400).services[0]!.p99Ms)
    expect(at(600).powerW).toBeGreaterThan(at(100).powerW)
    expect(at(5000).services[0]!.attainment).toBeLessThan(0.5)
    expect(arrivalsAt(() => 10, 1).nextMs()).toBeGreaterThan(0)
    expect(() => at(0)).toThrow(/ratesPerS|rates/)
    expect(() => new ServingModel(model, { tenants, smClockMhz: 900, memClockMhz: 9501 }, [service])).toThrow(
      /tenants\[1\]\.service/,
    )
    expect(
      () => new ServingModel(model, { tenants: [tenants[0]!], smClockMhz: 900, memClockMhz: 9501 }, [service, photos]),
    ).toThrow(/photos/)
  })
})
