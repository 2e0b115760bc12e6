import { loadPerfModel } from '@pctodl/perf-model'
import { gpuSpecs, type Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type PartitionOptions, partition } from '../src/index.js'
import { planServices, type ServicePlanOptions } from '../src/services.js'
import { SyntheticPredictor } from './synthetic-predictor.js'
import { UncertainPredictor } from './uncertain-predictor.js'

/** A plan in one line: share:batch of each tenant, clocks, throughput and power, and how it was found. */
function planOf(predictor: SyntheticPredictor, options: PartitionOptions): string {
  const plan = partition(predictor, options)
  if (!plan.feasible) return plan.reason
  const { tenants, smClockMhz, memClockMhz } = plan.configuration
  return [
    tenants.map(({ model, mpsPercent, batchSize }) => `${model[0]}${mpsPercent}:${batchSize}`).join(' '),
    `${smClockMhz}/${memClockMhz}`,
    plan.weightedThroughput.toFixed(3),
    plan.prediction.powerW.toFixed(3),
    `${plan.evaluations} ${plan.steps.length} ${plan.stoppedBecause}`,
  ].join(', ')
}

// The result of a search depends on the order of its moves, on every stride and on every bound. A change of one of
// these shows here which plans move. State it in the change, because published figures depend on these plans.
describe('the same plans as before', () => {
  const board = new SyntheticPredictor(gpuSpecs['3080Ti']!)
  const uncertain = new UncertainPredictor(gpuSpecs['3080Ti']!)

  it('are found for one network', () => {
    const plans = [130, 190, 280].map((powerCapW) => planOf(board, { models: 'middle', powerCapW, improve: false }))
    expect(plans).toMatchInlineSnapshot(`
      [
        "m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m10:64 m10:64 m10:64 m10:64 m15:96, 900/5001, 1667.451, 129.591, 272 12 greedy-only",
        "m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m10:32 m15:64 m25:64, 1200/5001, 2412.497, 189.983, 267 18 greedy-only",
        "m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m5:32 m10:32 m10:32 m10:32 m10:32 m10:32 m10:32, 1560/5001, 3087.318, 276.107, 255 20 greedy-only",
      ]
    `)
    const improved = [
      planOf(board, { models: 'middle', powerCapW: 190, sharePercentStep: 10 }),
      planOf(board, { models: 'heavy', powerCapW: 280, budgetEvaluations: 1500 }),
      planOf(board, { models: 'light', powerCapW: 150, maxTenants: 4, maxSharePercent: 60, latencySloMs: 80 }),
    ]
    expect(improved).toMatchInlineSnapshot(`
      [
        "m20:128 m40:256 m40:256, 1200/5001, 2624.385, 189.991, 1827 4 no-improving-move",
        "h50:256 h50:256, 1590/5001, 726.703, 276.607, 1500 1 evaluation-budget",
        "l5:32 l5:32 l40:256 l40:256, 600/9501, 15102.005, 149.897, 3038 6 no-improving-move",
      ]
    `)
  })

  it('are found for several networks with weights', () => {
    const models = [{ model: 'light' }, { model: 'heavy', weight: 6 }]
    const plans = [
      planOf(board, { models, powerCapW: 200, sharePercentStep: 10 }),
      planOf(board, { models, powerCapW: 260, improve: false }),
      planOf(board, { models, powerCapW: 230, sharePercentStep: 10, minTenantThroughput: 40 }),
    ]
    expect(plans).toMatchInlineSnapshot(`
      [
        "h10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64, 960/9501, 23068.337, 199.363, 2874 10 no-improving-move",
        "h5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32 l5:32, 1470/9501, 25953.308, 259.139, 492 16 greedy-only",
        "h10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64 l10:64, 1125/9501, 25975.484, 228.810, 2646 10 no-improving-move",
      ]
    `)
  })

  it('are found at a risk', () => {
    const plans = [0.2, 0.01].map((capExceedanceProbability) =>
      planOf(uncertain, { models: 'middle', powerCapW: 190, sharePercentStep: 20, capExceedanceProbability }),
    )
    expect(plans).toMatchInlineSnapshot(`
      [
        "m20:128 m40:256 m40:256, 1140/5001, 2495.613, 178.265, 726 7 no-improving-move",
        "m20:128 m40:256 m40:256, 1095/5001, 2398.803, 169.908, 563 7 no-improving-move",
      ]
    `)
  })

  it('are found for services', () => {
    const model = loadPerfModel('A100')
    const rest = { weight: 1, maxBatchSize: 64, maxQueueDelayMs: 0 }
    const services: Service[] = [
      { name: 'search', model: 'resnet50', objective: { p99Ms: 40 }, ...rest },
      { name: 'ads', model: 'vgg19', objective: { p99Ms: 100 }, ...rest, weight: 3, maxQueueDelayMs: 5 },
    ]
    const found = (ratesPerS: readonly number[], options: ServicePlanOptions) => {
      const plan = planServices(model, services, ratesPerS, options)
      if (!plan.feasible) return plan.message
      const { tenants, smClockMhz, memClockMhz } = plan.configuration
      return [
        tenants.map(({ mpsPercent, batchSize }) => `${mpsPercent}:${batchSize}`).join(' '),
        `${smClockMhz}/${memClockMhz}`,
        `${plan.score.toFixed(3)} ${plan.loadFactor.toFixed(3)} ${plan.prediction.powerW.toFixed(3)}`,
        plan.prediction.services
          .map(({ p99Ms, attainment }) => `${p99Ms.toFixed(2)} ${attainment.toFixed(4)}`)
          .join(' '),
        `${plan.binds.what} ${plan.bound?.value.toFixed(2)} ${plan.evaluations} ${plan.stoppedBecause}`,
      ].join(', ')
    }
    const coarse = { powerCapW: 150, sharePercentStep: 10, budgetEvaluations: 150, bound: true }
    const plans = [
      found([400, 60], { ...coarse, objective: 'min-power' }),
      found([400, 60], { ...coarse, objective: 'max-load', burstiness: 3 }),
      found([4000, 600], { ...coarse, objective: 'max-value', budgetEvaluations: 60 }),
      found([400, 5000], { ...coarse, objective: 'min-power', budgetEvaluations: 60 }),
    ]
    expect(plans).toMatchInlineSnapshot(`
      [
        "30:2 30:2 30:2, 210/1215, 44.923 1.000 43.747, 20.29 1.0000 38.59 1.0000, lowest-clock 44.28 150 evaluation-budget",
        "20:16 20:16 20:16 20:2 20:2, 1185/1215, 6.138 6.138 143.893, 27.79 0.9999 18.40 1.0000, power-cap 8.79 150 evaluation-budget",
        "20:16 20:16 20:16 20:16 20:1, 1125/1215, 4092.189 0.398 144.700, 23.23 1.0000 44.03 1.0000, objective 5128.84 60 evaluation-budget",
        "ads is asked for 5000 requests/s, and alone on the whole NVIDIA A100-PCIE-40GB it can answer 2347 in time (margins included): let in no more",
      ]
    `)
  })
})
