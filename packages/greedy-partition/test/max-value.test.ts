import { loadPerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { maxValue } from '../src/services/max-value.js'
import { planProblem } from '../src/services/plan-problem.js'
import { planServices } from '../src/services.js'

const model = loadPerfModel('A100')
const waitingW = 40

/**
 * Services on a board whose power is idle power plus a constant per request/s. All requests are answered within their
 * objective up to a rate.
 */
function admitted(
  of: readonly {
    readonly rate: number
    readonly weight: number
    readonly jPerRequest: number
    readonly most?: number
  }[],
  powerCapW: number,
) {
  const services = of.map(
    ({ weight }, i): Service => ({
      name: `s${i}`,
      model: 'resnet50',
      objective: { p99Ms: 40 },
      weight,
      maxBatchSize: 16,
      maxQueueDelayMs: 0,
    }),
  )
  const problem = planProblem(
    model,
    services,
    of.map(({ rate }) => rate),
    { powerCapW, objective: 'max-value', rateMargin: 1 },
  )
  const powerAt = (_: number, rates: readonly number[], attainments: Float64Array) => {
    rates.forEach((rate, i) => {
      attainments[i] = rate <= (of[i]!.most ?? Infinity) ? 1 : 0
    })
    return rates.reduce((sum, rate, i) => sum + rate * of[i]!.jPerRequest, waitingW)
  }
  return maxValue(problem, { powerAt }, 0)
}

describe('what is let in under a cap', () => {
  const each = [
    { rate: 100, weight: 1, jPerRequest: 0.5 },
    { rate: 100, weight: 3, jPerRequest: 0.5 },
    { rate: 100, weight: 1, jPerRequest: 0.2 },
  ]

  it('is everything where the cap allows it', () => {
    expect(admitted(each, 160)).toEqual({ ratesPerS: [100, 100, 100], value: 500, powerW: 160 })
  })

  it('is less of that alone which is worth least a joule', () => {
    const { ratesPerS, powerW, value } = admitted(each, 140)!
    expect(ratesPerS.slice(1)).toEqual([100, 100])
    // Bisection finds the rate to one part in 256.
    expect(ratesPerS[0]).toBeGreaterThan(59.5)
    expect(ratesPerS[0]).toBeLessThanOrEqual(60)
    expect(powerW).toBeLessThanOrEqual(140)
    expect(value).toBeCloseTo(400 + ratesPerS[0]!, 9)
  })

  it('is nothing of one service and less of the next where that is needed', () => {
    const { ratesPerS, powerW } = admitted(each, 100)!
    expect(ratesPerS[0]).toBe(0)
    expect(ratesPerS[1]).toBe(100)
    expect(ratesPerS[2]).toBeGreaterThan(49.5)
    expect(ratesPerS[2]).toBeLessThanOrEqual(50)
    expect(powerW).toBeLessThanOrEqual(100)
  })

  it('does not hang on how many requests there are', () => {
    const few = each.map(({ rate, weight, jPerRequest }) => ({
      rate: rate / 1e5,
      weight,
      jPerRequest: 1e5 * jPerRequest,
    }))
    for (const capW of [140, 100]) {
      admitted(few, capW)!.ratesPerS.forEach((rate, i) => {
        expect(1e5 * rate).toBeCloseTo(admitted(each, capW)!.ratesPerS[i]!, 6)
      })
    }
  })

  it('is of each service at most what is answered in time', () => {
    const { ratesPerS } = admitted([{ ...each[0]!, most: 30 }, each[1]!], 160)!
    expect(ratesPerS[0]).toBeGreaterThan(29.5)
    expect(ratesPerS[0]).toBeLessThanOrEqual(30)
    expect(ratesPerS[1]).toBe(100)
  })

  it('is not to be said where the waiting board alone takes more', () => {
    expect(admitted(each, 35)).toBeUndefined()
  })
})

describe('a plan of most value', () => {
  const board = loadPerfModel('3080Ti')
  const rest = { weight: 1, maxBatchSize: 32, maxQueueDelayMs: 0 }
  const services: readonly Service[] = [
    { name: 'photos', model: 'vgg19', objective: { p99Ms: 60 }, ...rest, weight: 0.1 },
    { name: 'search', model: 'mobilenet_v2', objective: { p99Ms: 80 }, ...rest },
  ]
  const planned = (powerCapW: number, options: object = {}) =>
    planServices(board, services, [900, 2000], { powerCapW, objective: 'max-value', sharePercentStep: 20, ...options })

  it('is found under a cap that the waiting board exceeds at the highest clocks', () => {
    const plan = planned(120)
    expect(plan).toMatchObject({ feasible: true })
    if (!plan.feasible) return
    expect(plan.prediction.powerW).toBeLessThanOrEqual(120)
    expect(plan.admittedPerS[1]).toBeGreaterThan(1800)
  })

  it.each(['max-value', 'max-load'])(
    'is no %s where the waiting board exceeds the cap at every clock, and says which cap it takes',
    (objective) => {
      const plan = planned(40, { objective })
      expect(plan).toMatchObject({
        feasible: false,
        reason: 'power-cap',
        message: expect.stringMatching(
          /40 W cannot be kept by photos, search even without requests .* at least [\d.]+ W$/,
        ),
      })
      if (!plan.feasible) expect(planned(plan.lowestFeasibleCapW!, { objective })).toMatchObject({ feasible: true })
    },
  )

  it('is looked for in half of the time, after a plan for all requests', () => {
    let ms = 0
    const plan = planned(200, { timeBudgetMs: 400, now: () => ms++ })
    const whole = planned(200)
    expect(ms).toBeLessThan(450)
    expect(plan.evaluations).toBeGreaterThan(100)
    if (plan.feasible && whole.feasible) expect(plan.score).toBeGreaterThan(0.99 * whole.score)
  })
})
