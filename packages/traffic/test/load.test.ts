import { LatencyHistogram, type ServiceCounters, VirtualClock } from '@pctodl/platform'
import {
  constantArrivals,
  highestRate,
  poissonArrivals,
  queriesNeeded,
  replayedTimes,
  type SystemUnderTest,
  serverLoad,
  serviceReport,
} from '@pctodl/traffic'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Query } from '../src/load/system-under-test.js'

/** Answers every query after so many ms, any number of them at a time. */
const slowBy = (clock: VirtualClock, ms: (query: Query) => number): SystemUnderTest => ({
  answer: (query) => clock.sleep(ms(query)),
})

describe('early stopping', () => {
  it('needs as many queries as MLPerf says', () => {
    // 64 for SingleStream and 662 for MultiStream, one of them above; 459 for p99 with none above.
    expect(queriesNeeded(0.9, 1)).toBe(64)
    expect(queriesNeeded(0.99, 1)).toBe(662)
    expect(queriesNeeded(0.99, 0)).toBe(459)
  })

  it('lets so few through as the binomial sum says', () => {
    const tail = (n: number, over: number, p: number) => {
      let term = p ** n
      let sum = term
      for (let k = 1; k <= over; k++) {
        term *= (((n - k + 1) / k) * (1 - p)) / p
        sum += term
      }
      return sum
    }
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.constantFrom(0.5, 0.9, 0.95, 0.99), (over, p) => {
        const n = queriesNeeded(p, over)
        expect(tail(n, over, p)).toBeLessThanOrEqual(0.01 * (1 + 1e-6))
        if (n > over + 1) expect(tail(n - 1, over, p)).toBeGreaterThan(0.01 * (1 - 1e-6))
      }),
    )
  })

  it.each([0, 1, Number.NaN])('refuses the percentile %d', (percentile) => {
    expect(() => queriesNeeded(percentile, 0)).toThrow('percentile')
  })
})

describe('the Server scenario', () => {
  it('sends when due, whatever is still open, and counts from then: a stall costs everybody who came during it', async () => {
    const clock = new VirtualClock()
    // One queue; the first request holds it for 100 ms, all others take no time.
    let freeAtMs = 0
    const system: SystemUnderTest = {
      answer: async ({ id }) => {
        if (id === 0) freeAtMs = clock.now() + 100
        await clock.sleep(Math.max(0, freeAtMs - clock.now()))
      },
    }
    const arrivals = constantArrivals({ ratePerS: 100 })
    const result = await serverLoad(system, { clock, arrivals, latencyBoundMs: 1, minDurationMs: 200, minQueries: 5 })
    // Due at 10, 20, ... 190; the stall is over at 110. A closed loop would have seen one slow request.
    expect(Array.from(result.latenciesMs).reverse().slice(0, 11)).toEqual([100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0])
    expect(result).toMatchObject({ queries: 19, completed: 19, maxBehindMs: 0, valid: false, p50Ms: 10, p99Ms: 100 })
    expect(result.problems[0]).toContain('10 of 19 queries took more than 1 ms')
  })

  it('counts the time by which the generator itself was late', async () => {
    const clock = new VirtualClock()
    // Sending blocks the loop: the clock has moved on when the next is due.
    const slowClock = { now: () => clock.now(), date: () => clock.date(), sleep: (ms: number) => clock.sleep(ms + 7) }
    const result = await serverLoad(
      slowBy(clock, () => 1),
      {
        clock: slowClock,
        arrivals: replayedTimes([10, 50]),
        latencyBoundMs: 20,
        minQueries: 2,
      },
    )
    expect(result.maxBehindMs).toBe(7)
    expect(Array.from(result.latenciesMs)).toEqual([8, 8])
  })

  it('is valid where the percentile is below the bound with confidence, and takes time and queries enough', async () => {
    const clock = new VirtualClock()
    const late = new Set([7])
    const options = { clock, arrivals: poissonArrivals({ ratePerS: 1000 }), latencyBoundMs: 5, minDurationMs: 100 }
    const system = slowBy(clock, ({ id }) => (late.has(id) ? 9 : 1))
    const result = await serverLoad(system, options)
    expect(result).toMatchObject({ queries: 662, valid: true, problems: [] })
    late.add(8)
    expect(await serverLoad(system, options)).toMatchObject({ queries: 662, valid: false })
    const longer = await serverLoad(system, { ...options, minDurationMs: 2000 })
    expect(longer.queries).toBeGreaterThan(1800)
    expect(longer.valid).toBe(true)
  })

  it('takes what was shed or failed as never answered', async () => {
    const clock = new VirtualClock()
    const system: SystemUnderTest = {
      answer: async ({ id }) => {
        await clock.sleep(1)
        if (id === 0) return 'shed'
        if (id <= 2) throw new Error('no memory left')
        return undefined
      },
    }
    const arrivals = constantArrivals({ ratePerS: 1000 })
    const result = await serverLoad(system, { clock, arrivals, latencyBoundMs: 5, minDurationMs: 10, minQueries: 10 })
    expect(result).toMatchObject({ queries: 10, completed: 7, shed: 1, failed: 2, reasons: ['no memory left'] })
    expect(Array.from(result.latenciesMs.slice(7))).toEqual([Infinity, Infinity, Infinity])
    expect(result).toMatchObject({ valid: false, meanMs: 1, p99Ms: Infinity })
  })

  it('sheds by itself what a dead system leaves open', async () => {
    const clock = new VirtualClock()
    let open = 0
    const system: SystemUnderTest = {
      answer: async () => {
        open++
        await clock.sleep(10_000)
      },
    }
    const arrivals = constantArrivals({ ratePerS: 1000 })
    const options = { clock, arrivals, latencyBoundMs: 5, minDurationMs: 100, minQueries: 50, maxOpen: 20 }
    const result = await serverLoad(system, options)
    expect(open).toBeLessThanOrEqual(20)
    expect(result).toMatchObject({ completed: open, shed: result.queries - open, queries: 99 })
  })

  it('says when the arrivals end too soon, and ends when told to', async () => {
    const clock = new VirtualClock()
    const system = slowBy(clock, () => 1)
    const short = await serverLoad(system, { clock, arrivals: replayedTimes([1, 2]), latencyBoundMs: 5 })
    expect(short.problems).toEqual(['2 queries, fewer than 662: the arrivals ended'])
    const controller = new AbortController()
    const running = serverLoad(system, {
      clock,
      arrivals: constantArrivals({ ratePerS: 1 }),
      latencyBoundMs: 5,
      signal: controller.signal,
    })
    controller.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
  })
})

