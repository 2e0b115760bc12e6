import { gammaArrivals, poissonArrivals } from '@pctodl/traffic'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases, longTests, someOf } from '../../../test/long-tests.js'
import { checkFleet } from '../src/fleet/check-fleet.js'
import { exampleFolder, fleetOf, loadProfiles, planSegments, simulatePlan, throughputOf } from '../src/index.js'
import { batchTimes, withBatchRates } from '../src/tail/batch-times.js'
import { lateShare, queueDecay } from '../src/tail/late-share.js'
import { simulateQueue } from '../src/tail/simulate-queue.js'
import { rateInTime } from '../src/tail/ways.js'
import { planForTail } from './plan-for-tail.js'
import { publishedData } from './published-data.js'

describe('the decay of a backlog', () => {
  it('is the root that it says, and none where the capacity is not above the rate', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1.001, max: 50, noNaN: true }),
        fc.double({ min: 0.1, max: 20, noNaN: true }),
        (ratio, burstiness) => {
          const theta = queueDecay(100, 100 * ratio, burstiness)
          expect(theta).toBeGreaterThan(0)
          expect(Math.log1p(theta * burstiness * ratio)).toBeCloseTo(burstiness * theta, 9)
        },
      ),
    )
    expect(queueDecay(100, 100, 1)).toBe(0)
    expect(queueDecay(100, 90, 1)).toBe(0)
  })

  it('falls as requests come in bursts', () => {
    expect(queueDecay(100, 120, 4)).toBeLessThan(queueDecay(100, 120, 1))
  })
})

describe('a simulated queue', () => {
  const constant = (gapMs: number) => {
    let timeMs = 0
    return { nextMs: () => (timeMs += gapMs) }
  }

  it('answers at once who comes alone', () => {
    const outcome = simulateQueue([{ workers: 1, batchMs: Float64Array.of(0, 8) }], constant(10), 8, 1000)
    expect(outcome).toEqual({ requests: 1000, late: 0, p99Ms: 8 })
  })

  it('lets requests wait for the next free worker, and takes all that wait', () => {
    // One worker, 25 ms a batch of up to 4, a request each 10 ms: two or three wait whenever it is free.
    const outcome = simulateQueue([{ workers: 1, batchMs: Float64Array.of(0, 25, 25, 25, 25) }], constant(10), 45, 1000)
    expect(outcome.p99Ms).toBeGreaterThan(40)
    expect(outcome.p99Ms).toBeLessThanOrEqual(50)
    expect(outcome.late).toBeGreaterThan(0)
    expect(outcome.late).toBeLessThan(500)
  })

  it('counts what comes first only without a warm-up', () => {
    // Fifty at once wait for each other; all later ones find a free worker.
    const crowd = () => {
      let count = 0
      return { nextMs: () => Math.max(0, ++count - 50) * 10 }
    }
    const run = (fresh?: boolean) =>
      simulateQueue([{ workers: 1, batchMs: Float64Array.of(0, 5) }], crowd(), 5, 1000, fresh)
    expect(run().late).toBe(0)
    expect(run(true).late).toBeGreaterThan(49)
  })

  it('ends with the requests', () => {
    const run = (count: number) => {
      let timeMs = 0
      const stream = { nextMs: () => (timeMs < count ? ++timeMs : Number.POSITIVE_INFINITY) }
      return simulateQueue([{ workers: 2, batchMs: Float64Array.of(0, 5) }], stream, 5, 100)
    }
    expect(run(50).requests).toBe(30)
    expect(() => run(20)).toThrow('arrivals: got 20, expected more requests than the 20 of the warm-up; repeat a trace')
  })

  it('agrees with the mean wait that Pollaczek and Khinchine give for one worker of constant time', () => {
    // Utilisation 0.5: half a service time of waiting on average; 99 of 100 within what the M/D/1 distribution says.
    const outcome = simulateQueue(
      [{ workers: 1, batchMs: Float64Array.of(0, 10) }],
      poissonArrivals({ ratePerS: 50 }).start(3),
      Number.POSITIVE_INFINITY,
      200_000,
    )
    // P(wait > 2.9 service times) is 1.0 % at utilisation 0.5 (Crommelin 1932).
    expect(outcome.p99Ms / 10).toBeGreaterThan(3.6)
    expect(outcome.p99Ms / 10).toBeLessThan(4.6)
  })
})

