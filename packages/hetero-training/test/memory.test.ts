import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  curvesOf,
  findPlan,
  fitLink,
  fitMemoryModel,
  type GpuProfile,
  ringAllReduceS,
  type TrainingJob,
} from '../src/index.js'
import { largestMicroBatch } from '../src/memory-model.js'
import { prepareJob } from '../src/training-job.js'

const profileOf = (name: string, samplesPerS: number): GpuProfile => ({
  name,
  unit: 'step',
  idlePowerW: 20,
  rows: [200, 100].flatMap((powerLimitW) =>
    [4, 16, 64].map((batchSize) => {
      const timeS = 0.02 + (batchSize / samplesPerS) * Math.sqrt(200 / powerLimitW)
      return { batchSize, powerLimitW, timeS, energyJ: (0.5 + batchSize / 200) * powerLimitW * timeS }
    }),
  ),
})

describe('micro-batches', () => {
  it('take n times the time of the n-th part, at its power', () => {
    const shares = fc.record({
      maxMicroBatch: fc.integer({ min: 1, max: 70 }),
      share: fc.integer({ min: 1, max: 200 }),
    })
    fc.assert(
      fc.property(shares, ({ maxMicroBatch, share }) => {
        const profile = profileOf('a', 900)
        const [accumulated] = prepareJob({ gpus: [{ profile, maxMicroBatch }], globalBatch: 200 }).curves
        const whole = curvesOf(profile)
        const n = Math.ceil(share / maxMicroBatch)
        expect(accumulated!.microBatches(share)).toBe(n)
        for (const limit of [0, 1]) {
          expect(accumulated!.timeS(limit, share) / (n * whole.timeS(limit, share / n))).toBeCloseTo(1, 9)
          expect(accumulated!.powerW(limit, share) / whole.powerW(limit, share / n)).toBeCloseTo(1, 9)
        }
      }),
    )
  })

  it('make plans that an enumeration finds, and that say how many there are', () => {
    const anyMemory = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }))
    fc.assert(
      fc.property(anyMemory, fc.constantFrom(0, 0.5, 1), fc.boolean(), ([first, second], eta, isCapped) => {
        const job: TrainingJob = {
          gpus: [
            { profile: profileOf('a', 900), maxMicroBatch: first },
            { profile: profileOf('b', 400), maxMicroBatch: second },
          ],
          globalBatch: 60,
          eta,
          mayLeaveOut: false,
        }
        const { curves } = prepareJob(job)
        const powerW = isCapped ? 300 : 400
        let best = Number.POSITIVE_INFINITY
        for (let share = 1; share < 60; share++) {
          for (const [a, b] of [[0, 0], [0, 1], [1, 0], ...(isCapped ? [] : [[1, 1]])] as [number, number][]) {
            const [t, u] = [curves[0]!.timeS(a, share), curves[1]!.timeS(b, 60 - share)]
            const timeS = Math.max(t, u)
            const active = (curves[0]!.powerW(a, share) - 20) * t + (curves[1]!.powerW(b, 60 - share) - 20) * u
            best = Math.min(best, eta * (active + 40 * timeS) + (1 - eta) * 400 * timeS)
          }
        }
        const plan = findPlan(job, isCapped ? { powerW } : {})
        expect(plan.cost / best).toBeCloseTo(1, 8)
        expect(plan.gpus[0]!.microBatches).toBe(Math.ceil(plan.gpus[0]!.share / first))
        expect(plan.gpus[1]!.microBatches).toBe(Math.ceil(plan.gpus[1]!.share / second))
      }),
      { numRuns: 40 },
    )
  })

  it('of a profiled size are no extrapolation, however many', () => {
    const gpu = { profile: profileOf('a', 900), maxMicroBatch: 64 }
    const plan = findPlan({ gpus: [gpu], globalBatch: 1000 })
    expect(plan.gpus[0]).toMatchObject({ microBatches: 16, extrapolated: false })
    expect(plan.timeSd).toBeLessThan(1e-6)
    expect(findPlan({ gpus: [{ profile: gpu.profile }], globalBatch: 1000 }).gpus[0]!.extrapolated).toBe(true)
    expect(findPlan({ gpus: [gpu], globalBatch: 1000, profiledRangeOnly: true }).gpus[0]!.share).toBe(1000)
    expect(() => findPlan({ gpus: [{ ...gpu, maxMicroBatch: 0 }], globalBatch: 8 })).toThrow('a: maxMicroBatch: got 0')
  })
})

