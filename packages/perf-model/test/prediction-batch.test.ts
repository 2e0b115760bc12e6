import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, PerfModel, refit } from '@pctodl/perf-model'
import { type Configuration, InvalidInputError, smClocksAt } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BatchInput, batchOutput } from '../src/prediction-batch.js'
import { arbitraryTenants } from './arbitrary-tenants.js'
import { measuredRows } from './synthetic-rows.js'

const model = loadPerfModel('3080Ti')
const configuration: fc.Arbitrary<Configuration> = fc.record({
  tenants: arbitraryTenants(model),
  smClockMhz: fc.constantFrom(...smClocksAt(model.spec, 9501)!),
  memClockMhz: fc.constantFrom(...model.memClocksMhz),
})

function pack(configurations: readonly Configuration[]) {
  const tenants = configurations.flatMap((entry) => entry.tenants)
  const firstTenant = [0]
  for (const entry of configurations) firstTenant.push(firstTenant.at(-1)! + entry.tenants.length)
  return {
    network: tenants.map((tenant) => model.networks.indexOf(tenant.model)),
    mpsPercent: tenants.map((tenant) => tenant.mpsPercent),
    batchSize: tenants.map((tenant) => tenant.batchSize),
    firstTenant,
    smClockMhz: configurations.map((entry) => entry.smClockMhz),
    memClockMhz: configurations.map((entry) => entry.memClockMhz),
  }
}

const good = pack([
  { tenants: [{ model: 'resnet50', mpsPercent: 40, batchSize: 8 }], smClockMhz: 1500, memClockMhz: 9501 },
  { tenants: [{ model: 'vgg19', mpsPercent: 30, batchSize: 4 }], smClockMhz: 900, memClockMhz: 5001 },
])

describe('a model that has predicted before', () => {
  it('predicts, uncertainties included, as a fresh one does', () => {
    const tenant = (network: string, mpsPercent: number, batchSize: number) => ({
      model: network,
      mpsPercent,
      batchSize,
    })
    const clocks = { smClockMhz: 1200, memClockMhz: 9501 }
    const one = { tenants: [tenant('resnet50', 50, 8), tenant('resnet50', 50, 8)], ...clocks }
    const unlike = { tenants: [tenant('resnet50', 60, 8), tenant('resnet50', 40, 16)], ...clocks }
    const mixed = { tenants: [tenant('vgg19', 50, 8), tenant('resnet50', 50, 8)], ...clocks }
    const used = loadPerfModel('3080Ti')
    for (const configuration of [one, mixed, unlike, one, unlike, mixed, one]) {
      const fresh = loadPerfModel('3080Ti').predict(configuration)
      expect(JSON.stringify(used.predict(configuration))).toBe(JSON.stringify(fresh))
    }
    // Which the kinds of mixes differ in at all.
    const relative = [one, unlike, mixed].map((entry) => {
      const { throughput, throughputSd } = used.predict(entry)
      return throughputSd! / throughput
    })
    expect(new Set(relative).size).toBe(3)
  })

  it('answers any question as a fresh one does, whatever was asked before', () => {
    const random = new SeededRandom(90217)
    const drawn = <T>(list: readonly T[]) => list[random.integer(list.length)]!
    const updated = refit(model, measuredRows(model, 5, 20)).parameters
    const used = new PerfModel(updated)
    const mixes = [['vgg19'], ['vgg19', 'resnet50'], ['resnet50', 'resnet50', 'vgg19'], []].map((names) =>
      names.map((network) => ({ model: network, mpsPercent: 30, batchSize: 8 })),
    )
    for (let round = 0; round < 80; round++) {
      const configuration = { tenants: drawn(mixes), smClockMhz: drawn([900, 1500, 1905]), memClockMhz: 9501 }
      const capW = 130 + random.integer(200)
      const ask = drawn([
        (of: PerfModel) => of.predict(configuration),
        (of: PerfModel) => of.upperPowerW(configuration, 0.05),
        (of: PerfModel) => of.quantiles(configuration, [0.1, 0.5]),
        (of: PerfModel) => of.solveSmClock(configuration.tenants, 9501, capW),
        (of: PerfModel) => of.domain(configuration),
      ])
      const answer = (of: PerfModel) => {
        try {
          return JSON.stringify(ask(of))
        } catch (error) {
          return (error as Error).message
        }
      }
      expect(answer(used)).toEqual(answer(new PerfModel(updated)))
    }
  })
})

