import { loadPerfModel } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import { type Service, smClocksAt } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { planProblem } from '../src/services/plan-problem.js'
import {
  exhaustiveServices,
  type FeasibleServicePlan,
  plainPlan,
  planServices,
  type ServicePlan,
  type ServicePlanOptions,
} from '../src/services.js'

const model = loadPerfModel('A100')
const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 40 },
  weight: 1,
  maxBatchSize: 64,
  maxQueueDelayMs: 0,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2', objective: { p99Ms: 60 } }
const ads: Service = { ...search, name: 'ads', model: 'vgg19', objective: { p99Ms: 100 }, weight: 3 }
const services = [search, photos, ads]
const rates = [400, 300, 60]
const coarse = { powerCapW: 150, sharePercentStep: 10, budgetEvaluations: 250 }

function planned(ratesPerS: readonly number[], options: ServicePlanOptions): FeasibleServicePlan {
  const plan = planServices(model, services, ratesPerS, options)
  if (!plan.feasible) throw new Error(plan.message)
  return plan
}

/** The model's prediction for a plan at its rates with the plan's margins. */
function judged({ configuration }: FeasibleServicePlan, ratesPerS: readonly number[]) {
  return new ServingModel(model, configuration, services).predict(ratesPerS)
}

describe('planServices', () => {
  it('keeps all objectives with fewer watts than the best of equal shares', () => {
    const options: ServicePlanOptions = { ...coarse, objective: 'min-power' }
    const plan = planned(rates, options)
    expect(plan.prediction.services.every(({ objectiveMet }) => objectiveMet)).toBe(true)
    expect(plan).toMatchObject({ loadFactor: 1, admittedPerS: rates, maxQueueDelayMs: [0, 0, 0] })
    expect(plan.configuration.tenants.every(({ service, mpsPercent }) => service && mpsPercent % 10 === 0)).toBe(true)
    expect(plan.prediction.powerW).toBeLessThan(planned(rates, { ...options, improve: false }).prediction.powerW)
    // The rates include their margin too.
    const more = judged(
      plan,
      rates.map((rate) => 1.1 * rate),
    )
    expect(more.services.every(({ p99Ms }, i) => p99Ms <= 0.92 * services[i]!.objective.p99Ms)).toBe(true)
  })

  it('takes the least mean power of several loads, of which it bears the highest under the cap', () => {
    const ti = loadPerfModel('3080Ti')
    const highest = rates.map((rate) => 2 * rate)
    const loads = [0.05, 0.25, 1]
    const options: ServicePlanOptions = {
      ...coarse,
      objective: 'min-power',
      powerCapW: 300,
      rateMargin: 1,
      latencyMargin: 0,
      bound: true,
    }
    const lowestOf = (plan: ServicePlan) => {
      if (!plan.feasible) throw new Error(plan.message)
      const { tenants } = plan.configuration
      const powers = loads.map((load) => {
        const all = ti.memClocksMhz.flatMap((memClockMhz) =>
          smClocksAt(ti.spec, memClockMhz)!.map((smClockMhz) =>
            new ServingModel(ti, { tenants, smClockMhz, memClockMhz }, services).predict(
              highest.map((rate) => load * rate),
            ),
          ),
        )
        const kept = all.filter((each) => each.services.every(({ objectiveMet }) => objectiveMet))
        return Math.min(...kept.map(({ powerW }) => powerW))
      })
      return powers.reduce((sum, powerW) => sum + powerW, 0) / loads.length
    }
    const plan = planServices(ti, services, highest, { ...options, loads })
    if (!plan.feasible) throw new Error(plan.message)
    expect(plan.prediction.powerW).toBeLessThanOrEqual(300)
    expect(plan.prediction.services.every(({ objectiveMet }) => objectiveMet)).toBe(true)
    expect(plan.score).toBeCloseTo(lowestOf(plan), 1)
    expect(plan.bound!.value).toBeLessThan(plan.score)
    expect(plan.score).toBeLessThan(
      lowestOf(planServices(ti, services, highest, { ...options, objective: 'max-load' })),
    )
    expect(() => planServices(ti, services, highest, { ...options, loads: [] })).toThrow(/loads/)
    expect(() => planServices(ti, services, highest, { ...options, loads: [1, 1.5] })).toThrow(/loads\[1\]/)
  })

  it('finds the largest common factor that objectives and cap allow', () => {
    const plan = planned(rates, { ...coarse, objective: 'max-load' })
    const at = (factor: number) =>
      judged(
        plan,
        rates.map((rate) => 1.1 * factor * rate),
      )
    const kept = at(plan.loadFactor)
    expect(kept.powerW).toBeLessThan(coarse.powerCapW * 1.01)
    expect(kept.services.every(({ objectiveMet }) => objectiveMet)).toBe(true)
    expect(plan.loadFactor).toBeGreaterThan(3)
    expect(plan.prediction.powerW).toBeLessThan(coarse.powerCapW)
  })

  it('sheds where not all can be answered, those of least worth a joule', () => {
    const busy = rates.map((rate) => 20 * rate)
    const plan = planned(busy, { ...coarse, objective: 'max-value', budgetEvaluations: 60 })
    const parts = plan.admittedPerS.map((rate, i) => rate / busy[i]!)
    expect(Math.min(...parts)).toBeLessThan(0.9)
    expect(plan.prediction.powerW).toBeLessThanOrEqual(coarse.powerCapW)
    plan.prediction.services.forEach(({ objectiveMet }, i) => {
      if (plan.admittedPerS[i]! > 0) expect(objectiveMet).toBe(true)
    })
    const all = planned(rates, { ...coarse, objective: 'max-value', budgetEvaluations: 60 })
    expect(all.admittedPerS).toEqual(rates)
    expect(all.score).toBeCloseTo(400 + 300 + 3 * 60, 9)
    expect(all.binds).toEqual({ what: 'nothing' })
  })

  it('says what gives way first, and how far from it anything better can lie', () => {
    const bound = true
    const load = planned(rates, { ...coarse, objective: 'max-load', bound })
    expect(load.bound!.value).toBeGreaterThanOrEqual(load.score)
    expect(load.bound!.gap).toBeCloseTo(load.bound!.value / load.score - 1, 9)
    const least = planned(rates, { ...coarse, objective: 'min-power', bound })
    expect(least.bound!.value).toBeLessThanOrEqual(least.score)
    expect(least.bound!.value).toBeGreaterThan(20)
    // One clock lower, the objective reported as the limit is missed.
    if (least.binds.what === 'objective') {
      const { configuration, binds } = least
      const smClockMhz = configuration.smClockMhz - 15
      const lower = judged(
        { ...least, configuration: { ...configuration, smClockMhz } },
        rates.map((rate) => 1.1 * rate),
      )
      const i = services.findIndex(({ name }) => name === binds.service)
      expect(lower.services[i]!.p99Ms).toBeGreaterThan(0.88 * services[i]!.objective.p99Ms)
    }
    // At the highest clock, too.
    const top = { ...coarse, objective: 'min-power' as const, smClocksMhz: [210, 1410], budgetEvaluations: 40 }
    expect(planned(rates, top)).toMatchObject({ binds: { what: 'objective' }, configuration: { smClockMhz: 1410 } })
    expect(planned([1, 1, 1], { ...coarse, objective: 'min-power' }).binds).toEqual({ what: 'lowest-clock' })
  })

  it('begins with what is given, and leaves out what of it is not allowed', () => {
    const options: ServicePlanOptions = { ...coarse, objective: 'min-power' }
    const first = planned(rates, options)
    const again = planned(rates, { ...options, startFrom: first.configuration, improve: false })
    expect(again.score).toBeLessThanOrEqual(first.score * 1.002)
    const stray = { ...first.configuration, tenants: first.configuration.tenants.slice(0, 1) }
    expect(planned(rates, { ...options, startFrom: stray, improve: false }).score).toBeGreaterThanOrEqual(first.score)
  })

  it('takes a single tenant for all that there may be', () => {
    const options: ServicePlanOptions = { ...coarse, objective: 'min-power', maxTenants: 1, budgetEvaluations: 20 }
    const plan = planServices(model, [search], [100], options)
    expect(plan.feasible && plan.configuration.tenants).toHaveLength(1)
  })

  it('takes the only layout that there is', () => {
    const only = { ...coarse, sharePercentStep: 100, maxInstances: 1, batchSizes: [4] }
    const plan = planServices(model, [search], [100], { ...only, objective: 'max-load' })
    expect(plan.feasible && plan.configuration.tenants).toMatchObject([{ mpsPercent: 100, batchSize: 4 }])
  })

  it('takes a service that nobody asks for', () => {
    expect(planned([400, 0, 60], { ...coarse, objective: 'min-power' }).admittedPerS[1]).toBeLessThan(0.01)
  })

  it('ends when its time is over, and not before', () => {
    const brief: ServicePlanOptions = { ...coarse, objective: 'min-power', timeBudgetMs: 3 }
    let ms = 1e6
    expect(planned(rates, { ...brief, now: () => ms++ }).stoppedBecause).toBe('time-budget')
    expect(planned(rates, { ...brief, now: () => 1e6 }).stoppedBecause).not.toBe('time-budget')
  })
})

