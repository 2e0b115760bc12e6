import { addNetwork, fitPerfModel, loadPerfModel, PerfModel, type PerfModelParameters, refit } from '@pctodl/perf-model'
import { type Configuration, gpuSpecs, PctodlError, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { networkWorks } from './network-works.js'
import { measuredRows } from './synthetic-rows.js'

const model = loadPerfModel('A100')
const tenant: Tenant = { model: 'resnet50', mpsPercent: 20, batchSize: 16 }
const good: Configuration = { tenants: [tenant], smClockMhz: 1200, memClockMhz: 1215 }
const rows = measuredRows(model, 31, 5)

/** Values that JSON cannot write or that have no text. */
const cycle: Record<string, unknown> = {}
cycle['cycle'] = cycle
const odd = { bigint: 5n, symbol: Symbol('odd'), list: [Symbol('odd')], without: Object.create(null) as object, cycle }

function codeAndField(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (!(error instanceof PctodlError)) throw error
    return `${error.code} ${'field' in error ? error.field : ''}`.trim()
  }
  return 'accepted'
}

describe('what is no configuration', () => {
  it.each<[string, unknown]>([
    ['INVALID_INPUT configuration', null],
    ['INVALID_INPUT configuration', undefined],
    ['INVALID_INPUT tenants', { ...good, tenants: undefined }],
    ['INVALID_INPUT tenants', { ...good, tenants: null }],
    ['INVALID_INPUT tenants[0]', { ...good, tenants: [null] }],
    ['INVALID_INPUT tenants[1]', { ...good, tenants: [tenant, undefined] }],
    ['INVALID_INPUT tenants[0].mpsPercent', { ...good, tenants: [{ ...tenant, mpsPercent: '20' }] }],
    ['INVALID_INPUT tenants[0].mpsPercent', { ...good, tenants: [{ ...tenant, mpsPercent: [20] }] }],
    ['INVALID_INPUT tenants[0].mpsPercent', { ...good, tenants: [{ ...tenant, mpsPercent: null }] }],
    ['INVALID_INPUT tenants[0].mpsPercent', { ...good, tenants: [{ ...tenant, mpsPercent: odd.bigint }] }],
    ['INVALID_INPUT tenants[0].mpsPercent', { ...good, tenants: [{ ...tenant, mpsPercent: odd.symbol }] }],
    ['INVALID_INPUT tenants[0].batchSize', { ...good, tenants: [{ ...tenant, batchSize: '16' }] }],
    ['INVALID_INPUT smClockMhz', { ...good, smClockMhz: '1200' }],
    ['INVALID_INPUT smClockMhz', { ...good, smClockMhz: [1200] }],
    ['INVALID_INPUT memClockMhz', { ...good, memClockMhz: '1215' }],
    ['UNKNOWN_NAME', { ...good, tenants: [{ ...tenant, model: undefined }] }],
    ['UNKNOWN_NAME', { ...good, tenants: [{ ...tenant, model: null }] }],
    ['UNKNOWN_NAME', { ...good, tenants: [{ ...tenant, model: 'constructor' }] }],
    ...Object.values(odd).map((value): [string, unknown] => [
      'UNKNOWN_NAME',
      { ...good, tenants: [{ ...tenant, model: value }] },
    ]),
  ])('is refused with %s: %o', (expected, bad) => {
    const configuration = bad as Configuration
    expect(codeAndField(() => model.predict(configuration))).toBe(expected)
    // The model works as before.
    expect(model.predict(good)).toEqual(loadPerfModel('A100').predict(good))
  })

  it('is no tenants for a clock, no tenant for memory, no text for a share in a batch of predictions', () => {
    const nothing = null as unknown as Tenant[]
    expect(codeAndField(() => model.solveSmClock(nothing, 1215, 200))).toBe('INVALID_INPUT tenants')
    const cap = '200' as unknown as number
    expect(codeAndField(() => model.solveSmClock([tenant], 1215, cap))).toBe('INVALID_INPUT powerCapW')
    expect(codeAndField(() => model.memoryBytes(null as unknown as Tenant))).toBe('INVALID_INPUT tenant')
    const batch = { network: [0], mpsPercent: ['20' as unknown as number], batchSize: [8], firstTenant: [0, 1] }
    const at = { smClockMhz: [1200], memClockMhz: [1215] }
    expect(codeAndField(() => model.predictBatch({ ...batch, ...at }))).toBe('INVALID_INPUT tenants[0].mpsPercent')
    const none = null as unknown as { network: number[] } & typeof batch & typeof at
    expect(codeAndField(() => model.predictBatch(none))).toBe('INVALID_INPUT input')
  })
})