describe('a memory model', () => {
  it('is learnt from peaks, and says how many samples fit', () => {
    const truth = { fixedBytes: 3e9, bytesPerSample: 9e7 }
    const peaks = [8, 16, 64].map((batchSize) => ({ batchSize, peakBytes: 3e9 + 9e7 * batchSize }))
    const model = fitMemoryModel(16e9, peaks)
    expect(model.fixedBytes).toBeCloseTo(truth.fixedBytes, -2)
    expect(model.bytesPerSample).toBeCloseTo(truth.bytesPerSample, 0)
    expect(largestMicroBatch(model)).toBe(144)
    const profile = profileOf('a', 900)
    expect(findPlan({ gpus: [{ profile, memory: model }], globalBatch: 145 }).gpus[0]!.microBatches).toBe(2)
    expect(() => findPlan({ gpus: [{ profile, memory: model, maxMicroBatch: 9 }], globalBatch: 9 })).toThrow(
      'a: maxMicroBatch: got 9, expected either this or memory',
    )
    const tooSmall = { ...model, capacityBytes: 1e9 }
    expect(() => findPlan({ gpus: [{ profile, memory: tooSmall }], globalBatch: 9 })).toThrow(
      'a: memory.capacityBytes: got 1000000000, expected at least',
    )
    expect(() => largestMicroBatch({ ...model, bytesPerSample: 0 })).toThrow('memory.bytesPerSample: got 0')
    expect(() => fitMemoryModel(16e9, peaks.slice(1, 2))).toThrow('peaks: got 1')
    expect(() =>
      fitMemoryModel(
        16e9,
        peaks.map((peak) => ({ ...peak, peakBytes: 1 })),
      ),
    ).toThrow('grow with the batch')
  })
})

describe('an all-reduce', () => {
  it('is a ring: latency of its messages, and almost two times the bytes over each link', () => {
    const link = { latencyS: 1e-5, bytesPerS: 1e10 }
    expect(ringAllReduceS(link, 1e8, 4)).toBeCloseTo(6e-5 + 1.5e-2, 12)
    expect(ringAllReduceS(link, 1e8, 1)).toBe(0)
    expect(ringAllReduceS(link, 1e8, 4, 0.01)).toBeCloseTo(5.06e-3, 12)
    expect(ringAllReduceS(link, 1e8, 4, 1)).toBe(0)
    expect(() => ringAllReduceS(link, 1e8, 0)).toThrow('gpus: got 0')
    expect(() => ringAllReduceS({ ...link, bytesPerS: 0 }, 1e8, 2)).toThrow('bytesPerS: got 0')
  })

  it('is learnt from measurements', () => {
    const anyLink = fc.record({
      latencyS: fc.double({ min: 1e-6, max: 1e-3, noNaN: true }),
      bytesPerS: fc.double({ min: 1e8, max: 1e11, noNaN: true }),
    })
    fc.assert(
      fc.property(anyLink, fc.integer({ min: 2, max: 16 }), (link, gpus) => {
        const measured = [1e4, 1e6, 1e8].map((bytes) => ({ bytes, timeS: ringAllReduceS(link, bytes, gpus) }))
        const fitted = fitLink(measured, gpus)
        expect(fitted.bytesPerS / link.bytesPerS).toBeCloseTo(1, 5)
        expect(fitted.latencyS / link.latencyS).toBeCloseTo(1, 5)
      }),
    )
    // Noise says that the latency is below 0: then the best line through the origin, of which relative errors are least.
    const noisy = [1e6, 2e6, 4e6].map((bytes, i) => ({ bytes, timeS: (bytes / 1e9) * [0.7, 1, 1.1][i]! }))
    const { latencyS, bytesPerS } = fitLink(noisy, 2)
    const error = (rate: number) => noisy.reduce((sum, { bytes, timeS }) => sum + (bytes / rate / timeS - 1) ** 2, 0)
    expect(latencyS).toBe(0)
    for (const other of [0.99, 1.01]) expect(error(bytesPerS)).toBeLessThan(error(other * bytesPerS))
    expect(() => fitLink([{ bytes: 1, timeS: 1 }], 2)).toThrow('measured: got 1')
    expect(() =>
      fitLink(
        [
          { bytes: 1, timeS: 2 },
          { bytes: 2, timeS: 1 },
        ],
        2,
      ),
    ).toThrow('grow with the size')
    expect(() =>
      fitLink(
        [
          { bytes: 1, timeS: 0 },
          { bytes: 2, timeS: 1 },
        ],
        2,
      ),
    ).toThrow('1 bytes in 0 s')
  })
})
