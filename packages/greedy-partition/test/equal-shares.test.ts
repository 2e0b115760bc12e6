import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import type { Candidate } from '../src/candidate.js'
import { CompositionEvaluator } from '../src/composition-evaluator.js'
import { equalShares } from '../src/equal-shares.js'
import type { PartitionOptions } from '../src/options.js'
import { searchProblem } from '../src/search-problem.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const MAX_UNITS = 20

/** Its networks need next to no memory. */
class Roomy extends SyntheticPredictor {
  override memoryBytes(): number {
    return 1
  }
}

/** Under a cap that nothing exceeds. */
function evaluatorOf(options: Partial<PartitionOptions>): CompositionEvaluator {
  const predictor = new Roomy(gpuSpecs['3080Ti']!)
  const problem = searchProblem(predictor, {
    models: 'light',
    powerCapW: 1000,
    sharePercentStep: 100 / MAX_UNITS,
    batchSizes: [8, 16],
    ...options,
  })
  return new CompositionEvaluator(predictor, problem)
}

/** Of each candidate: how many tenants, their share and their batch, where all have the same. */
function cuts(evaluator: CompositionEvaluator, candidates: readonly Candidate[]): string[] {
  return candidates.map(({ evaluation }) => {
    const tenants = evaluation.composition.map((kind) => evaluator.problem.kinds.tenants[kind]!)
    const alike = new Set(tenants.map(({ mpsPercent, batchSize }) => `${mpsPercent} % x ${batchSize}`))
    return `${tenants.length} of ${[...alike].join(' and ')}`
  })
}

const cutsOf = (options: Partial<PartitionOptions>): string[] => {
  const evaluator = evaluatorOf(options)
  return cuts(evaluator, equalShares(evaluator, 0))
}

describe('a board that is cut into equal tenants', () => {
  it('is cut into one to twenty, as large as the step allows, at every batch size', () => {
    const wanted = Array.from({ length: 20 }, (_, i) => {
      const percent = 5 * Math.floor(20 / (i + 1))
      return [8, 16].map((batchSize) => `${i + 1} of ${percent} % x ${batchSize}`)
    }).flat()
    expect(cutsOf({})).toEqual(wanted)
  })

  it('is cut no finer than its tenants may be many or its shares are fine', () => {
    expect(cutsOf({ maxTenants: 3 })).toHaveLength(2 * 3)
    expect(cutsOf({ sharePercentStep: 25 })).toHaveLength(2 * 4)
    expect(cutsOf({ sharePercentStep: 1 })).toHaveLength(2 * 20)
    expect(cutsOf({ maxSharePercent: 40, batchSizes: [8] }).slice(0, 3)).toEqual([
      '1 of 40 % x 8',
      '2 of 40 % x 8',
      '3 of 30 % x 8',
    ])
  })

  it('is cut for several networks into as many parts, each into one to four', () => {
    const models = [{ model: 'light' }, { model: 'heavy' }]
    expect(cutsOf({ models, batchSizes: [8] })).toEqual([
      '2 of 50 % x 8',
      '4 of 25 % x 8',
      '6 of 15 % x 8',
      '8 of 10 % x 8',
    ])
    expect(cutsOf({ models, batchSizes: [8, 16], maxTenants: 5 })).toHaveLength(2 * 2)
    const evaluator = evaluatorOf({ models })
    for (const { evaluation } of equalShares(evaluator, 0)) {
      const networks = evaluation.composition.map((kind) => evaluator.problem.kinds.network[kind])
      expect(networks.filter((network) => network === 0)).toHaveLength(networks.length / 2)
    }
  })

  it('says of each cut what it is, and leaves out what breaks a bound', () => {
    const evaluator = evaluatorOf({})
    expect(equalShares(evaluator, 0)[3]!.steps[0]).toMatchObject({
      stage: 'equal-shares',
      move: '2 equal tenants of 50 % x 16',
    })
    expect(cutsOf({ powerCapW: 1 })).toEqual([])
  })

  it('is cut no further once the budget is spent', () => {
    expect(cutsOf({ budgetEvaluations: 5 })).toHaveLength(5)
    expect(cutsOf({ budgetEvaluations: 3, models: [{ model: 'light' }, { model: 'heavy' }] })).toHaveLength(3)
  })
})
