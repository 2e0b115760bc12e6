import { InvalidInputError } from '@pctodl/platform'
import {
  type ArrivalProcess,
  arrivalTimes,
  constantArrivals,
  diurnalArrivals,
  during,
  faster,
  gammaArrivals,
  logNormalArrivals,
  markovModulatedArrivals,
  poissonArrivals,
  replayedRates,
  replayedTimes,
  superposed,
  thinned,
} from '@pctodl/traffic'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const calmAndBurst = {
  states: [
    { ratePerS: 20, meanDwellMs: 9000 },
    { ratePerS: 220, meanDwellMs: 1000 },
  ],
}

const processes: Readonly<Record<string, ArrivalProcess>> = {
  constant: constantArrivals({ ratePerS: 40 }),
  poisson: poissonArrivals({ ratePerS: 40 }),
  'bursty gamma': gammaArrivals({ ratePerS: 40, burstiness: 4 }),
  'regular gamma': gammaArrivals({ ratePerS: 40, burstiness: 0.25 }),
  'log-normal': logNormalArrivals({ ratePerS: 40, burstiness: 4 }),
  'markov-modulated': markovModulatedArrivals(calmAndBurst),
  'on and off': markovModulatedArrivals({
    states: [
      { ratePerS: 0, meanDwellMs: 2000 },
      { ratePerS: 80, meanDwellMs: 2000 },
    ],
  }),
  diurnal: diurnalArrivals({ meanRatePerS: 40, swing: 0.9, periodMs: 10_000 }),
  'replayed times': replayedTimes([0, 5, 5, 70, 80], { repeat: true, lengthMs: 125 }),
  'replayed rates': replayedRates({ ratesPerS: [0, 20, 100], stepMs: 500, repeat: true }),
  'even rates': replayedRates({ ratesPerS: [10, 70], stepMs: [0, 500, 1000], spacing: 'even', repeat: true }),
  faster: faster(poissonArrivals({ ratePerS: 10 }), 4),
  thinned: thinned(poissonArrivals({ ratePerS: 160 }), 0.25),
  superposed: superposed([poissonArrivals({ ratePerS: 15 }), constantArrivals({ ratePerS: 25 })]),
}

const UNTIL_MS = 400_000

function timesOf(process: ArrivalProcess, seed: number, untilMs = UNTIL_MS): number[] {
  return [...arrivalTimes(process, { seed, untilMs })]
}

describe.each(Object.entries(processes))('%s', (_, process) => {
  const times = timesOf(process, 11)

  it('is in order, and begins after the start', () => {
    expect(times[0]).toBeGreaterThanOrEqual(0)
    expect(times.every((timeMs, i) => i === 0 || timeMs >= times[i - 1]!)).toBe(true)
  })

  it('arrives at the rate that it promises', () => {
    // The most bursty of them has a standard deviation of 4 % over this time.
    expect((1000 * times.length) / UNTIL_MS / process.meanRatePerS).toBeGreaterThan(0.85)
    expect((1000 * times.length) / UNTIL_MS / process.meanRatePerS).toBeLessThan(1.15)
  })

  it('is the same for the same seed, and no stream disturbs another', () => {
    const one = process.start(3)
    const other = process.start(3)
    const alone = timesOf(process, 3, 5000)
    const interleaved = alone.map(() => [one.nextMs(), other.nextMs()])
    expect(interleaved).toEqual(alone.map((timeMs) => [timeMs, timeMs]))
  })
})

it('other seeds give other arrivals', () => {
  for (const name of ['poisson', 'bursty gamma', 'markov-modulated', 'diurnal', 'replayed rates', 'thinned']) {
    expect(timesOf(processes[name]!, 1, 5000), name).not.toEqual(timesOf(processes[name]!, 2, 5000))
  }
})