describe('predictBatch', () => {
  it('predicts each configuration as `predict` does', () => {
    fc.assert(
      fc.property(fc.array(configuration, { minLength: 1, maxLength: 8 }), (configurations) => {
        const out = model.predictBatch(pack(configurations))
        let tenant = 0
        configurations.forEach((entry, c) => {
          const one = model.predict(entry)
          for (const field of ['throughput', 'powerW', 'smUtilPercent', 'memUtilPercent'] as const) {
            expect(out[field][c]).toBe(one[field])
          }
          expect(out.throughputSd?.[c]).toBe(one.throughputSd)
          expect(out.powerSdW?.[c]).toBe(one.powerSdW)
          for (const { throughput, latencyMs } of one.tenants) {
            expect(out.tenantThroughput[tenant]).toBe(throughput)
            expect(out.tenantLatencyMs[tenant++]).toBe(latencyMs)
          }
        })
      }),
      { numRuns: 50 },
    )
  })

  it('writes where it is told to', () => {
    const { throughputSd, powerSdW, ...out } = batchOutput(good)
    expect(model.predictBatch(good, out)).toBe(out)
    expect(out.powerW[1]).toBeGreaterThan(0)
  })

  it.each<[string, Partial<BatchInput>]>([
    ['memClockMhz.length: got 1', { memClockMhz: [9501] }],
    ['firstTenant.length: got 2', { firstTenant: [0, 2] }],
    ['mpsPercent.length: got 3', { mpsPercent: [1, 2, 3] }],
    ['batchSize.length: got 0', { batchSize: [] }],
    ['firstTenant[0]: got 1', { firstTenant: [1, 1, 2] }],
    ['firstTenant[1]: got 0', { firstTenant: [0, 0, 2] }],
    ['firstTenant[2]: got 1', { firstTenant: [0, 1, 1] }],
    ['firstTenant[1]: got NaN', { firstTenant: [0, Number.NaN, 2] }],
    ['network[1]: got 7', { network: [0, 7] }],
    ['network[0]: got -1', { network: [-1, 0] }],
    ['network[1]: got 0.5', { network: [0, 0.5] }],
    ['mpsPercent.length: got undefined', { mpsPercent: undefined as never }],
    ['smClockMhz.length: got undefined', { smClockMhz: undefined as never }],
    ['tenants[0].mpsPercent: got 101', { mpsPercent: [101, 20] }],
    ['tenants[0].batchSize: got 0', { batchSize: [8, 0] }],
    ['smClockMhz: got 2500', { smClockMhz: [2500, 900] }],
    ['memClockMhz: got 810', { memClockMhz: [9501, 810] }],
  ])('names %s', (message, change) => {
    const act = () => model.predictBatch({ ...good, ...change })
    expect(act).toThrowError(InvalidInputError)
    expect(act).toThrowError(message)
  })

  it('names an array of the output that is missing or too short', () => {
    const out = batchOutput(good)
    for (const name of ['powerW', 'tenantLatencyMs', 'powerSdW'] as const) {
      const act = () => model.predictBatch(good, { ...out, [name]: new Float64Array(1) })
      expect(act).toThrowError(`out.${name}.length: got 1, expected 2`)
    }
    expect(() => model.predictBatch(good, {} as never)).toThrowError('out.throughput.length: got undefined')
  })
})
