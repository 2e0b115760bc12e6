import { loadPerfModel } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import type { Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type FeasibleServicePlan, planServices, type ServicePlanOptions } from '../src/services.js'

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

/** What the model says of a plan at rates with the plan's margins. */
function judged({ configuration }: FeasibleServicePlan, ratesPerS: readonly number[]) {
  return new ServingModel(model, configuration, services).predict(ratesPerS)
}

describe('planServices', () => {
  it('keeps all objectives with fewer watts than the best of equal shares', () => {
    const options: ServicePlanOptions = { ...coarse, objective: 'least-power' }
    const plan = planned(rates, options)
    expect(plan.prediction.services.every(({ objectiveMet }) => objectiveMet)).toBe(true)
    expect(plan).toMatchObject({ loadFactor: 1, admittedPerS: rates, maxQueueDelayMs: [0, 0, 0] })
    expect(plan.configuration.tenants.every(({ service, mpsPercent }) => service && mpsPercent % 10 === 0)).toBe(true)
    expect(plan.prediction.powerW).toBeLessThan(planned(rates, { ...options, improve: false }).prediction.powerW)
    // With the rates' margin as well.
    const more = judged(
      plan,
      rates.map((rate) => 1.1 * rate),
    )
    expect(more.services.every(({ p99Ms }, i) => p99Ms <= 0.92 * services[i]!.objective.p99Ms)).toBe(true)
  })

  it('finds the largest common factor that objectives and cap allow', () => {
    const plan = planned(rates, { ...coarse, objective: 'most-load' })
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
    const plan = planned(busy, { ...coarse, objective: 'most-value' })
    const parts = plan.admittedPerS.map((rate, i) => rate / busy[i]!)
    expect(Math.min(...parts)).toBeLessThan(0.9)
    expect(plan.prediction.powerW).toBeLessThanOrEqual(coarse.powerCapW)
    plan.prediction.services.forEach(({ objectiveMet }, i) => {
      if (plan.admittedPerS[i]! > 0) expect(objectiveMet).toBe(true)
    })
    const all = planned(rates, { ...coarse, objective: 'most-value' })
    expect(all.admittedPerS).toEqual(rates)
    expect(all.binds).toEqual({ what: 'nothing' })
  })

  it('comes out the same each time', () => {
    const options: ServicePlanOptions = { ...coarse, objective: 'least-power', budgetEvaluations: 100 }
    expect(planServices(model, services, rates, options)).toEqual(planServices(model, services, rates, options))
  })
})
