import {
  exhaustiveServices,
  plainPlan,
  planServices,
  type ServicePlan,
  type ServicePlanOptions,
} from '@pctodl/greedy-partition/services'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import { type Service, smClocksAt } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const boards = [loadPerfModel('A100'), loadPerfModel('3080Ti')]
const goals = ['min-power', 'max-load', 'max-value'] as const

/** Services with objectives that a lone tenant can keep, at rates that are a part of what it can do. */
function cases(count: number, seed: number) {
  const random = new SeededRandom(seed)
  return Array.from({ length: count }, (_, i) => {
    const model = boards[i % 2]!
    const { min, max } = model.spec.powerLimitW
    const services: Service[] = []
    const ratesPerS: number[] = []
    const number = 1 + (i % 3)
    for (let s = 0; s < number; s++) {
      const network = model.networks[random.integer(model.networks.length)]!
      const alone = (batchSize: number) =>
        model.predict({
          tenants: [{ model: network, mpsPercent: 100, batchSize }],
          smClockMhz: model.spec.boostClockMhz,
          memClockMhz: model.memClocksMhz[0]!,
        }).tenants[0]!
      services.push({
        name: `s${s}`,
        model: network,
        objective: { p99Ms: number * alone(1).latencyMs * (5 + 20 * random.uniform()) },
        weight: 1 + random.integer(4),
        maxBatchSize: [8, 16, 64][random.integer(3)]!,
        maxQueueDelayMs: random.integer(2),
      })
      ratesPerS.push(((0.1 + 0.9 * random.uniform()) * alone(16).throughput) / number)
    }
    return { model, services, ratesPerS, powerCapW: min + (0.2 + 0.7 * random.uniform()) * (max - min) }
  })
}

const better = (goal: string, a: ServicePlan, b: ServicePlan): number => {
  if (!a.feasible || !b.feasible) return a.feasible ? 1 : b.feasible ? -1 : 0
  return goal === 'min-power' ? b.score / a.score - 1 : a.score / b.score - 1
}