describe('exhaustiveServices', () => {
  it('refuses a space too large to look at', () => {
    expect(() => exhaustiveServices(model, services, rates, { ...coarse, objective: 'min-power' })).toThrow(
      /sharePercentStep: got 10, expected a step.* at most 200000 layouts/,
    )
  })
})

describe('plans without a search', () => {
  const options: ServicePlanOptions = {
    ...coarse,
    sharePercentStep: 20,
    batchSizes: [1, 4, 16],
    objective: 'min-power',
    maxInstances: 1,
  }
  const manners = ['equal-shares', 'one-batch', 'shares-by-load'] as const

  it.each<[string, readonly Service[], Partial<ServicePlanOptions>]>([
    ['power-cap', [search, ads], { powerCapW: 30 }],
    ['latency-objective', [search, { ...ads, objective: { p99Ms: 1 } }], {}],
    ['memory', [search, ads], { memoryBytes: 2 ** 28 }],
  ])('are none for the same reason: %s', (reason, of, limits) => {
    const asked = { ...options, ...limits }
    expect(exhaustiveServices(model, of, [10, 1], asked)).toMatchObject({ feasible: false, reason })
    for (const manner of manners) {
      expect(plainPlan(model, of, [10, 1], asked, manner)).toMatchObject({ feasible: false, reason })
    }
  })

  it('are of equal shares or of shares by load, each service with the batch that is best for it', () => {
    const patient = [search, { ...ads, maxBatchSize: 4 }].map((each) => ({ ...each, objective: { p99Ms: 1e4 } }))
    const plan = (manner: (typeof manners)[number]) => {
      const asked = { ...options, objective: 'max-load' as const, powerCapW: 250, batchSizes: [1, 4, 16, 64] }
      const found = plainPlan(model, patient, [400, 60], asked, manner)
      if (!found.feasible) throw new Error(found.message)
      expect(found.stoppedBecause).toBe('greedy-only')
      const { tenants } = found.configuration
      return { score: found.score, tenants: tenants.map(({ mpsPercent, batchSize }) => [mpsPercent, batchSize]) }
    }
    const [equal, one, load] = manners.map(plan)
    expect(one!.tenants).toEqual([
      [40, 64],
      [40, 4],
    ])
    expect(equal!.tenants.map(([share]) => share)).toEqual([40, 40])
    expect(equal!.score).toBeGreaterThan(one!.score)
    expect(load!.tenants[0]![0]).toBeGreaterThan(load!.tenants[1]![0]!)
  })

  it('are refused where there are more layouts than may be looked at', () => {
    const one = { ...options, sharePercentStep: 50, batchSizes: [1], maxInstances: 2 }
    expect(exhaustiveServices(model, [search], [10], one, { maxLayouts: 3 })).toMatchObject({ feasible: true })
    expect(() => exhaustiveServices(model, [search], [10], one, { maxLayouts: 2 })).toThrow('at most 2 layouts')
  })
})