describe('the estimate of late requests', () => {
  it.each([
    [1, 1.5],
    [4, 3],
  ])('is near or above what requests meet, at burstiness %d', (burstiness, factor) => {
    const { profiles, scenarios } = publishedData('sc24')
    let services = 0
    for (const { model, latencyMs } of scenarios.at(-1)!) {
      const fleet = checkFleet(fleetOf('A100', [profiles.find((each) => each.model === model)!]))
      const { points } = fleet.lanes[0]!.profiles[0]!
      for (const point of withBatchRates(points)) {
        const beside = withBatchRates(points.filter(({ profile }) => profile === point.profile))
        // A part of the points, spread over sizes, batches and processes.
        if ((Number.parseInt(point.profile, 10) + point.batchSize + point.processes) % 3 !== 0) continue
        const workers = point.processes * (1 + (point.batchSize % 3))
        const capacityPerS = (workers * 1000 * point.batchSize) / point.latencyMs
        const ratePerS = (0.3 + 0.6 * ((services * 0.618) % 1)) * capacityPerS
        const times = batchTimes(beside, point)
        const { batchSize: largestBatch, latencyMs: fullBatchMs } = point
        const queue = { ratePerS, burstiness, capacityPerS, workers, largestBatch, fullBatchMs, singleMs: times[1]! }
        const estimate = lateShare(queue, latencyMs)
        if (estimate > 0.5 || estimate < 0.001) continue
        const stream = gammaArrivals({ ratePerS, burstiness }).start(services)
        const { late, requests } = simulateQueue([{ workers, batchMs: times }], stream, latencyMs, 40_000)
        expect(late / requests, `${model} ${JSON.stringify(point)} at ${ratePerS}`).toBeLessThanOrEqual(
          factor * estimate + 0.003,
        )
        services++
      }
    }
    expect(services).toBeGreaterThan(3)
  })
})

describe('the rate that an instance answers in time', () => {
  it('is found also where it is a thousandth of the capacity', () => {
    const point = { profile: '7g.80gb', processes: 1, batchSize: 8, latencyMs: 100, processThroughput: 80 }
    const goal = { model: 'net', ratePerS: 1, latencyMs: 105, burstiness: 1 }
    expect(rateInTime({ slot: '7g', computeSlices: 7, point, singleMs: 60 }, goal)).toBeGreaterThan(0.11)
  })

  it('leaves windows in time, where a small share of late requests would not', () => {
    // One burst in some millions of requests makes a queue near its capacity late for thousands of requests.
    const point = { profile: '7g.80gb', processes: 30, batchSize: 1, latencyMs: 5000, processThroughput: 0.2 }
    const goal = { model: 'net', ratePerS: 1, latencyMs: 37_000, burstiness: 4 }
    const ratePerS = rateInTime({ slot: '7g', computeSlices: 7, point, singleMs: 5000 }, goal)
    expect(ratePerS).toBeGreaterThan(0.9 * throughputOf(point))
    const kinds = [{ workers: 30, batchMs: Float64Array.of(0, 5000) }]
    for (let seed = 0; seed < cases(60, 15); seed++) {
      const arrivals = gammaArrivals({ ratePerS, burstiness: 4 }).start(seed)
      expect(simulateQueue(kinds, arrivals, 37_000, 40_000).late).toBeLessThanOrEqual(400)
    }
  })
})

/** Requests of a check: each week as many as users have. */
const checkRequests = longTests ? 40_000 : 8000

