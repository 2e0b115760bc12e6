import {
  countCompositions,
  exhaustive,
  lowestFeasibleCap,
  type PartitionOptions,
  partition,
} from '@pctodl/greedy-partition'
import {
  exhaustiveServices,
  plainPlan,
  planServices,
  type ServicePlan,
  type ServicePlanOptions,
} from '@pctodl/greedy-partition/services'
import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import type { Service, Tenant } from '@pctodl/platform'
import { describe, it } from 'vitest'
import { digest, expectStored, said } from './stored.js'

const a100 = loadPerfModel('A100')
const ti = loadPerfModel('3080Ti')

const mixOf = (tenants: readonly Tenant[]) =>
  tenants.map(({ model, mpsPercent, batchSize }) => `${model[0]}${mpsPercent}:${batchSize}`).join(' ')

/** What a predictor must have, and no more. */
const plain: Predictor = {
  spec: ti.spec,
  memClocksMhz: ti.memClocksMhz,
  predict: (configuration) => {
    const { throughput, powerW, smUtilPercent, memUtilPercent, powerSdW, tenants } = ti.predict(configuration)
    const each = tenants.map(({ throughput: own, latencyMs }) => ({ throughput: own, latencyMs }))
    return { throughput, powerW, smUtilPercent, memUtilPercent, powerSdW: powerSdW!, tenants: each }
  },
  solveSmClock: (tenants, memClockMhz, capW) => ti.solveSmClock(tenants, memClockMhz, capW),
  memoryBytes: (tenant) => ti.memoryBytes(tenant),
}

type Asked = Partial<PartitionOptions> & Pick<PartitionOptions, 'models'>

/** A digest holds all that a plan says, with its steps; before it is what a reader compares. */
function planned(predictor: Predictor, options: Asked): string {
  const result = partition(predictor, { powerCapW: 180, sharePercentStep: 10, budgetEvaluations: 500, ...options })
  const { now: _, ...shown } = options
  const asked = `${predictor.spec.key} ${JSON.stringify(shown)}:`
  if (!result.feasible) {
    return [asked, result.reason, said([result.lowestFeasibleCapW, result.evaluations]), result.message].join(' ')
  }
  const { configuration, prediction, weightedThroughput, capExceedanceProbability, trade = [], stoppedBecause } = result
  return [
    asked,
    `${mixOf(configuration.tenants)} ${configuration.smClockMhz}/${configuration.memClockMhz}`,
    said([weightedThroughput, prediction.powerW, result.marginW, capExceedanceProbability ?? null]),
    said(
      trade.map(({ processes, throughput, p99LatencyMs }) => [processes, throughput, p99LatencyMs]),
      5,
    ),
    `${result.evaluations} ${stoppedBecause}`,
    digest([result, result.steps]),
  ].join(' ')
}

