import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { curvesOf, findPlan, type GpuProfile, type TrainingJob } from '../src/index.js'
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
