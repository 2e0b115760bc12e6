import { gpuSpecs, InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type PartitionOptions, partition } from '../src/index.js'
import { searchProblem } from '../src/search-problem.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const spec = gpuSpecs['A100']!
const predictor = new SyntheticPredictor(spec)
const good: PartitionOptions = { models: 'middle', powerCapW: 200 }

describe('options', () => {
  it.each<[string, Record<string, unknown>]>([
    ['powerCapW', { powerCapW: 0 }],
    ['powerCapW', { powerCapW: Number.NaN }],
    ['powerCapW', { powerCapW: Infinity }],
    ['powerCapW', { powerCapW: '200' }],
    ['powerMarginW', { powerMarginW: -1 }],
    ['powerMarginW', { powerMarginW: 200 }],
    ['sharePercentStep', { sharePercentStep: 0 }],
    ['sharePercentStep', { sharePercentStep: 2.5 }],
    ['sharePercentStep', { sharePercentStep: 101 }],
    ['maxSharePercent', { maxSharePercent: 4 }],
    ['maxSharePercent', { maxSharePercent: 101 }],
    ['maxTenants', { maxTenants: 0 }],
    ['maxTenants', { maxTenants: 49 }],
    ['maxBatchSize', { maxBatchSize: 3 }],
    ['maxBatchSize', { maxBatchSize: 0, batchSizes: [1] }],
    ['maxBatchSize', { maxBatchSize: 65537 }],
    ['batchSizes', { batchSizes: '4' }],
    ['batchSizes', { batchSizes: {} }],
    ['batchSizes[1]', { batchSizes: [8, 0] }],
    ['batchSizes[0]', { batchSizes: [65537] }],
    ['batchSizes', manyKinds(21846)],
    ['minBatchPerPercent', { minBatchPerPercent: -0.1 }],
    ['minBatchPerPercent', { minBatchPerPercent: 6.5 }],
    ['latencySloMs', { latencySloMs: 0 }],
    ['models[0].latencySloMs', { models: [{ model: 'middle', latencySloMs: 0 }] }],
    ['latencyPercentile', { latencyPercentile: 'p95' }],
    ['minTenantThroughput', { minTenantThroughput: -1 }],
    ['minTenantThroughput', { minTenantThroughput: Infinity }],
    ['models[0].minTenantThroughput', { models: [{ model: 'middle', minTenantThroughput: -1 }] }],
    ['capExceedanceProbability', { capExceedanceProbability: 0.9e-9 }],
    ['capExceedanceProbability', { capExceedanceProbability: 0.51 }],
    ['memoryBytes', { memoryBytes: Number.NaN }],
    ['memoryBytes', { memoryBytes: 0 }],
    ['maxDistance', { maxDistance: 0.9 }],
    ['budgetEvaluations', { budgetEvaluations: 0 }],
    ['budgetEvaluations', { budgetEvaluations: 2 ** 53 }],
    ['timeBudgetMs', { timeBudgetMs: -1, now: () => 0 }],
    ['timeBudgetMs', { timeBudgetMs: 0, now: () => 0 }],
    ['now', { timeBudgetMs: 5 }],
    ['now', { now: 5 }],
    ['now()', { now: () => Number.NaN }],
    ['improve', { improve: 'false' }],
    ['powerCapW', { powerCapW: 200n }],
    ['memClocksMhz', { memClocksMhz: [undefined] }],
    ['seed', { seed: -1 }],
    ['seed', { seed: 2 ** 32 }],
    ['memClocksMhz', { memClocksMhz: [810] }],
    ['memClocksMhz', { memClocksMhz: [] }],
    ['memClocksMhz', { memClocksMhz: 9501 }],
    ['models', { models: [] }],
    ['models', { models: 3 }],
    ['models', { models: models(3), maxTenants: 2 }],
    ['models', { models: models(3), sharePercentStep: 50 }],
    ['models[0].model', { models: '' }],
    ['models[0].model', { models: [{ model: 3 }] }],
    ['models[0].model', { models: [null] }],
    ['models[1].model', { models: [{ model: 'middle' }, { model: 'middle' }] }],
    ['models[0].weight', { models: [{ model: 'middle', weight: 0.9e-100 }] }],
    ['models[0].weight', { models: [{ model: 'middle', weight: 1.1e100 }] }],
  ])('refuses a bad %s', (field, bad) => {
    let error: unknown
    try {
      searchProblem(predictor, { ...good, ...bad } as PartitionOptions)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(InvalidInputError)
    expect((error as InvalidInputError).field).toBe(field)
  })

  it.each([null, undefined, {}])('refuses a predictor that is none: %j', (none) => {
    expect(() => searchProblem(none as never, good)).toThrowError('predictor: got')
  })

  it.each<Partial<PartitionOptions>>([
    { powerCapW: 1e-9 },
    { powerMarginW: 200 - 1e-9 },
    { sharePercentStep: 1, maxSharePercent: 1 },
    { sharePercentStep: 100, maxSharePercent: 100, maxTenants: 1 },
    { batchSizes: [1], maxBatchSize: 1 },
    { batchSizes: [65536], maxBatchSize: 65536, minBatchPerPercent: 6.4 },
    manyKinds(21845),
    { latencySloMs: 1e-9, minTenantThroughput: 0, minBatchPerPercent: 0, memoryBytes: 1, maxDistance: 1 },
    { budgetEvaluations: 1, timeBudgetMs: 1e-9, now: () => 0, seed: 0, memoryBytes: spec.memoryBytes },
    { budgetEvaluations: Number.MAX_SAFE_INTEGER, seed: 2 ** 32 - 1, maxTenants: 48 },
    { capExceedanceProbability: 1e-9 },
    { capExceedanceProbability: 0.5 },
    { models: models(2), sharePercentStep: 50 },
    { models: models(2), maxTenants: 2 },
    { models: [{ model: 'middle', weight: 1e-100 }] },
    { models: [{ model: 'middle', weight: 1e100 }] },
  ])('may be the ends of what is allowed: %j', (ends) => {
    expect(() => searchProblem(predictor, { ...good, ...ends })).not.toThrow()
  })

  it('that are not given are what their descriptions say', () => {
    const problem = searchProblem(predictor, good)
    expect(problem).toMatchObject({
      weights: [1],
      powerCapW: 200,
      powerMarginW: 0,
      powerLimitW: 200,
      totalUnits: 20,
      maxTenants: 48,
      latencySloMs: [Infinity],
      latencyPercentile: 'mean',
      minTenantThroughput: [0],
      boundsTenants: false,
      memoryBytes: spec.memoryBytes,
      maxDistance: 2,
      budgetEvaluations: 4000,
      deadlineMs: Infinity,
      seed: 1,
      improve: true,
    })
    expect(problem.boardLimitW).toBeUndefined()
    expect(problem.now()).toBe(problem.now())
    expect([problem.kinds.maxUnits, problem.kinds.tenants.at(-1)!.batchSize]).toEqual([20, 256])
    expect(searchProblem(predictor, { ...good, now: () => 7 }).deadlineMs).toBe(57)
    expect(searchProblem(predictor, { ...good, sharePercentStep: 30 }).totalUnits).toBe(3)
  })

  it('of a network stand in the place of those for all, and networks are in the order of their names', () => {
    const problem = searchProblem(predictor, {
      ...good,
      models: [
        { model: 'middle', weight: 3, latencySloMs: 40 },
        { model: 'heavy', minTenantThroughput: 5 },
        { model: 'light' },
      ],
      latencySloMs: 80,
      minTenantThroughput: 2,
    })
    expect(problem.kinds.networks).toEqual(['heavy', 'light', 'middle'])
    expect(problem).toMatchObject({
      weights: [1, 1, 3],
      latencySloMs: [80, 80, 40],
      minTenantThroughput: [5, 2, 2],
      boundsTenants: true,
    })
    const bounds = (of: Partial<PartitionOptions>) => searchProblem(predictor, { ...good, ...of }).boundsTenants
    expect([bounds({ latencySloMs: 1e9 }), bounds({ minTenantThroughput: 1e-9 })]).toEqual([true, true])
    expect(bounds({ models: [{ model: 'middle' }, { model: 'light', latencySloMs: 1 }] })).toBe(true)
    expect(bounds({ models: [{ model: 'middle' }, { model: 'light', minTenantThroughput: 1 }] })).toBe(true)
  })

  it('of clocks and batches come in their order, each once', () => {
    const board = new SyntheticPredictor(gpuSpecs['3080Ti']!)
    const problem = searchProblem(board, {
      ...good,
      memClocksMhz: [5001, 9501, 5001],
      batchSizes: [16, 8, 4, 16],
      maxBatchSize: 8,
    })
    expect(problem.memClocksMhz).toEqual([9501, 5001])
    expect(problem.kinds.at(0, 20).map((kind) => problem.kinds.tenants[kind]!.batchSize)).toEqual([4, 8])
    expect(() => searchProblem(board, { ...good, batchSizes: [16, 8], maxBatchSize: 7 })).toThrow(
      'at least one of batchSizes (16, 8)',
    )
  })

  it('of a cap at the limit of the board leave it as it is, and above it say so', () => {
    const maxW = spec.powerLimitW.max
    expect(searchProblem(predictor, { ...good, powerCapW: maxW }).boardLimitW).toBeUndefined()
    const above = searchProblem(predictor, { ...good, powerCapW: maxW + 1e-6, powerMarginW: 10 })
    expect(above).toMatchObject({ boardLimitW: maxW, powerCapW: maxW, powerLimitW: maxW - 10 })
  })

  it('leaves unknown networks to the predictor', () => {
    expect(() => partition(predictor, { ...good, models: 'nonesuch' })).toThrow(UnknownNameError)
  })
})

function models(count: number) {
  return ['light', 'middle', 'heavy'].slice(0, count).map((model) => ({ model }))
}

/** Three networks with so many kinds each: there are numbers for 65535 in all. */
function manyKinds(each: number): Partial<PartitionOptions> {
  // Of a hundred shares a batch size has those that it is at most 6.4 times as large as.
  const sharesOf = (batchSize: number) => 101 - Math.ceil(batchSize / 6.4)
  const batchSizes: number[] = []
  let rest = each
  for (let size = 1; size <= 640; size++) {
    if (sharesOf(size) > rest) continue
    batchSizes.push(size)
    rest -= sharesOf(size)
  }
  return { models: models(3), sharePercentStep: 1, batchSizes }
}
