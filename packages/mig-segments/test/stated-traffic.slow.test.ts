import { SeededRandom } from '@pctodl/numerics'
import { gammaArrivals, markovModulatedArrivals } from '@pctodl/traffic'
import { describe, expect, it } from 'vitest'
import { cases, longTests, someOf } from '../../../test/long-tests.js'
import { type BoundedPlan, breaksFirst, type ServiceProfile, serviceLimits, simulatePlan } from '../src/index.js'
import { planForTail } from './plan-for-tail.js'
import { publishedData, randomScenarios } from './published-data.js'

type Process = (ratePerS: number) => { start(seed: number): { nextMs(): number } }

const gamma =
  (burstiness: number): Process =>
  (ratePerS) =>
    gammaArrivals({ ratePerS, burstiness })
/** On half of the time, for a fifth of a second on average. */
const onOff = (ratePerS: number) =>
  markovModulatedArrivals({
    states: [
      { ratePerS: 2 * ratePerS, meanDwellMs: 200 },
      { ratePerS: 0, meanDwellMs: 200 },
    ],
  })

/**
 * Share of a service's requests that are late, from the definition alone: workers as the plan has them take from one queue what waits, at most a full
 * batch, as soon as they are free; a batch takes what the smallest measured one that holds it takes, on the same size with as many processes.
 */
function lateShare(
  plan: BoundedPlan,
  model: string,
  profiles: readonly ServiceProfile[],
  process: Process,
  rateFactor: number,
  timeFactor: number,
  seed: number,
): number {
  const { ratePerS, latencyMs } = plan.served.find((each) => each.model === model)!
  const { points } = profiles.find((each) => each.model === model)!
  const workers = plan.gpus
    .flatMap(({ segments }) => segments.filter((segment) => segment.model === model))
    .flatMap(({ sizeGpcs, processes, batchSize }) => {
      const own = points
        .filter((p) => p.sizeGpcs === sizeGpcs && p.processes === processes && p.batchSize <= batchSize)
        .filter((p) => p.processThroughput > 0)
        .map((p) => ({
          size: p.batchSize,
          ms: timeFactor * Math.max(p.latencyMs, (1000 * p.batchSize) / p.processThroughput),
        }))
      const timeOf = (count: number) => Math.min(...own.filter(({ size }) => size >= count).map(({ ms }) => ms))
      const ms = Array.from({ length: batchSize + 1 }, (_, count) => (count === 0 ? 0 : timeOf(count)))
      return Array.from({ length: processes }, () => ({ freeMs: 0, batchSize, ms }))
    })
  // The fastest of those that are free goes first.
  workers.sort((a, b) => b.batchSize / b.ms.at(-1)! - a.batchSize / a.ms.at(-1)!)
  const slots = workers.reduce((sum, { batchSize }) => sum + batchSize, 0)
  const requests = Math.max(30_000, 100 * slots)
  const arrivals = process(rateFactor * ratePerS).start(seed)
  const times = Array.from({ length: requests }, () => arrivals.nextMs())
  let late = 0
  for (let first = 0; first < requests; ) {
    const earliest = Math.min(...workers.map(({ freeMs }) => freeMs))
    const beginMs = Math.max(times[first]!, earliest)
    const worker = workers.find(({ freeMs }) => freeMs <= beginMs)!
    let count = 0
    while (count < worker.batchSize && first + count < requests && times[first + count]! <= beginMs) count++
    worker.freeMs = beginMs + worker.ms[count]!
    for (let i = 0; i < count; i++) if (worker.freeMs - times[first + i]! > latencyMs) late++
    first += count
  }
  return late / requests
}

describe('a plan by the tail', () => {
  it('holds under the stated errors for every calmer traffic and for on/off arrivals, as an independent simulation finds', async () => {
    const { profiles, scenarios } = publishedData('head')
    // A part of the services of a row that needs few boards.
    const rows = [
      scenarios[4]!.filter((_, m) => m % (longTests ? 2 : 4) === 0),
      ...randomScenarios({ profiles, scenarios }, cases(1, 0), 77),
    ]
    const bursty = [{ burstiness: 4 }, [gamma(0.25), gamma(3), gamma(4)]] as const
    const switched = [{ arrivals: [onOff] }, [gamma(1), onOff]] as const
    for (const [r, objectives] of rows.entries()) {
      for (const [stated, processes] of someOf([bursty, switched], switched)) {
        const plan = await planForTail(profiles, objectives, { ...stated })
        for (const { model } of plan.served) {
          const shares = processes.map((process, k) =>
            lateShare(plan, model, profiles, process as Process, 1.05, 1.05, 1000 * r + k),
          )
          expect({ model, worst: Math.max(...shares) < 0.01 || shares }).toEqual({ model, worst: true })
        }
      }
    }
  })

  it('without errors needs no more GPUs', async () => {
    const { profiles, scenarios } = publishedData('head')
    const row = scenarios[1]!.slice(0, longTests ? undefined : 4)
    const options = { checkRequests: 5000 }
    const sure = await planForTail(profiles, row, { ...options, rateError: 0, timeError: 0 })
    const unsure = await planForTail(profiles, row, { ...options, rateError: 0.2, timeError: 0.1 })
    expect(sure.gpuCount).toBeLessThanOrEqual(unsure.gpuCount)
    await expect(planForTail(profiles, row, { rateError: 2 })).rejects.toThrow(/rateError/)
  })
})

describe('the rate at which a service breaks', () => {
  it('is above the stated rate of a plan by the tail, and requests at more are late', async () => {
    const { profiles, scenarios } = publishedData('head')
    const plan = await planForTail(profiles, scenarios[2]!.slice(0, longTests ? undefined : 4), {})
    const limits = serviceLimits(plan.served, {}, (served, way) => simulatePlan({ ...plan, served }, profiles, way))
    const random = new SeededRandom(1)
    for (const [m, { breaksAtPerS, p99Ms, latencyMs, utilisation }] of limits.entries()) {
      const { model, ratePerS, capacity } = plan.served[m]!
      expect(breaksAtPerS).toBeGreaterThanOrEqual(1.05 * ratePerS)
      expect(p99Ms).toBeLessThanOrEqual(latencyMs)
      expect(utilisation).toBeCloseTo(ratePerS / capacity, 9)
      const beyond = (1.04 * breaksAtPerS) / ratePerS
      const seed = random.integer(1000)
      const shares = [0.25, 1].map((b) => lateShare(plan, model, profiles, gamma(b), beyond, 1, seed))
      expect({ model, late: Math.max(...shares) > 0.008 || shares }).toEqual({ model, late: true })
    }
    const first = breaksFirst(plan.served, limits)!
    expect(first.factor).toBe(Math.min(...limits.map((each, m) => each.breaksAtPerS / plan.served[m]!.ratePerS)))
  })
})
