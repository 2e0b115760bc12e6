import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import { exhaustive, type FeasiblePartition, type PartitionOptions, partition } from '../src/index.js'
import { SyntheticPredictor, syntheticNetworks } from './synthetic-predictor.js'

const board = (key: string) => new SyntheticPredictor(gpuSpecs[key]!)

function found(predictor: SyntheticPredictor, options: PartitionOptions): FeasiblePartition {
  const result = partition(predictor, options)
  if (!result.feasible) throw new Error(result.message)
  return result
}

const cases = ['3080Ti', 'A100', 'H100'].flatMap((key) =>
  Object.keys(syntheticNetworks).flatMap((models) =>
    [0.4, 0.55, 0.75].map((part) => ({ key, models, powerCapW: part * gpuSpecs[key]!.powerLimitW.max })),
  ),
)

/** A third of them, and half of that where tests are to be quick; each board and network is among them. */
const someCases = cases.filter((_, i) => i % 3 === 1 && (longTests || i % 2 === 1))

describe('partition', () => {
  it.each([20, 25])('comes within half a percent of the best there is at a step of %i', (sharePercentStep) => {
    for (const { key, models, powerCapW } of sharePercentStep === 20
      ? someCases
      : cases.filter((_, i) => longTests || i % 4 === 0)) {
      const options = { models, powerCapW, sharePercentStep }
      const best = exhaustive(board(key), options) as FeasiblePartition
      const ours = found(board(key), options)
      expect(
        ours.prediction.throughput / best.prediction.throughput,
        JSON.stringify({ key, ...options }),
      ).toBeGreaterThan(0.995)
      expect(ours.prediction.throughput).toBeLessThanOrEqual(best.prediction.throughput)
      expect(ours.evaluations).toBeLessThan(best.evaluations)
    }
  })

  it('makes use of finer steps', () => {
    for (const { key, models, powerCapW } of someCases) {
      const coarse = exhaustive(board(key), { models, powerCapW, sharePercentStep: 25 }) as FeasiblePartition
      const fine = found(board(key), { models, powerCapW, sharePercentStep: 5 })
      expect(fine.prediction.throughput).toBeGreaterThanOrEqual(coarse.prediction.throughput * 0.995)
    }
  })

  it('improves on the greedy stage alone, and reports both', () => {
    const options = { models: 'heavy', powerCapW: 200 }
    const greedy = found(board('3080Ti'), { ...options, improve: false })
    const full = found(board('3080Ti'), options)
    expect(greedy.stoppedBecause).toBe('greedy-only')
    expect(full.stoppedBecause).toBe('no-improving-move')
    expect(full.prediction.throughput).toBeGreaterThan(greedy.prediction.throughput * 1.05)
  })

  it('does no worse with a choice of memory clocks than with either of them fixed', () => {
    for (const { models, powerCapW } of cases.filter(({ key }, i) => key === '3080Ti' && i % 3 < (longTests ? 2 : 1))) {
      const free = found(board('3080Ti'), { models, powerCapW })
      for (const memClockMhz of [9501, 5001]) {
        const fixed = found(board('3080Ti'), { models, powerCapW, memClocksMhz: [memClockMhz] })
        expect(fixed.configuration.memClockMhz).toBe(memClockMhz)
        expect(free.prediction.throughput).toBeGreaterThanOrEqual(fixed.prediction.throughput * 0.995)
      }
    }
  })

  it('leaves the margin below the cap', () => {
    const result = found(board('A100'), { models: 'middle', powerCapW: 200, powerMarginW: 12 })
    expect(result.prediction.powerW).toBeLessThanOrEqual(188)
    expect(result.marginW).toBeCloseTo(200 - result.prediction.powerW, 9)
  })

  it('predicts what it returns', () => {
    const predictor = board('3080Ti')
    const result = found(predictor, { models: 'middle', powerCapW: 180 })
    expect(predictor.predict(result.configuration)).toEqual(result.prediction)
    expect(result.weightedThroughput).toBe(result.prediction.throughput)
  })

  it('weighs each network by its weight', () => {
    const { configuration, prediction, weightedThroughput } = found(board('A100'), {
      models: [{ model: 'light' }, { model: 'heavy', weight: 5 }],
      powerCapW: 200,
      sharePercentStep: 20,
    })
    const weighed = configuration.tenants.map(
      ({ model }, i) => (model === 'heavy' ? 5 : 1) * prediction.tenants[i]!.throughput,
    )
    expect(weightedThroughput).toBeCloseTo(
      weighed.reduce((sum, each) => sum + each, 0),
      9,
    )
  })

  it('tells the way it went, every step allowed, the last one the result', () => {
    const result = found(board('3080Ti'), { models: 'middle', powerCapW: 180 })
    expect(result.steps.length).toBeGreaterThan(1)
    for (const step of result.steps) expect(step.powerW).toBeLessThanOrEqual(180)
    result.steps.slice(1).forEach((step, i) => {
      if (step.stage === 'improve') expect(step.throughput).toBeGreaterThan(result.steps[i]!.throughput)
    })
    expect(result.steps.at(-1)!.configuration).toEqual(result.configuration)
  })

  it('keeps every bound on tenants', () => {
    const predictor = board('A100')
    const memoryBytes = 3e9
    const result = found(predictor, {
      models: 'light',
      powerCapW: 200,
      sharePercentStep: 10,
      maxTenants: 3,
      maxSharePercent: 30,
      maxBatchSize: 100,
      memoryBytes,
    })
    const { tenants } = result.configuration
    expect(tenants.length).toBeLessThanOrEqual(3)
    for (const tenant of tenants) {
      expect(tenant.mpsPercent % 10).toBe(0)
      expect(tenant.mpsPercent).toBeLessThanOrEqual(30)
      expect(tenant.batchSize).toBeLessThanOrEqual(96)
    }
    expect(tenants.reduce((bytes, tenant) => bytes + predictor.memoryBytes(tenant), 0)).toBeLessThanOrEqual(memoryBytes)
  })

  it('still finds a configuration when the budget is a single evaluation', () => {
    const result = found(board('A100'), { models: 'middle', powerCapW: 200, budgetEvaluations: 1 })
    expect(result.stoppedBecause).toBe('evaluation-budget')
    expect(result.prediction.powerW).toBeLessThanOrEqual(200)
  })

  it('handles a space of one configuration', () => {
    const only = { maxSharePercent: 100, sharePercentStep: 100, batchSizes: [64] }
    const result = found(board('A100'), { models: 'middle', powerCapW: 250, ...only })
    expect(result.configuration.tenants).toEqual([{ model: 'middle', mpsPercent: 100, batchSize: 64 }])
    expect(result).toMatchObject({ evaluations: 1, stoppedBecause: 'no-improving-move' })
  })

  it('finishes the greedy stage, then stops at the time budget', () => {
    const greedy = found(board('A100'), { models: 'middle', powerCapW: 200, improve: false })
    let nowMs = 0
    const result = found(board('A100'), {
      models: 'middle',
      powerCapW: 200,
      timeBudgetMs: 50,
      now: () => nowMs++,
    })
    expect(result.stoppedBecause).toBe('time-budget')
    expect(result.evaluations).toBeLessThanOrEqual(greedy.evaluations + 50)
    expect(result.prediction.throughput).toBeGreaterThanOrEqual(greedy.prediction.throughput)
  })

  it('spends no evaluation on a configuration it has seen', () => {
    const predictor = board('A100')
    const asked: string[] = []
    const solve = predictor.solveSmClock.bind(predictor)
    predictor.solveSmClock = (tenants, memClockMhz, powerCapW) => {
      asked.push(JSON.stringify([tenants.map((t) => [t.mpsPercent, t.batchSize]).sort(), memClockMhz]))
      return solve(tenants, memClockMhz, powerCapW)
    }
    const result = found(predictor, { models: 'middle', powerCapW: 200 })
    expect(new Set(asked).size).toBe(asked.length)
    expect(asked.length).toBe(result.evaluations)
  })

  it('steps down where the solver of a predictor lands above the cap', () => {
    const predictor = board('A100')
    const solve = predictor.solveSmClock.bind(predictor)
    predictor.solveSmClock = (tenants, memClockMhz, powerCapW) => solve(tenants, memClockMhz, powerCapW + 3)
    expect(found(predictor, { models: 'middle', powerCapW: 150 }).prediction.powerW).toBeLessThanOrEqual(150)
  })
})

describe('partition of several networks', () => {
  const models = [
    { model: 'light', weight: 1 / 40000 },
    { model: 'heavy', weight: 1 / 2000 },
  ]

  it('gives each a tenant and comes within 0.5 % of the best', () => {
    for (const [key, powerCapW] of [
      ['A100', 180],
      ['3080Ti', 200],
    ] as const) {
      const options = { models, powerCapW, sharePercentStep: 25 }
      const best = exhaustive(board(key), options) as FeasiblePartition
      const ours = found(board(key), options)
      expect(new Set(ours.configuration.tenants.map((tenant) => tenant.model)).size).toBe(2)
      expect(ours.weightedThroughput / best.weightedThroughput).toBeGreaterThan(0.995)
    }
  })

  it('is the same for every order of the list', () => {
    const options = { powerCapW: 180, sharePercentStep: 10 }
    expect(partition(board('A100'), { ...options, models: models.toReversed() })).toEqual(
      partition(board('A100'), { ...options, models }),
    )
  })
})
