import { SimulatedGpu } from '@pctodl/gpu-sim'
import { type Telemetry, VirtualClock } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Sampler } from '../src/index.js'
import { integral, timeWeightedMean, timeWeightedPercentile } from '../src/sampling/time-weighted.js'
import { type MeasuredWindow, summarizeWindow } from '../src/sampling/window-summary.js'

const nothing: Telemetry = {
  timeMs: 0,
  powerAverageW: null,
  powerInstantW: null,
  energyJ: null,
  smClockMhz: null,
  memClockMhz: null,
  smUtilPercent: null,
  memUtilPercent: null,
  temperatureC: null,
  memoryUsedBytes: null,
  clocksEventReasons: [],
}

const samplesOf = (samples: readonly Partial<Telemetry>[]): Telemetry[] =>
  samples.map((sample) => ({ ...nothing, ...sample }))

const summary = (samples: readonly Telemetry[], beginMs: number, endMs: number) =>
  summarizeWindow(samples, { name: 'w', beginMs, endMs, periodMs: 100, lastError: null })

describe('a sampler', () => {
  it('keeps its cadence for ten minutes without drift, and its energy agrees with the counter', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock, seed: 3 })
    gpu.launch({ model: 'resnet50', mpsPercent: 100, batchSize: 32 })
    const sampler = new Sampler(gpu, { clock, periodMs: 20, capacity: 200_000 })
    sampler.start()
    await clock.sleep(5010)
    const window = sampler.beginWindow('busy')
    await clock.sleep(600_000)
    const measured = window.end() as MeasuredWindow
    await sampler.stop()
    expect(measured).toMatchObject({ kind: 'measured', name: 'busy', samples: 30_000, missed: 0, longestGapMs: 20 })
    expect(sampler.samples[29_999]!.timeMs).toBe(29_999 * 20)
    expect(measured.energy.powerField).toBe('powerInstantW')
    // The counter counts what is drawn; the sensor that is integrated has its own error of some percent.
    expect(Math.abs(measured.energy.disagreementPercent!)).toBeLessThan(6)
    expect(measured.energy.integralJ! / (measured.coveredMs / 1000)).toBeCloseTo(measured.powerInstantW!.mean, 6)
    expect(window.end()).toBe(measured)
  })

  it('counts what it misses, and samples on at the times that were due', async () => {
    const clock = new VirtualClock()
    let calls = 0
    const gpu = {
      async sample(): Promise<Telemetry> {
        if (++calls === 3) await clock.sleep(250)
        return { ...nothing, timeMs: clock.now(), powerAverageW: 100 }
      },
    }
    const sampler = new Sampler(gpu, { clock, periodMs: 100 })
    sampler.start()
    await clock.sleep(1050)
    await sampler.stop()
    expect(sampler.samples.map(({ timeMs }) => timeMs)).toEqual([0, 100, 450, 500, 600, 700, 800, 900, 1000])
    expect(sampler.missed).toBe(2)
    expect(sampler.summarize(0, 1050)).toMatchObject({ longestGapMs: 350, samples: 9 })
  })

  it('makes an empty window an error value, with the reason', async () => {
    const clock = new VirtualClock()
    const failures: unknown[] = []
    const lost = new Error('the board is lost')
    const sampler = new Sampler(
      { sample: () => Promise.reject(lost) },
      { clock, periodMs: 100, onError: (error) => failures.push(error) },
    )
    const idle = sampler.beginWindow('idle')
    expect(idle.end()).toMatchObject({ kind: 'empty', lastError: null })
    sampler.start()
    const window = sampler.beginWindow('lost')
    await clock.sleep(950)
    expect(window.end()).toEqual({
      kind: 'empty',
      name: 'lost',
      beginMs: 0,
      endMs: 950,
      durationMs: 950,
      missed: 9,
      lastError: lost,
    })
    await sampler.stop()
    expect(failures).toHaveLength(10)
    expect(sampler.missed).toBe(10)
  })

  it('refuses options that make no sense, and to run twice', async () => {
    const gpu = { sample: async () => nothing }
    expect(() => new Sampler(gpu, { periodMs: 19 })).toThrow(/at least 20/)
    expect(() => new Sampler(gpu, { capacity: 1 })).toThrow(/at least 2/)
    const sampler = new Sampler(gpu, { clock: new VirtualClock() })
    sampler.start()
    expect(() => sampler.start()).toThrow(expect.objectContaining({ code: 'SAMPLER_RUNNING' }))
    await sampler.stop()
    await sampler.stop()
  })
})