describe('the batches of a service', () => {
  const sizesOf = (maxBatchSize: number, batchSizes?: readonly number[]) =>
    planProblem(model, [{ ...search, maxBatchSize }], [1], {
      ...coarse,
      objective: 'min-power',
      ...(batchSizes === undefined ? {} : { batchSizes }),
    }).services[0]!.batchSizes

  it('are powers of two and its largest, or those given that it takes', () => {
    expect(sizesOf(64)).toEqual([1, 2, 4, 8, 16, 32, 64])
    expect(sizesOf(48)).toEqual([1, 2, 4, 8, 16, 32, 48])
    expect(sizesOf(1000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256])
    expect(sizesOf(64, [4])).toEqual([4])
    expect(sizesOf(64, [64, 16, 128, 16])).toEqual([16, 64])
    expect(sizesOf(64, [128])).toEqual([64])
  })
})

describe('services that cannot be kept', () => {
  const options: ServicePlanOptions = { ...coarse, objective: 'min-power' }

  it('names the service whose objective is out of reach, and the best it could have', () => {
    const hasty = [search, photos, { ...ads, objective: { p99Ms: 1 } }]
    const plan = planServices(model, hasty, rates, options)
    expect(plan).toMatchObject({
      feasible: false,
      reason: 'latency-objective',
      service: 'ads',
      lowestFeasibleCapW: null,
    })
    if (plan.feasible) return
    expect(plan.bestP99Ms).toBeGreaterThan(1)
    expect(plan.message).toMatch(/^ads cannot be answered within 0.900 ms .* lowest p99 is [\d.]+ ms/)
    // And that it could have.
    const patient = [search, photos, { ...ads, objective: { p99Ms: 1.15 * plan.bestP99Ms! } }]
    expect(planServices(model, patient, [1, 1, 0.1], options)).not.toMatchObject({ reason: 'latency-objective' })
  })

  it('names the service that is asked for too much, and what it could answer', () => {
    const plan = planServices(model, services, [400, 300, 1e5], options)
    expect(plan).toMatchObject({ feasible: false, reason: 'rate', service: 'ads' })
    if (plan.feasible) return
    expect(plan.bestRatePerS).toBeLessThan(1e5)
    const asking = (part: number) => planServices(model, [ads], [part * plan.bestRatePerS!], options)
    expect(asking(0.97)).not.toMatchObject({ reason: 'rate' })
    expect(asking(1.05)).toMatchObject({ reason: 'rate', bestRatePerS: expect.closeTo(plan.bestRatePerS!, -1) })
  })

  it('says when only together they are too much', () => {
    const { loadFactor } = planned(rates, { ...coarse, powerCapW: 250, objective: 'max-load' })
    const busy = rates.map((rate) => 1.3 * loadFactor * rate)
    const plan = planServices(model, services, busy, { ...options, powerCapW: 250 })
    expect(plan).toMatchObject({ feasible: false })
    if (!plan.feasible) expect(['together', 'power-cap']).toContain(plan.reason)
  })

  it('says which cap it would take', () => {
    const plan = planServices(model, services, rates, { ...options, powerCapW: 40 })
    expect(plan).toMatchObject({ feasible: false, reason: 'power-cap' })
    if (plan.feasible) return
    expect(planServices(model, services, rates, { ...options, powerCapW: plan.lowestFeasibleCapW! }).feasible).toBe(
      true,
    )
  })

  it('says how much memory it would take', () => {
    expect(planServices(model, services, rates, { ...options, memoryBytes: 1024 ** 3 })).toMatchObject({
      feasible: false,
      reason: 'memory',
      message: expect.stringMatching(/needs [\d.]+ GiB at the smallest batches, and there are [\d.]+ GiB/),
    })
  })

  it('holds the limit of the board in the place of a higher cap', () => {
    expect(planned(rates, { ...options, powerCapW: 1000 }).boardLimitW).toBe(model.spec.powerLimitW.max)
  })

  it.each<[string, Partial<ServicePlanOptions> & Record<string, unknown>]>([
    ['objective', { objective: 'most' as never }],
    ['powerCapW', { powerCapW: 0 }],
    ['powerCapW', { powerCapW: Number.POSITIVE_INFINITY }],
    ['powerMarginW', { powerMarginW: 200 }],
    ['powerMarginW', { powerMarginW: -1 }],
    ['powerMarginW', { powerMarginW: coarse.powerCapW }],
    ['rateMargin', { rateMargin: 0.9 }],
    ['rateMargin', { rateMargin: 10.1 }],
    ['latencyMargin', { latencyMargin: 1 }],
    ['latencyMargin', { latencyMargin: -0.1 }],
    ['sharePercentStep', { sharePercentStep: 0 }],
    ['sharePercentStep', { sharePercentStep: 101 }],
    ['maxTenants', { maxTenants: 49 }],
    ['batchSizes[1]', { batchSizes: [4, 0] }],
    ['batchSizes[0]', { batchSizes: [2.5] }],
    ['budgetEvaluations', { budgetEvaluations: 0 }],
    ['timeBudgetMs', { timeBudgetMs: 0, now: () => 0 }],
    ['seed', { seed: -1 }],
    ['seed', { seed: 2 ** 32 }],
    ['burstiness[0]', { burstiness: 0.5 }],
    ['burstiness[2]', { burstiness: [1, 1000, 1000.1] }],
    ['burstiness', { burstiness: [1] }],
    ['smClocksMhz', { smClocksMhz: [1] }],
    ['memClocksMhz', { memClocksMhz: [1] }],
    ['maxInstances', { maxInstances: 0 }],
    ['services', { maxTenants: 2 }],
    ['now', { timeBudgetMs: 5 }],
  ])('refuses a wrong %s by name', (field, wrong) => {
    expect(() => planServices(model, services, rates, { ...options, ...wrong })).toThrow(
      expect.objectContaining({ field }),
    )
  })

  it('takes the ends of what it allows', () => {
    const ends = [
      { rateMargin: 10, budgetEvaluations: 1 },
      { rateMargin: 1, latencyMargin: 0, seed: 0, maxTenants: 48 },
      { latencyMargin: 0.9, seed: 2 ** 32 - 1, burstiness: 1000, maxInstances: 48 },
      { batchSizes: [1], powerMarginW: coarse.powerCapW - 1e-9 },
    ]
    for (const end of ends) {
      expect(() => planServices(model, services, [1, 1, 1], { ...options, budgetEvaluations: 3, ...end })).not.toThrow()
    }
  })

  it('refuses rates that are none', () => {
    expect(() => planServices(model, services, [1, 2], options)).toThrow(
      expect.objectContaining({ field: 'ratesPerS' }),
    )
    expect(() => planServices(model, services, [1, 2, -1], options)).toThrow(
      expect.objectContaining({ field: 'ratesPerS[2]' }),
    )
    expect(() => planServices(model, services, [1, 2, 1.01e7], options)).toThrow(
      expect.objectContaining({ field: 'ratesPerS[2]' }),
    )
  })
})
