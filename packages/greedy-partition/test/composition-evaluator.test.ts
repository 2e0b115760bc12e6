import type { Prediction, Predictor } from '@pctodl/perf-model'
import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { tightestBound } from '../src/bounds.js'
import { better, CompositionEvaluator, type Evaluation } from '../src/composition-evaluator.js'
import { bestFirst } from '../src/improve.js'
import type { PartitionOptions } from '../src/options.js'
import { searchProblem } from '../src/search-problem.js'

/** Whose tenants each do ten samples/s in 50 ms, take 100 W and a gigabyte, and lie two away from what is known. */
const plain: Predictor = {
  spec: gpuSpecs['A100']!,
  memClocksMhz: gpuSpecs['A100']!.performanceMemClocksMhz,
  predict: ({ tenants }) => ({
    throughput: 10 * tenants.length,
    powerW: 100 * tenants.length,
    smUtilPercent: 50,
    memUtilPercent: 50,
    distance: 2,
    tenants: tenants.map(() => ({ throughput: 10, latencyMs: 50, p99LatencyMs: 80 })),
  }),
  solveSmClock: (tenants, _, powerCapW) => (100 * tenants.length <= powerCapW ? 1410 : undefined),
  memoryBytes: () => 1e9,
}

function evaluated(options: Partial<PartitionOptions>, tenants = 2) {
  const problem = searchProblem(plain, {
    models: 'any',
    powerCapW: 250,
    sharePercentStep: 50,
    batchSizes: [8],
    ...options,
  })
  const evaluator = new CompositionEvaluator(plain, problem)
  return { evaluator, found: evaluator.evaluate(new Array<number>(tenants).fill(0), 0) }
}

describe('a composition', () => {
  it('may take all of each bound, and no more', () => {
    const reached = { powerCapW: 200, memoryBytes: 2e9, latencySloMs: 50, minTenantThroughput: 10, maxDistance: 2 }
    expect(evaluated(reached).found).toMatchObject({ smClockMhz: 1410, score: 20 })
    expect(evaluated({ latencySloMs: 80, latencyPercentile: 'p99' }).found).toBeDefined()
    const broken: Partial<PartitionOptions>[] = [
      { powerCapW: 199.9 },
      { memoryBytes: 2e9 - 1 },
      { latencySloMs: 49.9 },
      { latencySloMs: 79.9, latencyPercentile: 'p99' },
      { minTenantThroughput: 10.1 },
      { maxDistance: 1.9 },
    ]
    for (const bound of broken) expect(evaluated(bound).found, JSON.stringify(bound)).toBeUndefined()
  })

  it('counts as evaluated once, but for those that do not fit into memory, and is none where it is too far away', () => {
    const far = evaluated({ maxDistance: 1.9 }).evaluator
    expect(far.evaluate([0, 0], 0)).toBeUndefined()
    expect(far.evaluations).toBe(1)
    expect(evaluated({ latencySloMs: 49 }).evaluator.evaluations).toBe(1)
    expect(evaluated({ memoryBytes: 1e9 }).evaluator.evaluations).toBe(0)
    const { evaluator, found } = evaluated({})
    expect(evaluator.evaluate([0, 0], 0)).toBe(found)
    expect(evaluator.evaluateAfresh([0, 0], 0)).toEqual(found)
    expect(evaluator.evaluations).toBe(2)
  })

  it('is worth the weighted sum of what its tenants do', () => {
    const models = [
      { model: 'a', weight: 2 },
      { model: 'b', weight: 0.5 },
    ]
    const { evaluator } = evaluated({ models })
    expect(evaluator.evaluate([0, 2], 0)!.score).toBe(25)
  })

  it('is looked for until the evaluations or, once it is watched, the time are spent', () => {
    let ms = 100
    const { evaluator } = evaluated({ budgetEvaluations: 3, timeBudgetMs: 5, now: () => ms })
    ms = 105
    expect(evaluator.spent()).toBeUndefined()
    evaluator.watchTime()
    expect(evaluator.spent()).toBe('time-budget')
    ms = 104.9
    expect(evaluator.spent()).toBeUndefined()
    evaluator.evaluate([0], 0)
    expect(evaluator.spent()).toBeUndefined()
    evaluator.evaluate([1], 0)
    expect(evaluator.spent()).toBe('evaluation-budget')
  })
})

describe('the tightest bound', () => {
  it('is that which is kept least well of all tenants, latency or throughput', () => {
    const { problem } = evaluated({ latencySloMs: 100, minTenantThroughput: 5 }).evaluator
    const of = (...tenants: readonly (readonly [throughput: number, latencyMs: number])[]) =>
      tightestBound(
        problem,
        tenants.map(() => 0),
        {
          tenants: tenants.map(([throughput, latencyMs]) => ({ throughput, latencyMs })),
        } as unknown as Prediction,
      )
    expect(of([10, 60], [10, 80], [10, 70])).toEqual({ reason: 'latency-slo', tenant: 1, ratio: 0.8, found: 80 })
    expect(of([10, 60], [4, 80], [10, 130])).toEqual({ reason: 'latency-slo', tenant: 2, ratio: 1.3, found: 130 })
    expect(of([10, 60], [4, 80], [10, 120])).toEqual({ reason: 'min-throughput', tenant: 1, ratio: 1.25, found: 4 })
    // Of equal ratios, the first bound is returned, and latency comes before throughput.
    expect(of([5, 100], [5, 100])).toMatchObject({ reason: 'latency-slo', tenant: 0, ratio: 1 })
    expect(tightestBound(evaluated({}).evaluator.problem, [0], {} as Prediction)).toBeUndefined()
  })
})

describe('the better of two', () => {
  it('is worth more, or stands first in order', () => {
    const of = (score: number, composition: readonly number[], memIndex = 0) =>
      ({ score, composition, memIndex }) as unknown as Evaluation
    const ordered = [of(3, [2]), of(2, [1, 3]), of(2, [1, 4]), of(2, [0], 1), of(1, [0])]
    ordered.forEach((a, i) => {
      ordered.forEach((b, j) => {
        expect(better(a, b)).toBe(ordered[Math.min(i, j)])
        const order = bestFirst({ evaluation: a, steps: [] }, { evaluation: b, steps: [] })
        expect(Math.sign(order)).toBe(Math.sign(i - j))
      })
      expect([better(a, undefined), better(undefined, a)]).toEqual([a, a])
    })
    expect(better(undefined, undefined)).toBeUndefined()
  })
})