describe('highestRate', () => {
  it('encloses a threshold from either side', async () => {
    for (const fromPerS of [1, 100, 10_000]) {
      const { ratePerS, failsAtPerS } = await highestRate((rate) => rate <= 321, { fromPerS })
      expect(ratePerS).toBeLessThanOrEqual(321)
      expect(failsAtPerS).toBeGreaterThan(321)
      expect(failsAtPerS! / ratePerS!).toBeLessThanOrEqual(1.01)
    }
  })

  it('says null where it found none', async () => {
    const none = await highestRate(() => false, { fromPerS: 1, maxTrials: 5 })
    expect(none).toEqual({ ratePerS: null, failsAtPerS: 1 / 16, trials: 5 })
    expect(await highestRate(() => true, { fromPerS: 1, maxTrials: 3 })).toMatchObject({ failsAtPerS: null })
  })
})

describe('serviceReport', () => {
  const counters = (counts: Partial<ServiceCounters>, latenciesMs: readonly number[] = []): ServiceCounters => {
    const latencies = new LatencyHistogram()
    for (const latencyMs of latenciesMs) latencies.record(latencyMs)
    const none = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0, running: 0 }
    return { service: 'search', timeMs: 0, ...none, ...counts, latencies }
  }

  it('tells rates, attainment and latencies of the time between two readings', () => {
    const earlier = counters({ timeMs: 1000, arrived: 10, completed: 2 }, [1000, 1000])
    const counts = { arrived: 112, completed: 99, late: 2, shed: 2, failed: 1, queued: 7, running: 3 }
    const later = counters({ timeMs: 3000, ...counts }, [1000, 1000, ...Array<number>(96).fill(10), 500])
    const report = serviceReport({ name: 'search' }, earlier, later)
    expect(report).toMatchObject({ durationMs: 2000, arrivalsPerS: 51, goodputPerS: 47.5, attainment: 0.95, open: 10 })
    expect(report.objectiveMet).toBe(false)
    expect(report.p50Ms).toBeCloseTo(10, 0)
    expect(report.p999Ms! / 500).toBeCloseTo(1, 1)
  })

  it('knows nothing where nothing was decided, and takes readings of one service in order only', () => {
    const [first, second] = [counters({}), counters({ timeMs: 5, arrived: 3, queued: 3 })]
    const report = serviceReport({ name: 'search' }, first, second)
    expect(report).toMatchObject({ attainment: null, objectiveMet: null, p99Ms: null, goodputPerS: 0 })
    expect(() => serviceReport({ name: 'search' }, second, first)).toThrow('later.timeMs')
    expect(() => serviceReport({ name: 'other' }, first, second)).toThrow('earlier.service')
  })
})
