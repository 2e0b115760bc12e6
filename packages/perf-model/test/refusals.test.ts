import { fitPerfModel, loadPerfModel, PerfModel, type PerfModelParameters, refit } from '@pctodl/perf-model'
import { type Configuration, PctodlError, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { measuredRows } from './synthetic-rows.js'

const model = loadPerfModel('A100')
const tenant: Tenant = { model: 'resnet50', mpsPercent: 20, batchSize: 16 }
const good: Configuration = { tenants: [tenant], smClockMhz: 1200, memClockMhz: 1215 }
const rows = measuredRows(model, 31, 5)

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
    ['INVALID_INPUT tenants[0].batchSize', { ...good, tenants: [{ ...tenant, batchSize: '16' }] }],
    ['INVALID_INPUT smClockMhz', { ...good, smClockMhz: '1200' }],
    ['INVALID_INPUT smClockMhz', { ...good, smClockMhz: [1200] }],
    ['INVALID_INPUT memClockMhz', { ...good, memClockMhz: '1215' }],
    ['UNKNOWN_NAME', { ...good, tenants: [{ ...tenant, model: undefined }] }],
    ['UNKNOWN_NAME', { ...good, tenants: [{ ...tenant, model: null }] }],
  ])('is refused with %s: %j', (expected, bad) => {
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
