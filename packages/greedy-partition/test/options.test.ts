import { gpuSpecs, InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type PartitionOptions, partition } from '../src/index.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const predictor = new SyntheticPredictor(gpuSpecs['A100']!)
const good: PartitionOptions = { models: 'middle', powerCapW: 200 }

describe('options', () => {
  it.each<[string, Record<string, unknown>]>([
    ['powerCapW', { powerCapW: 0 }],
    ['powerCapW', { powerCapW: Number.NaN }],
    ['powerCapW', { powerCapW: '200' }],
    ['powerMarginW', { powerMarginW: -1 }],
    ['powerMarginW', { powerMarginW: 200 }],
    ['sharePercentStep', { sharePercentStep: 0 }],
    ['sharePercentStep', { sharePercentStep: 2.5 }],
    ['maxSharePercent', { maxSharePercent: 4 }],
    ['maxSharePercent', { maxSharePercent: 101 }],
    ['maxTenants', { maxTenants: 0 }],
    ['maxTenants', { maxTenants: 49 }],
    ['maxBatchSize', { maxBatchSize: 3 }],
    ['batchSizes[1]', { batchSizes: [8, 0] }],
    [
      'batchSizes',
      { sharePercentStep: 1, batchSizes: Array.from({ length: 640 }, (_, i) => i + 1), models: models(3) },
    ],
    ['latencySloMs', { latencySloMs: 0 }],
    ['memoryBytes', { memoryBytes: Number.NaN }],
    ['budgetEvaluations', { budgetEvaluations: 0 }],
    ['timeBudgetMs', { timeBudgetMs: -1, now: () => 0 }],
    ['now', { timeBudgetMs: 5 }],
    ['seed', { seed: -1 }],
    ['memClocksMhz', { memClocksMhz: [810] }],
    ['memClocksMhz', { memClocksMhz: [] }],
    ['models', { models: [] }],
    ['models', { models: models(3), maxTenants: 2 }],
    ['models', { models: models(3), sharePercentStep: 50 }],
    ['models[0].model', { models: '' }],
    ['models[1].model', { models: [{ model: 'middle' }, { model: 'middle' }] }],
    ['models[0].weight', { models: [{ model: 'middle', weight: 0 }] }],
  ])('refuses a bad %s', (field, bad) => {
    let error: unknown
    try {
      partition(predictor, { ...good, ...bad } as PartitionOptions)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(InvalidInputError)
    expect((error as InvalidInputError).field).toBe(field)
  })

  it('leaves unknown networks to the predictor', () => {
    expect(() => partition(predictor, { ...good, models: 'nonesuch' })).toThrow(UnknownNameError)
  })
})

function models(count: number) {
  return ['light', 'middle', 'heavy'].slice(0, count).map((model) => ({ model }))
}