describe.each(goals)('a plan for services, %s', (objective) => {
  const small = { sharePercentStep: 25, batchSizes: [1, 8], maxInstances: 2, objective }
  const asked = cases(12, 4711).map(({ model, services, ratesPerS, powerCapW }) => {
    const options: ServicePlanOptions = { ...small, powerCapW, bound: true }
    const plan = planServices(model, services, ratesPerS, options)
    return { model, services, ratesPerS, options, plan }
  })

  it('is nearly the best of all that there are', () => {
    let worse = 0
    for (const { model, services, ratesPerS, options, plan } of asked) {
      const best = exhaustiveServices(model, services, ratesPerS, options)
      const gap = better(objective, plan, best)
      expect(gap, JSON.stringify([services, ratesPerS, options])).toBeGreaterThan(-0.02)
      if (gap < -1e-9) worse++
    }
    expect(worse).toBeLessThanOrEqual(8)
  })

  it('is no worse than the obvious ones, and no better than its bound', () => {
    let ahead = 0
    for (const { model, services, ratesPerS, options, plan } of asked) {
      for (const manner of ['equal-shares', 'one-batch', 'shares-by-load'] as const) {
        const plain = plainPlan(model, services, ratesPerS, { ...options, bound: false }, manner)
        // The obvious ones for a value look for the value alone, and nobody for watts.
        if (objective === 'max-value' && plan.feasible && plan.binds.what === 'nothing') continue
        expect(better(objective, plan, plain)).toBeGreaterThan(-1e-9)
        if (better(objective, plan, plain) > 0.01) ahead++
      }
      if (!plan.feasible) continue
      const { value, gap } = plan.bound!
      expect(gap).toBeGreaterThanOrEqual(0)
      const by = objective === 'min-power' ? plan.score / value - 1 : value / plan.score - 1
      expect(by).toBeGreaterThan(-0.001)
      expect(gap).toBeCloseTo(Math.max(0, by), 9)
    }
    expect(ahead).toBeGreaterThan(2)
  })

  it('is predicted to keep every objective and the cap, with its margins', () => {
    for (const { model, services, plan, options } of asked) {
      if (!plan.feasible) continue
      const { configuration, prediction, admittedPerS, marginW, loadFactor } = plan
      const { tenants, smClockMhz, memClockMhz } = configuration
      expect(smClocksAt(model.spec, memClockMhz)).toContain(smClockMhz)
      expect(tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0)).toBeLessThanOrEqual(100)
      for (const { name, model: network, maxBatchSize } of services) {
        const own = tenants.filter(({ service }) => service === name)
        expect(own.length).toBeGreaterThan(0)
        expect(own.length).toBeLessThanOrEqual(2)
        expect(own.every((tenant) => tenant.model === network && tenant.batchSize <= maxBatchSize)).toBe(true)
        expect(own.every(({ mpsPercent }) => mpsPercent % 25 === 0)).toBe(true)
      }
      expect(marginW).toBeGreaterThanOrEqual(0)
      expect(marginW).toBeCloseTo(options.powerCapW - prediction.powerW, 0)
      // Asked on its own, the model says the same.
      const said = new ServingModel(model, configuration, services).predict(admittedPerS)
      if (objective !== 'max-load') expect(said.powerW).toBeCloseTo(prediction.powerW, 6)
      said.services.forEach((service, i) => {
        expect(service.p99Ms).toBeLessThanOrEqual(services[i]!.objective.p99Ms)
        if (objective !== 'max-load') expect(service.p99Ms).toBeCloseTo(prediction.services[i]!.p99Ms, 6)
      })
      if (objective === 'min-power') expect(loadFactor).toBeGreaterThanOrEqual(1)
    }
  })

  it('lets in what it says, and says why not all', () => {
    for (const { services, ratesPerS, plan, options } of asked) {
      if (!plan.feasible) {
        expect(plan.message).toMatch(/\d/)
        if (plan.reason === 'power-cap') expect(plan.lowestFeasibleCapW).toBeGreaterThan(options.powerCapW)
        continue
      }
      const { admittedPerS, loadFactor, score, binds } = plan
      const admitted = admittedPerS.map((rate, i) => rate / ratesPerS[i]!)
      for (const share of admitted) expect(share).toBeLessThanOrEqual(1 + 1e-9)
      const value = services.reduce((sum, { weight }, i) => sum + weight * admittedPerS[i]!, 0)
      if (objective === 'max-load') {
        expect(score).toBe(loadFactor)
        for (const share of admitted) expect(share).toBeCloseTo(Math.min(1, loadFactor), 6)
      } else if (objective === 'max-value') expect(score).toBeCloseTo(value, 6)
      else expect(admitted.every((share) => share > 1 - 1e-9)).toBe(true)
      if (binds.what === 'objective') expect(services.map(({ name }) => name)).toContain(binds.service)
      if (binds.what === 'nothing') expect(admitted.every((share) => share > 1 - 1e-9)).toBe(true)
    }
  })

  it('does not get worse with more watts, or with a start that is better', () => {
    for (const { model, services, ratesPerS, options, plan } of asked.slice(0, 6)) {
      const { max } = model.spec.powerLimitW
      const more = planServices(model, services, ratesPerS, {
        ...options,
        bound: false,
        powerCapW: Math.min(max, 1.2 * options.powerCapW),
      })
      expect(better(objective, more, plan)).toBeGreaterThan(-0.01)
      if (!plan.feasible) continue
      const from = planServices(model, services, ratesPerS, {
        ...options,
        bound: false,
        improve: false,
        startFrom: plan.configuration,
      })
      expect(better(objective, from, plan)).toBeGreaterThan(-0.001)
    }
  })
})