describe('a plan for the tail', () => {
  it('serves whom the latency gate leaves late', async () => {
    const { profiles, scenarios } = publishedData('head')
    const row = scenarios[0]!.filter((_, m) => longTests || m % 2 === 0)
    const late = (of: readonly { late: number; requests: number }[]) =>
      of.filter(({ late, requests }) => late > 0.01 * requests).length
    const options = { dispatch: 'split', requests: 30_000 } as const
    const published = await planSegments(profiles, row)
    expect(late(simulatePlan(published, profiles, options))).toBeGreaterThan(cases(2, 1))
    const plan = await planForTail(profiles, row, { dispatch: 'split', checkRequests })
    expect(late(simulatePlan(plan, profiles, options))).toBe(0)
  })

  it('names whom it cannot keep, and an objective that it can', async () => {
    const { profiles, scenarios } = publishedData('head')
    const some = scenarios[4]!.filter((_, m) => longTests || m % 3 === 2)
    for (const dispatch of someOf(['shared', 'split'] as const, 'split')) {
      const { unserved } = await planForTail(profiles, some, { dispatch, checkRequests })
      expect(unserved.length).toBeGreaterThan(0)
      for (const { model, ratePerS, message } of unserved.slice(0, cases(2, 1))) {
        const latencyMs = Number(/([\d.]+) ms could be kept/.exec(message)![1])
        const kept = await planForTail(profiles, [{ model, ratePerS, latencyMs }], { dispatch })
        expect(kept.unserved).toEqual([])
        const [outcome] = simulatePlan(kept, profiles, { dispatch, requests: 30_000 })
        expect(outcome!.late / outcome!.requests).toBeLessThanOrEqual(0.01)
      }
    }
  })

  it('does not depend on the order of profiles and objectives', async () => {
    const { profiles, scenarios } = publishedData('sc24')
    const row = scenarios[2]!.slice(0, longTests ? undefined : 3)
    const options = { checkRequests: 2000 }
    const plan = await planForTail(profiles, row, options)
    expect(await planForTail([...profiles].reverse(), [...row].reverse(), options)).toEqual(plan)
  })

  it('takes the slower of two columns that differ', () => {
    const point = { batchSize: 4, processes: 1, processThroughput: 100 }
    const [one, two] = withBatchRates([
      { ...point, profile: '1g.10gb', latencyMs: 20 },
      { ...point, profile: '2g.20gb', latencyMs: 80 },
    ])
    expect(one).toMatchObject({ latencyMs: 40, processThroughput: 100 })
    expect(throughputOf(two!)).toBe(50)
  })

  it('does not count on steady requests that chance sends to segments', async () => {
    const profiles = loadProfiles(exampleFolder('A100-80GB')).filter(({ model }) => model === 'maxvit_t')
    const objectives = [{ model: 'maxvit_t', ratePerS: 440, latencyMs: 4.582 }]
    const options = { dispatch: 'split', burstiness: 0.1 } as const
    const refused = await planForTail(profiles, objectives, { ...options })
    const could = Number(/; ([\d.]+) ms could be kept/.exec(refused.unserved[0]?.message ?? '')?.[1] ?? 4.582)
    const plan = await planForTail(profiles, [{ ...objectives[0]!, latencyMs: could }], {
      ...options,
    })
    const [met] = simulatePlan(plan, profiles, { ...options, seed: 77, requests: 60_000 })
    expect(met!.late / met!.requests).toBeLessThanOrEqual(0.01)
  })

  it.each([4, 30])('sees that few requests come together at burstiness %d', async (burstiness) => {
    const profiles = loadProfiles(exampleFolder('A100-80GB')).filter(({ model }) => model === 'mnasnet1_0')
    const objective = { model: 'mnasnet1_0', ratePerS: 2, latencyMs: 0.5 }
    const plan = (latencyMs: number) => planForTail(profiles, [{ ...objective, latencyMs }], { burstiness })
    const { unserved } = await plan(objective.latencyMs)
    const could = Number(/; ([\d.]+) ms could be kept/.exec(unserved[0]!.message)![1])
    const [met] = simulatePlan(await plan(could), profiles, { burstiness, seed: 77, requests: 60_000 })
    expect(met!.late / met!.requests).toBeLessThanOrEqual(0.01)
  })

  it.each([0, -1, Number.NaN, 1000])('refuses a burstiness of %d', async (burstiness) => {
    await expect(planForTail([], [], { burstiness })).rejects.toThrow(/burstiness/)
  })
})

describe('segments with a queue each', () => {
  it('get more of a burst the fewer they are, so more and smaller ones need fewer boards than as if each got it whole', async () => {
    const { profiles, scenarios } = publishedData('sc24')
    const row = scenarios[3]!.slice(0, 4)
    const plan = await planForTail(profiles, row, { dispatch: 'split', burstiness: 4, checkRequests })
    const judged = simulatePlan(plan, profiles, { dispatch: 'split', burstiness: 4, requests: 50_000, seed: 3 })
    for (const { late, requests } of judged) expect(late).toBeLessThanOrEqual(0.01 * requests)
    const calm = await planForTail(profiles, row, { dispatch: 'split', burstiness: 1, checkRequests })
    expect(plan.gpuCount).toBeLessThanOrEqual(1.25 * calm.gpuCount)
  })
})

describe('the check by simulation', () => {
  it('takes no board and no service from what the estimate allows', async () => {
    const { profiles, scenarios } = publishedData('head')
    const row = scenarios[4]!.filter((_, m) => longTests || m % 3 === 0)
    const checked = await planForTail(profiles, row, {})
    const judged = simulatePlan(checked, profiles, { requests: cases(100_000, 40_000), seed: 11 })
    for (const { late, requests } of judged) expect(late).toBeLessThanOrEqual(0.01 * requests)
    const estimated = await planForTail(profiles, row, { checkRequests: 0 })
    expect(checked.gpuCount).toBeGreaterThanOrEqual(estimated.gpuCount)
    expect(checked.served.map(({ model }) => model)).toEqual(estimated.served.map(({ model }) => model))
    await expect(planForTail(profiles, row, { checkRequests: -1 })).rejects.toThrow(/checkRequests/)
  })
})