describe('what is no probability', () => {
  it.each([0, 1, 2, -0.1, Number.NaN, '0.05', null])('is refused: %j', (bad) => {
    const probability = bad as number
    expect(codeAndField(() => model.upperPowerW(good, probability))).toBe('INVALID_INPUT probability')
    expect(codeAndField(() => model.solveSmClock([tenant], 1215, 200, probability))).toBe('INVALID_INPUT probability')
    expect(codeAndField(() => model.quantiles(good, [0.5, probability]))).toBe('INVALID_INPUT probabilities[1]')
  })

  it('is refused in a list with a gap', () => {
    expect(codeAndField(() => model.quantiles(good, new Array<number>(1)))).toBe('INVALID_INPUT probabilities[0]')
  })
})

describe('options', () => {
  it('that nothing reads are mistakes', () => {
    const misspelt = { source: 'test', fold: 3 } as unknown as { source: string }
    expect(codeAndField(() => fitPerfModel(rows, model.spec, misspelt))).toBe('INVALID_INPUT options.fold')
    expect(codeAndField(() => refit(model, rows, { fredom: 0.1 } as object))).toBe('INVALID_INPUT options.fredom')
  })

  it('are an object', () => {
    const none = null as never
    expect(codeAndField(() => fitPerfModel(rows, model.spec, none))).toBe('INVALID_INPUT options')
    expect(codeAndField(() => refit(model, rows, none))).toBe('INVALID_INPUT options')
  })
})

it('rows, boards and parameters of nothing are refused by name', () => {
  const nothing = null as unknown
  expect(codeAndField(() => fitPerfModel(nothing as [], model.spec, { source: 'test' }))).toBe('INVALID_INPUT rows')
  expect(codeAndField(() => refit(model, nothing as []))).toBe('INVALID_INPUT rows')
  expect(codeAndField(() => refit(nothing as PerfModel, []))).toBe('INVALID_INPUT model')
  expect(codeAndField(() => new PerfModel(nothing as PerfModelParameters))).toBe('INVALID_INPUT parameters')
  const [row] = rows
  for (const smClockMhz of [0, -1, 1411]) {
    expect(codeAndField(() => refit(model, [{ ...row!, smClockMhz }]))).toBe('INVALID_INPUT rows[0].smClockMhz')
  }
  const share = { ...row!, tenants: [{ ...tenant, mpsPercent: '20' as unknown as number }] }
  expect(codeAndField(() => refit(model, [share]))).toBe('INVALID_INPUT rows[0].tenants[0].mpsPercent')
  const half = { ...row!, tenants: [{ ...tenant, batchSize: 1.5 }] }
  expect(codeAndField(() => fitPerfModel([half], model.spec, { source: 'test', folds: 0 }))).toBe(
    'INVALID_INPUT rows[0].tenants[0].batchSize',
  )
})