describe('the same plans as before', () => {
  it('are found for tenants', async () => {
    const two = [{ model: 'resnet50' }, { model: 'vgg19', weight: 3 }]
    const asked: readonly (readonly [Predictor, Asked])[] = [
      [a100, { models: 'resnet50' }],
      [a100, { models: 'mnasnet1_0', powerCapW: 120, sharePercentStep: 5 }],
      [a100, { models: 'vgg19', powerCapW: 230, improve: false }],
      [ti, { models: 'vgg19', powerCapW: 250, improve: false, sharePercentStep: 7 }],
      [ti, { models: 'resnet50', powerCapW: 140, seed: 5, budgetEvaluations: 900 }],
      [ti, { models: 'densenet201', powerCapW: 500 }],
      [ti, { models: two, powerCapW: 220 }],
      [ti, { models: [...two, { model: 'mobilenet_v2', weight: 0.2 }], powerCapW: 330, improve: false }],
      [
        a100,
        {
          models: [
            { model: 'resnet50', latencySloMs: 30 },
            { model: 'vgg19', minTenantThroughput: 200 },
          ],
        },
      ],
      [ti, { models: 'resnet50', objective: 'few-processes', powerCapW: 200 }],
      [a100, { models: two, objective: 'few-processes', capExceedanceProbability: 0.05 }],
      [ti, { models: 'resnet50', capExceedanceProbability: 0.2 }],
      [ti, { models: 'mobilenet_v2', capExceedanceProbability: 0.001, powerMarginW: 5 }],
      [plain, { models: 'resnet50', capExceedanceProbability: 0.05, objective: 'few-processes' }],
      [plain, { models: two, latencySloMs: 90 }],
      [ti, { models: 'resnet50', latencySloMs: 25, latencyPercentile: 'p99' }],
      [ti, { models: 'resnet50', latencySloMs: 25 }],
      [ti, { models: 'vgg19', minTenantThroughput: 90, maxSharePercent: 60 }],
      [a100, { models: 'maxvit_t', memoryBytes: 3e9, maxTenants: 6 }],
      [a100, { models: 'resnet50', maxBatchSize: 24, minBatchPerPercent: 0.8, batchSizes: [2, 5, 24, 100] }],
      [ti, { models: 'vgg19', maxDistance: 1, powerCapW: 120 }],
      [ti, { models: 'vgg19', maxDistance: Number.POSITIVE_INFINITY, powerCapW: 120, memClocksMhz: [5001] }],
      [a100, { models: 'efficientnet_v2_m', maxTenants: 1, sharePercentStep: 25 }],
      // None is found.
      [ti, { models: 'vgg19', powerCapW: 40 }],
      [ti, { models: two, powerCapW: 90, powerMarginW: 3, capExceedanceProbability: 0.01 }],
      [a100, { models: 'vgg19', memoryBytes: 1e8 }],
      [a100, { models: two, memoryBytes: 1.6e9 }],
      [a100, { models: two, latencySloMs: 1.5 }],
      [ti, { models: 'resnet50', latencySloMs: 3, latencyPercentile: 'p99', powerCapW: 100 }],
      [ti, { models: 'vgg19', minTenantThroughput: 5000 }],
      [ti, { models: 'vgg19', minTenantThroughput: 500, powerCapW: 130 }],
    ]
    let timeMs = 0
    const timed: Asked = { models: 'resnet50', now: () => timeMs++, timeBudgetMs: 150, budgetEvaluations: 5000 }
    const { powerCapW: _, ...any } = { powerCapW: 0, sharePercentStep: 20 }
    const lowest = [
      lowestFeasibleCap(ti, { ...any, models: 'vgg19' }),
      lowestFeasibleCap(ti, { ...any, models: two, latencySloMs: 40, powerMarginW: 7 }),
      lowestFeasibleCap(a100, { ...any, models: 'resnet50', capExceedanceProbability: 0.02, minTenantThroughput: 300 }),
      lowestFeasibleCap(a100, { ...any, models: two, latencySloMs: 0.5 }),
      lowestFeasibleCap(plain, { ...any, models: 'resnet50', capExceedanceProbability: 0.02 }),
    ]
    const few = { models: 'resnet50', powerCapW: 160, sharePercentStep: 34, batchSizes: [8, 64], maxTenants: 3 }
    const all = [
      exhaustive(ti, few),
      exhaustive(a100, { ...few, models: two, sharePercentStep: 50, minTenantThroughput: 100, latencySloMs: 60 }),
    ].map((result) => `${result.feasible ? mixOf(result.configuration.tenants) : result.reason} ${digest(result)}`)
    const counts = [few, { ...few, models: two, maxSharePercent: 50, memClocksMhz: [5001] }].map((options) =>
      countCompositions(ti, options),
    )
    await expectStored('plans', [
      ...asked.map(([predictor, options]) => planned(predictor, options)),
      planned(a100, timed),
      said(lowest),
      ...all,
      said(counts),
    ])
  })

  it('are found for services', async () => {
    const rest = { weight: 1, maxBatchSize: 64, maxQueueDelayMs: 0 }
    const search: Service = { name: 'search', model: 'resnet50', objective: { p99Ms: 40 }, ...rest }
    const ads: Service = {
      ...search,
      name: 'ads',
      model: 'vgg19',
      objective: { p99Ms: 100 },
      weight: 3,
      maxQueueDelayMs: 5,
    }
    const photos: Service = {
      ...search,
      name: 'photos',
      model: 'mobilenet_v2',
      objective: { p99Ms: 15 },
      maxBatchSize: 6,
    }
    const lineOf = (plan: ServicePlan): string => {
      if (!plan.feasible) {
        const { reason, service, message, bestP99Ms, bestRatePerS, lowestFeasibleCapW } = plan
        return [reason, service, said([bestP99Ms, bestRatePerS, lowestFeasibleCapW]), message].join(' ')
      }
      const { tenants, smClockMhz, memClockMhz } = plan.configuration
      const { score, loadFactor, marginW, admittedPerS, bound, binds, evaluations, stoppedBecause } = plan
      return [
        `${mixOf(tenants)} ${smClockMhz}/${memClockMhz}`,
        said([score, loadFactor, marginW, admittedPerS, bound?.value, bound?.gap]),
        `${said(binds)} ${evaluations} ${stoppedBecause} ${digest(plan)}`,
      ].join(' ')
    }
    const usual = { powerCapW: 150, sharePercentStep: 10, budgetEvaluations: 100 }
    type Row = readonly [
      services: readonly Service[],
      rates: readonly number[],
      Partial<ServicePlanOptions> & Pick<ServicePlanOptions, 'objective'>,
    ]
    const rows: readonly Row[] = [
      [[search, ads], [400, 60], { objective: 'min-power', bound: true }],
      [[search, ads], [400, 60], { objective: 'max-load', burstiness: 3, bound: true }],
      [[search, ads], [4000, 600], { objective: 'max-value', budgetEvaluations: 60, bound: true }],
      [[search, ads, photos], [300, 50, 800], { objective: 'min-power', loads: [0.1, 0.5, 1], rateMargin: 1.3 }],
      [[search, ads, photos], [300, 50, 800], { objective: 'max-value', burstiness: [1, 4, 2], powerCapW: 70 }],
      [[search], [500], { objective: 'max-load', latencyMargin: 0.4, maxInstances: 2, batchSizes: [1, 3, 20] }],
      [[search, photos], [200, 300], { objective: 'min-power', smClocksMhz: [600, 1005, 1410], memoryBytes: 3e9 }],
      [[search, photos], [200, 300], { objective: 'min-power', improve: false, seed: 4, powerMarginW: 20 }],
      [[search, photos], [900, 900], { objective: 'max-load', maxTenants: 2, sharePercentStep: 5, powerCapW: 120 }],
      [[ads, photos], [0, 100], { objective: 'max-value', powerCapW: 100 }],
      // None is found.
      [[search, ads], [400, 5000], { objective: 'min-power' }],
      [[{ ...search, objective: { p99Ms: 2 } }, ads], [1, 1], { objective: 'max-load' }],
      [[search, ads], [1500, 900], { objective: 'min-power', powerCapW: 70 }],
      [[search, ads], [2000, 1900], { objective: 'min-power', powerCapW: 250 }],
      [[search, ads], [10, 10], { objective: 'max-value', memoryBytes: 9e8 }],
      [[search, ads, photos], [1, 1, 1], { objective: 'min-power', maxTenants: 2, sharePercentStep: 50 }],
      [[search], [10], { objective: 'max-load', powerCapW: 25 }],
    ]
    const lines: string[] = []
    for (const [services, rates, options] of rows) {
      for (const model of services === rows[0]![0] ? [a100, ti] : [a100]) {
        const plan = (() => {
          try {
            return lineOf(planServices(model, services, rates, { ...usual, ...options }))
          } catch (error) {
            return (error as Error).message
          }
        })()
        lines.push(`${services.map(({ name }) => name)} ${rates} ${JSON.stringify(options)}: ${plan}`)
      }
    }
    const goals = ['min-power', 'max-load', 'max-value'] as const
    for (const objective of goals) {
      const options = { ...usual, objective, powerCapW: 110 }
      for (const manner of ['equal-shares', 'one-batch', 'shares-by-load'] as const) {
        lines.push(`${manner} ${lineOf(plainPlan(a100, [search, ads], [800, 90], options, manner))}`)
      }
      const few = { ...options, sharePercentStep: 25, batchSizes: [1, 8], maxInstances: 2 }
      lines.push(`exhaustive ${lineOf(exhaustiveServices(a100, [search, ads], [800, 90], few))}`)
      const startFrom = {
        tenants: [
          { model: 'resnet50', mpsPercent: 40, batchSize: 4, service: 'search' },
          { model: 'vgg19', mpsPercent: 60, batchSize: 4, service: 'ads' },
        ],
        smClockMhz: 1005,
        memClockMhz: 1215,
      }
      const from = planServices(a100, [search, ads], [800, 90], { ...options, improve: false, startFrom })
      lines.push(`from a start ${lineOf(from)}`)
    }
    let timeMs = 0
    const timed = { ...usual, objective: 'max-load', now: () => timeMs++, timeBudgetMs: 60 } as const
    lines.push(`timed ${lineOf(planServices(ti, [search, ads], [400, 60], timed))}`)
    await expectStored('plans-services', lines)
  })
})