describe('services that cannot be planned for', () => {
  const model = boards[1]!
  const service: Service = {
    name: 'a',
    model: 'resnet50',
    objective: { p99Ms: 60 },
    weight: 1,
    maxBatchSize: 16,
    maxQueueDelayMs: 0,
  }
  const plan = (services: readonly Service[], rates: readonly number[], options: Partial<ServicePlanOptions> = {}) =>
    planServices(model, services, rates, {
      objective: 'min-power',
      powerCapW: 250,
      budgetEvaluations: 100,
      ...options,
    })

  it('are told why, and what would do', () => {
    const late = plan([{ ...service, objective: { p99Ms: 1 } }], [100])
    expect(late).toMatchObject({ feasible: false, reason: 'latency-objective', service: 'a', lowestFeasibleCapW: null })
    if (late.feasible) throw new Error('feasible')
    const eased = { ...service, objective: { p99Ms: late.bestP99Ms! * 1.5 } }
    expect(plan([eased], [1])).toMatchObject({ feasible: true })

    const many = plan([service], [1e5])
    expect(many).toMatchObject({ feasible: false, reason: 'rate', service: 'a' })
    if (many.feasible) throw new Error('feasible')
    expect(plan([service], [0.9 * many.bestRatePerS!], { powerCapW: 400 })).toMatchObject({ feasible: true })
    expect(plan([service], [1.03 * many.bestRatePerS!], { powerCapW: 400 })).toMatchObject({ feasible: false })

    const tight = plan([service], [900], { powerCapW: 70 })
    expect(tight).toMatchObject({ feasible: false, reason: 'power-cap' })
    if (tight.feasible) throw new Error('feasible')
    expect(plan([service], [900], { powerCapW: tight.lowestFeasibleCapW! + 0.1 })).toMatchObject({ feasible: true })

    expect(plan([service], [100], { memoryBytes: 1e8 })).toMatchObject({ feasible: false, reason: 'memory' })
    const half = 0.7 * many.bestRatePerS!
    const two = plan([service, { ...service, name: 'b' }], [half, half], { powerCapW: 400 })
    expect(two).toMatchObject({ feasible: false, reason: 'together' })
  })

  it('are refused where they cannot be at all', () => {
    expect(() => plan([service], [])).toThrow(/ratesPerS/)
    expect(() => plan([service], [-1])).toThrow(/ratesPerS\[0\]: got -1/)
    expect(() => plan([service], [0], { objective: 'max-load' })).toThrow(/ratesPerS/)
    expect(() => plan([service, service], [1, 1])).toThrow(/services\[1\]\.name/)
    expect(() => plan([{ ...service, model: 'nobody' }], [1])).toThrow(/nobody/)
    const wrong: readonly (readonly [Partial<ServicePlanOptions>, RegExp])[] = [
      [{ objective: 'best' as 'max-load' }, /objective: got 'best'/],
      [{ powerCapW: 0 }, /powerCapW/],
      [{ powerMarginW: 250 }, /powerMarginW/],
      [{ rateMargin: 0.9 }, /rateMargin/],
      [{ latencyMargin: 0.95 }, /latencyMargin/],
      [{ burstiness: 0.5 }, /burstiness\[0\]/],
      [{ burstiness: [1, 1] }, /burstiness/],
      [{ sharePercentStep: 101 }, /sharePercentStep/],
      [{ maxInstances: 0 }, /maxInstances/],
      [{ batchSizes: [300] }, /batchSizes\[0\]/],
      [{ smClocksMhz: [1] }, /smClocksMhz/],
      [{ memClocksMhz: [] }, /memClocksMhz/],
      [{ timeBudgetMs: 10 }, /now/],
      [{ budgetEvaluations: 0.5 }, /budgetEvaluations/],
    ]
    for (const [options, message] of wrong) expect(() => plan([service], [1], options)).toThrow(message)
  })

  it('keep the board within its own limit', () => {
    const most = model.spec.powerLimitW.max
    expect(plan([service], [100], { powerCapW: most + 50 })).toMatchObject({ feasible: true, boardLimitW: most })
  })

  it('get the clocks that they may have, and no other', () => {
    const only = plan([service], [200], { smClocksMhz: [900, 1200], memClocksMhz: [9501], bound: true })
    if (!only.feasible) throw new Error(only.message)
    expect(only.bound!.value).toBeLessThanOrEqual(only.score)
    expect(only.bound!.value).toBeGreaterThan(0.5 * only.score)
    expect([900, 1200]).toContain(only.configuration.smClockMhz)
    expect(only.configuration.memClockMhz).toBe(9501)
    const any = plan([service], [200])
    expect(better('min-power', any, only)).toBeGreaterThan(-1e-9)
  })

  it('need more room where requests come in bunches, and where more of it is kept', () => {
    const score = (options: Partial<ServicePlanOptions>) => {
      const result = plan([service], [400], { objective: 'max-load', ...options })
      return result.feasible ? result.score : 0
    }
    expect(score({ burstiness: 20 })).toBeLessThan(score({}))
    expect(score({ latencyMargin: 0.5 })).toBeLessThan(score({}))
    expect(score({ rateMargin: 1.5 })).toBeLessThan(score({ rateMargin: 1 }))
    expect(score({ powerMarginW: 80, powerCapW: 180 })).toBeLessThan(score({ powerCapW: 180 }))
    expect(score({ maxTenants: 1 })).toBeLessThanOrEqual(score({}) * 1.0001)
  })
})