it.each<[string, (value: never) => unknown]>([
  ['PLATFORM_FILE', (value) => fitPerfModel(rows, value, { source: 'test' })],
  ['PLATFORM_FILE', (value) => PerfModel.load(model.parameters, value)],
  ['PLATFORM_FILE', (value) => new PerfModel(model.parameters, { ...model.spec, clockStates: value })],
  ['INVALID_INPUT from.boardParameters', (value) => fitPerfModel(rows, model.spec, { source: 'test', from: value })],
  ['INVALID_INPUT source', (value) => fitPerfModel(rows, model.spec, { source: value })],
  ['INVALID_INPUT seed', (value) => fitPerfModel(rows, model.spec, { source: 'test', seed: value })],
  ['INVALID_INPUT maxIterations', (value) => fitPerfModel(rows, model.spec, { source: 'test', maxIterations: value })],
  ['INVALID_INPUT forget', (value) => refit(model, rows, { forget: value })],
  ['INVALID_INPUT model', (value) => refit(value, rows)],
  ['INVALID_INPUT model', (value) => addNetwork(value, 'mine', {} as never, { known: {} })],
  [
    'INVALID_INPUT rows',
    (value) => addNetwork(model, 'mine', networkWorks['resnet50']!, { known: networkWorks, rows: value }),
  ],
  ['INVALID_INPUT rows[0].tenants', (value) => refit(model, [{ ...rows[0]!, tenants: value }])],
  ['INVALID_INPUT rows[0].memUtilPercent', (value) => refit(model, [{ ...rows[0]!, memUtilPercent: value }])],
  ['INVALID_INPUT rows[0].tenantThroughput', (value) => refit(model, [{ ...rows[0]!, tenantThroughput: value }])],
  ['INVALID_INPUT smClockMhz', (value) => model.domain({ ...good, smClockMhz: value })],
  ['INVALID_INPUT tenants[0]', (value) => model.domain({ ...good, tenants: [{ ...tenant, batchSize: value }] })],
])('values of the wrong type are refused with %s', (expected, call) => {
  for (const value of [null, ...Object.values(odd)]) expect(codeAndField(() => call(value as never))).toMatch(expected)
})

it('rows at a memory clock that the model lacks are refused, also for a new network', () => {
  const other = gpuSpecs['3080Ti']!
  const one = PerfModel.load({
    ...loadPerfModel('3080Ti').parameters,
    boardParameters: {
      ...loadPerfModel('3080Ti').parameters.boardParameters,
      idlePowerW: [{ memClockMhz: 9501, powerW: 30 }],
    },
  })
  const row = { ...rows[0]!, smClockMhz: 1200, memClockMhz: 5001, tenants: [{ ...tenant, model: 'mine' }] }
  expect(other.performanceMemClocksMhz).toContain(5001)
  const work = networkWorks['resnet50']!
  const add = () => addNetwork(one, 'mine', work, { known: networkWorks, rows: [row] })
  expect(codeAndField(add)).toBe('INVALID_INPUT rows[0].memClockMhz')
})

it('error states whose lists do not fit the networks are refused', () => {
  const [first, second] = model.parameters.errors
  for (const change of [
    { mean: [1] },
    { learnt: [1, 2] },
    { covariance: [1] },
    { factors: first!.factors.map(() => [1]) },
  ]) {
    const errors = [{ ...first!, ...change }, second!]
    expect(codeAndField(() => new PerfModel({ ...model.parameters, errors }))).toMatch(
      /^INVALID_INPUT parameters.errors/,
    )
  }
})

it('the domain names shares that exceed the board', () => {
  const tenants = [60, 50].map((mpsPercent) => ({ ...tenant, mpsPercent }))
  const { inside, outside } = model.domain({ ...good, tenants })
  expect(inside).toBe(false)
  expect(outside).toContainEqual(expect.objectContaining({ field: 'sum of tenants[].mpsPercent', value: 110 }))
  expect(codeAndField(() => model.domain({ ...good, tenants: [] }))).toBe('INVALID_INPUT tenants')
})

describe("the field's names of networks", () => {
  it.each([
    ['mnasnet', 'mnasnet1_0'],
    ['mobilenetv2', 'mobilenet_v2'],
    ['maxvit', 'maxvit_t'],
    ['ResNet50', 'resnet50'],
  ])('mean the same: %s is %s', (alias, name) => {
    const as = (named: string): Configuration => ({ ...good, tenants: [{ ...tenant, model: named }, tenant] })
    expect(model.predict(as(alias))).toEqual(model.predict(as(name)))
    expect(model.memoryBytes({ ...tenant, model: alias })).toBe(model.memoryBytes({ ...tenant, model: name }))
    expect(model.domain(as(alias))).toEqual(model.domain(as(name)))
    expect(codeAndField(() => model.predict(as('alexnet')))).toBe('UNKNOWN_NAME')
  })
})
