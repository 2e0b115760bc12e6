import { placementConflict } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BoundedPlan, formatProfileCsv, parseProfileCsv, planSegments, throughputOf } from '../src/index.js'
import { arbitraryServices, type Services } from './arbitrary-services.js'
import { planForTail } from './plan-for-tail.js'

const boardPowerW = ({ segments }: BoundedPlan['gpus'][number], idleW: number) =>
  segments.reduce((sum, { powerW }) => sum + powerW!, idleW)

/** Watts for every point: small instances take more for each GPC, so that seven of them pass what one large one keeps. */
function measured({ profiles, objectives }: Services): Services {
  return {
    objectives,
    profiles: profiles.map(({ model, points }, m) => ({
      model,
      points: points.map((point) => ({
        ...point,
        powerW: (30 + m) * point.sizeGpcs! ** 0.6 + 0.005 * throughputOf(point),
      })),
    })),
  }
}

describe('a plan under a cap', () => {
  it('has no board above it, serves as without it, and uses more boards only where watts ask for it', async () => {
    let more = 0
    await fc.assert(
      fc.asyncProperty(
        arbitraryServices.map(measured),
        fc.integer({ min: 180, max: 260 }),
        async ({ profiles, objectives }, boardW) => {
          const free = await planSegments(profiles, objectives)
          const powerCap = { boardW, idleW: 30 }
          const plan = await planSegments(profiles, objectives, { powerCap })
          for (const gpu of plan.gpus) {
            expect(boardPowerW(gpu, 30)).toBeLessThanOrEqual(boardW)
            expect(placementConflict(gpu.segments)).toBeNull()
          }
          for (const { capacity, ratePerS } of plan.served)
            expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
          expect(plan.served.map(({ model }) => model)).toEqual(free.served.map(({ model }) => model))
          expect(plan.gpuCount).toBeGreaterThanOrEqual(plan.lowerBoundGpus)
          expect(plan.gpcCount).toBeGreaterThanOrEqual(plan.lowerBoundGpcs)
          if (plan.gpuCount > 0)
            expect(plan.power!.highestW).toBeCloseTo(Math.max(...plan.gpus.map((gpu) => boardPowerW(gpu, 30))), 9)
          if (plan.gpuCount > free.gpuCount) more++
          const wide = await planSegments(profiles, objectives, { powerCap: { boardW: 1e6, idleW: 30 } })
          expect(wide.gpuCount).toBe(free.gpuCount)
        },
      ),
      { numRuns: 12 },
    )
    expect(more).toBeGreaterThan(0)
  })

  const point = { sizeGpcs: 1, batchSize: 1, processes: 1, processThroughput: 100, latencyMs: 10 } as const
  const objectives = [{ model: 'a', ratePerS: 650, latencyMs: 100 }]

  it('spreads what fits one board by its slices over as many as their watts need', async () => {
    const profiles = [{ model: 'a', points: [{ ...point, powerW: 40 }] }]
    expect((await planSegments(profiles, objectives)).gpuCount).toBe(1)
    const plan = await planSegments(profiles, objectives, { powerCap: { boardW: 200, idleW: 50 } })
    expect(plan.gpus.map(({ segments }) => segments.length)).toEqual([3, 2, 2])
    expect(plan.power).toEqual({ boardW: 200, idleW: 50, highestW: 170 })
    await expect(
      planSegments(profiles, objectives, { maxGpus: 2, powerCap: { boardW: 200, idleW: 50 } }),
    ).rejects.toMatchObject({ code: 'TOO_FEW_GPUS', message: expect.stringMatching(/needs 3 GPUs and there are 2/) })
  })

  it('holds for plans by the tail, too', async () => {
    const profiles = [{ model: 'a', points: [{ ...point, powerW: 40 }] }]
    const plan = await planForTail(profiles, objectives, { powerCap: { boardW: 200, idleW: 50 } })
    expect(plan.gpus.length).toBeGreaterThan(2)
    for (const gpu of plan.gpus) expect(boardPowerW(gpu, 50)).toBeLessThanOrEqual(200)
  })

  it('says whose power is not measured, and what no board may draw', async () => {
    const cap = (boardW: number, powerW?: number) =>
      planSegments([{ model: 'a', points: [{ ...point, ...(powerW !== undefined && { powerW }) }] }], objectives, {
        powerCap: { boardW, idleW: 50 },
      })
    await expect(cap(200)).rejects.toThrow(/measured power with each point \(a sixth column, Power\)/)
    const tooHungry = [
      {
        model: 'a',
        message: expect.stringMatching(/draws more than a board's power limit leaves above idle; raise the limit/),
      },
    ]
    expect((await cap(100, 60)).unserved).toMatchObject(tooHungry)
    // One that never ran draws nothing, and serves nobody.
    const points = [
      { ...point, powerW: 60 },
      { ...point, processThroughput: 0 },
    ]
    const withFailed = planSegments([{ model: 'a', points }], objectives, { powerCap: { boardW: 100, idleW: 50 } })
    expect((await withFailed).unserved).toMatchObject(tooHungry)
    await expect(cap(50, 10)).rejects.toThrow(/above those of an idle board, 50/)
  })
})

describe('a profile with power', () => {
  it('comes back as it was written', () => {
    const profile = {
      model: 'a',
      points: [
        { sizeGpcs: 1 as const, batchSize: 2, processes: 1, processThroughput: 5, latencyMs: 400, powerW: 12.5 },
      ],
    }
    expect(parseProfileCsv(formatProfileCsv(profile), 'a', 'a.csv')).toEqual(profile)
  })

  it('names a sixth column that is none, and watts that are none', () => {
    const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency'
    expect(() => parseProfileCsv(`${header},Colour\n1,1,1,5,0.2,7\n`, 'a', 'a.csv')).toThrow(/sixth column 'Colour'/)
    expect(() => parseProfileCsv(`${header},Power\n1,1,1,5,0.2,-7\n`, 'a', 'a.csv')).toThrow(/Power.*'-7'/)
    expect(() => parseProfileCsv(`${header},Power\n1,1,1,5,0.2\n`, 'a', 'a.csv')).toThrow(/5 cells/)
  })
})