describe('the distribution of', () => {
  const gaps = (process: ArrivalProcess, untilMs: number) => {
    const times = timesOf(process, 5, untilMs)
    return times.slice(1).map((timeMs, i) => timeMs - times[i]!)
  }
  const burstinessOf = (values: readonly number[]) => {
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length
    return values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length / mean ** 2
  }

  it.each([0.25, 1, 4])('gamma gaps has the burstiness %d', (burstiness) => {
    const measured = burstinessOf(gaps(gammaArrivals({ ratePerS: 1000, burstiness }), 100_000))
    expect(measured / burstiness).toBeGreaterThan(0.95)
    expect(measured / burstiness).toBeLessThan(1.05)
  })

  it('gamma gaps of burstiness 1 and of Poisson gaps is exponential', () => {
    for (const process of [gammaArrivals({ ratePerS: 1000, burstiness: 1 }), poissonArrivals({ ratePerS: 1000 })]) {
      const values = gaps(process, 60_000)
      // Kolmogorov and Smirnov's distance, which 1 of 1000 samples exceeds at 1.95 / sqrt(n).
      values.sort((a, b) => a - b)
      const distance = Math.max(...values.map((x, i) => Math.abs(1 - Math.exp(-x) - (i + 0.5) / values.length)))
      expect(distance).toBeLessThan(1.95 / Math.sqrt(values.length))
    }
  })

  it('counts of a Markov-modulated process spreads as theory says', () => {
    // Index of dispersion of counts over long windows of an MMPP of two states: 1 + 2 (l1-l2)^2 r1 r2 / ((r1+r2)^2 (l1 r2 + l2 r1)).
    const [l1, l2, r1, r2] = [20, 220, 1 / 9, 1]
    const limit = 1 + (2 * (l1 - l2) ** 2 * r1 * r2) / ((r1 + r2) ** 2 * (l1 * r2 + l2 * r1))
    const windowMs = 60_000
    const counts = new Array<number>(400).fill(0)
    for (const timeMs of arrivalTimes(markovModulatedArrivals(calmAndBurst), { untilMs: 400 * windowMs })) {
      counts[Math.floor(timeMs / windowMs)]!++
    }
    const mean = counts.reduce((sum, x) => sum + x, 0) / counts.length
    const dispersion = counts.reduce((sum, x) => sum + (x - mean) ** 2, 0) / counts.length / mean
    expect(dispersion / limit).toBeGreaterThan(0.75)
    expect(dispersion / limit).toBeLessThan(1.25)
  })

  it('a day has its peak where it should be', () => {
    const day = diurnalArrivals({ meanRatePerS: 50, swing: 0.8, periodMs: 1000, peakMs: 250 })
    const quarters = [0, 0, 0, 0]
    for (const timeMs of arrivalTimes(day, { untilMs: 400_000 })) quarters[Math.floor((timeMs % 1000) / 250)]!++
    // The integral of 1 + 0.8 cos(2 pi (t - 1/4)) over each quarter.
    const expected = [1, 1, -1, -1].map((sign) => 20_000 * (0.25 + (sign * 0.8) / (2 * Math.PI)))
    quarters.forEach((count, i) => {
      expect(Math.abs(count - expected[i]!)).toBeLessThan(4 * Math.sqrt(expected[i]!))
    })
  })
})

describe('replay', () => {
  it('gives the very times, once or again and again', () => {
    expect(timesOf(replayedTimes([0, 5, 5, 70]), 1)).toEqual([0, 5, 5, 70])
    const again = replayedTimes([1, 4], { repeat: true, lengthMs: 10 })
    expect(timesOf(again, 1, 25)).toEqual([1, 4, 11, 14, 21, 24])
    expect(replayedTimes([0, 5, 5, 70]).start(1).nextMs()).toBe(0)
  })

  it('spaces rates evenly where it should', () => {
    const rates = replayedRates({ ratesPerS: [2, 0, 4], stepMs: 1000, spacing: 'even' })
    expect(timesOf(rates, 1)).toEqual([500, 1000, 2250, 2500, 2750, 3000])
  })

  it('ends with Infinity for ever', () => {
    for (const process of [replayedTimes([3]), replayedRates({ ratesPerS: [1], stepMs: 10, spacing: 'even' })]) {
      const arrivals = process.start(1)
      arrivals.nextMs()
      expect([arrivals.nextMs(), arrivals.nextMs()]).toEqual([Infinity, Infinity])
    }
  })
})

describe('changed arrivals', () => {
  const recorded = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 60 })

  it('superposition has every arrival of each part once', () => {
    fc.assert(
      fc.property(recorded, recorded, (a, b) => {
        const sorted = (times: number[]) => times.sort((x, y) => x - y)
        const parts = [sorted(a), sorted(b)].map((times) => replayedTimes(times, { lengthMs: 1e6 + 1 }))
        expect(timesOf(superposed(parts), 1, Infinity)).toEqual(sorted([...a, ...b]))
      }),
    )
  })

  it('thinning keeps a part of the arrivals and no others, and all where it should', () => {
    const all = timesOf(processes['poisson']!, 4, 20_000)
    const some = timesOf(thinned(processes['poisson']!, 0.5), 4, 20_000)
    expect(some.length).toBeLessThan(all.length)
    expect(some.every((timeMs) => all.includes(timeMs))).toBe(true)
    expect(timesOf(thinned(processes['poisson']!, 1), 4, 20_000)).toEqual(all)
  })

  it('a burst has its place on top of others', () => {
    const burst = during(constantArrivals({ ratePerS: 1000 }), { fromMs: 100, toMs: 104 })
    expect(timesOf(burst, 1, Infinity)).toEqual([101, 102, 103])
    expect(timesOf(faster(replayedTimes([10, 20]), 2), 1)).toEqual([5, 10])
  })
})

