import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type FleetPlan,
  fleetOf,
  formatProfileCsv,
  parseProfileCsv,
  planFleet,
  planSegments,
  type ServiceObjective,
  type ServiceProfile,
  throughputOf,
} from '../src/index.js'
import { arbitraryServices, type Services } from './arbitrary-services.js'

const boardPowerW = ({ segments }: FleetPlan['boards'][number], idleW: number) =>
  segments.reduce((sum, { powerW }) => sum + powerW!, idleW)

const capped = (
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  [boardCapW, idleW]: readonly [capW: number, idleW: number],
  options: Parameters<typeof planFleet>[2] & { readonly boards?: number } = {},
) => {
  const { boards, ...how } = options
  const group = { idleW, boardCapW, ...(boards !== undefined && { boards }) }
  return planFleet(fleetOf('A100', profiles, group), objectives, how)
}

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
          const plan = await capped(profiles, objectives, [boardW, 30])
          for (const board of plan.boards) {
            expect(board.powerW).toBeLessThanOrEqual(boardW)
            expect(board.powerW).toBeCloseTo(boardPowerW(board, 30), 9)
          }
          for (const { capacity, ratePerS } of plan.served)
            expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
          expect(plan.served.map(({ model }) => model)).toEqual(free.served.map(({ model }) => model))
          expect(plan.cost).toBeGreaterThanOrEqual(plan.lowerBoundCost)
          if (plan.cost > free.gpuCount) more++
          expect((await capped(profiles, objectives, [1e6, 30])).cost).toBe(free.gpuCount)
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
    const plan = await capped(profiles, objectives, [200, 50])
    expect(plan.boards.map(({ segments }) => segments.length)).toEqual([3, 2, 2])
    expect(plan.boards.map(({ powerW }) => powerW)).toEqual([170, 130, 130])
    await expect(capped(profiles, objectives, [200, 50], { boards: 1 })).rejects.toMatchObject({
      code: 'TOO_FEW_GPUS',
      message: expect.stringMatching(/with 1 A100; add boards or watts/),
    })
  })

  it('holds for plans by the tail, too', async () => {
    const profiles = [{ model: 'a', points: [{ ...point, powerW: 40 }] }]
    const plan = await capped(profiles, objectives, [200, 50], { gate: 'tail', dispatch: 'shared', checkRequests: 0 })
    expect(plan.boards.length).toBeGreaterThan(2)
    for (const board of plan.boards) expect(boardPowerW(board, 50)).toBeLessThanOrEqual(200)
  })

  it('says whose power is not measured, and what no board may draw', async () => {
    const cap = (boardW: number, powerW?: number) =>
      capped([{ model: 'a', points: [{ ...point, ...(powerW !== undefined && { powerW }) }] }], objectives, [
        boardW,
        50,
      ])
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
    expect((await capped([{ model: 'a', points }], objectives, [100, 50])).unserved).toMatchObject(tooHungry)
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