describe('a window', () => {
  it('weighs by time, not by samples', () => {
    const samples = samplesOf([
      { timeMs: 0, powerAverageW: 100, energyJ: 0 },
      { timeMs: 900, powerAverageW: 100, energyJ: 90 },
      { timeMs: 950, powerAverageW: 300, energyJ: 100 },
      { timeMs: 1000, powerAverageW: 300, energyJ: 115 },
    ])
    const window = summary(samples, 0, 1000) as MeasuredWindow
    // 0.9 s at 100 W, 0.05 s on the way, 0.05 s at 300 W: 90 + 10 + 15 J.
    expect(window.powerAverageW).toMatchObject({ mean: 115, max: 300, min: 100, p50: 100, readings: 4 })
    expect(window.energy).toEqual({
      counterJ: 115,
      integralJ: 115,
      disagreementPercent: 0,
      powerField: 'powerAverageW',
    })
  })

  it('knows only what was read: null is neither 0 nor the value before', () => {
    const samples = samplesOf([
      { timeMs: 0, powerAverageW: 100 },
      { timeMs: 100 },
      { timeMs: 200, powerAverageW: 200, temperatureC: 50 },
    ])
    const window = summary(samples, 0, 200) as MeasuredWindow
    expect(window.powerAverageW).toMatchObject({ mean: 150, readings: 2 })
    expect(window.temperatureC).toMatchObject({ mean: 50, p99: 50 })
    expect(window.smClockMhz).toBeNull()
    expect(window.energy).toMatchObject({ counterJ: null, integralJ: 30, disagreementPercent: null })
  })

  it('reaches back no further than the samples kept, and says what is missing', async () => {
    const clock = new VirtualClock()
    const gpu = { sample: async () => ({ ...nothing, timeMs: clock.now(), powerAverageW: 1 }) }
    const sampler = new Sampler(gpu, { clock, periodMs: 100, capacity: 10 })
    sampler.start()
    await clock.sleep(4950)
    await sampler.stop()
    const kept = { samples: 10, missed: 39, coveredMs: 900, longestGapMs: 4000 }
    expect(sampler.summarize(0, 4900)).toMatchObject(kept)
    expect(sampler.summarize(0, 3000)).toMatchObject({ kind: 'empty' })
  })
})

describe('time weighting', () => {
  const readings = fc
    .array(fc.record({ stepMs: fc.integer({ min: 1, max: 500 }), value: fc.integer({ min: -1000, max: 1000 }) }), {
      minLength: 2,
      maxLength: 40,
    })
    .map((steps) => {
      let timeMs = 0
      return { timesMs: steps.map(({ stepMs }) => (timeMs += stepMs)), values: steps.map(({ value }) => value) }
    })

  it('keeps mean and percentiles between minimum and maximum, percentiles in order', () => {
    fc.assert(
      fc.property(readings, fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 100 }), (of, a, b) => {
        const [least, most] = [Math.min(...of.values), Math.max(...of.values)]
        const mean = timeWeightedMean(of)!
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((percent) => timeWeightedPercentile(of, percent)!)
        return mean >= least - 1e-9 && mean <= most + 1e-9 && low! <= high! && low! >= least && high! <= most
      }),
    )
  })

  it('is below a percentile for that part of the time, each reading standing for half the time to its neighbours', () => {
    fc.assert(
      fc.property(readings, fc.integer({ min: 0, max: 100 }), ({ timesMs, values }, percent) => {
        const found = timeWeightedPercentile({ timesMs, values }, percent)!
        const last = timesMs.length - 1
        const part = (of: (value: number) => boolean) =>
          timesMs
            .filter((_, i) => of(values[i]!))
            .map((timeMs) => timesMs.indexOf(timeMs))
            .reduce((sum, i) => sum + (timesMs[Math.min(last, i + 1)]! - timesMs[Math.max(0, i - 1)]!) / 2, 0)
        const wanted = (percent / 100) * part(() => true)
        expect(values).toContain(found)
        expect(part((value) => value < found)).toBeLessThanOrEqual(wanted)
        expect(part((value) => value <= found)).toBeGreaterThanOrEqual(wanted - 1e-6)
      }),
    )
  })

  it('adds up: the integral of two parts is the integral of the whole', () => {
    fc.assert(
      fc.property(readings, fc.nat(), (of, at) => {
        const cut = 1 + (at % (of.values.length - 1))
        const part = (from: number, to: number) => ({
          timesMs: of.timesMs.slice(from, to),
          values: of.values.slice(from, to),
        })
        const parts = (integral(part(0, cut + 1)) ?? 0) + (integral(part(cut, of.values.length)) ?? 0)
        expect(parts).toBeCloseTo(integral(of)!, 6)
      }),
    )
  })

  it('does not care how finely a constant stretch is sampled', () => {
    const coarse = { timesMs: [0, 1000, 1000.001, 2000], values: [5, 5, 9, 9] }
    const fine = {
      timesMs: [...Array.from({ length: 101 }, (_, i) => 10 * i), 1000.001, 2000],
      values: [...Array(101).fill(5), 9, 9],
    }
    expect(timeWeightedMean(fine)).toBeCloseTo(timeWeightedMean(coarse)!, 9)
    expect(timeWeightedPercentile(fine, 49)).toBe(5)
    expect(timeWeightedPercentile(fine, 52)).toBe(9)
    expect(timeWeightedMean({ timesMs: [], values: [] })).toBeNull()
    expect(timeWeightedPercentile({ timesMs: [], values: [] }, 50)).toBeNull()
  })
})