it.each<[string, () => unknown]>([
  ['ratePerS', () => constantArrivals({ ratePerS: 0 })],
  ['ratePerS', () => poissonArrivals({ ratePerS: Number.NaN })],
  ['burstiness', () => gammaArrivals({ ratePerS: 1, burstiness: 0 })],
  ['states', () => markovModulatedArrivals({ states: [{ ratePerS: 1, meanDwellMs: 1 }] })],
  ['states', () => markovModulatedArrivals({ states: Array(2).fill({ ratePerS: 0, meanDwellMs: 1 }) })],
  [
    'states[1].meanDwellMs',
    () => markovModulatedArrivals({ states: [calmAndBurst.states[0]!, { ratePerS: 1, meanDwellMs: 0 }] }),
  ],
  ['swing', () => diurnalArrivals({ meanRatePerS: 1, swing: 1.1 })],
  ['timesMs', () => replayedTimes([])],
  ['timesMs[2]', () => replayedTimes([0, 3, 2])],
  ['lengthMs', () => replayedTimes([0, 0])],
  ['lengthMs', () => replayedTimes([1, 9], { lengthMs: 8 })],
  ['ratesPerS', () => replayedRates({ ratesPerS: [0], stepMs: 1, repeat: true })],
  ['ratesPerS[0]', () => replayedRates({ ratesPerS: [-1], stepMs: 1 })],
  ['stepMs', () => replayedRates({ ratesPerS: [1], stepMs: [0] })],
  ['stepMs[1]', () => replayedRates({ ratesPerS: [1], stepMs: [0, 0] })],
  ['factor', () => faster(constantArrivals({ ratePerS: 1 }), 0)],
  ['keep', () => thinned(constantArrivals({ ratePerS: 1 }), 1.5)],
  ['processes', () => superposed([])],
  ['toMs', () => during(constantArrivals({ ratePerS: 1 }), { fromMs: 5, toMs: 5 })],
])('refuses a wrong %s by name', (field, make) => {
  expect(make).toThrow(InvalidInputError)
  expect(make).toThrow(expect.objectContaining({ field }))
})

describe('the index of dispersion of counts', () => {
  const COUNTED_MS = 4_000_000

  /** Variance of the requests in spans of this length over their mean. */
  function dispersionOf(process: ArrivalProcess, spanMs: number): number {
    const counts = new Array<number>(COUNTED_MS / spanMs).fill(0)
    for (const timeMs of timesOf(process, 5, COUNTED_MS)) counts[Math.floor(timeMs / spanMs)]!++
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length
    return counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / (counts.length - 1) / mean
  }

  it.each([
    ['Poisson', poissonArrivals({ ratePerS: 40 }), 1],
    ['gamma', gammaArrivals({ ratePerS: 40, burstiness: 4 }), 4],
    ['log-normal', logNormalArrivals({ ratePerS: 40, burstiness: 4 }), 4],
  ] as const)('is the burstiness of independent gaps: %s', (_, process, expected) => {
    const measured = dispersionOf(process, 10_000)
    expect(measured / expected).toBeGreaterThan(0.8)
    expect(measured / expected).toBeLessThan(1.2)
  })

  it('of on and off periods follows the covariance of their rate', () => {
    const onOff = markovModulatedArrivals({
      states: [
        { ratePerS: 0, meanDwellMs: 2000 },
        { ratePerS: 80, meanDwellMs: 2000 },
      ],
    })
    // Covariance of the rate is 40^2 exp(-t / 1 s); its integral on both sides over the mean rate is 2 * 1600 * 1 / 40 = 80.
    const measured = dispersionOf(onOff, 40_000)
    expect(measured).toBeGreaterThan(0.75 * 81)
    expect(measured).toBeLessThan(1.25 * 81)
  })
})
