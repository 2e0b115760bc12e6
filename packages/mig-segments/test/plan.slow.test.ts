import { InvalidInputError, placementConflict } from '@pctodl/platform'
import { planAsPublished } from '@pctodl/published/segments'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { type BoundedPlan, planSegments, type ServiceProfile } from '../src/index.js'
import { arbitraryServices, type Services } from './arbitrary-services.js'
import { dataSets, outcomes, publishedData, randomScenarios } from './published-data.js'

function assertSound(plan: BoundedPlan, { objectives }: Services): void {
  for (const { segments } of plan.gpus) {
    expect(placementConflict(segments)).toBeNull()
    expect(segments.length).toBeGreaterThan(0)
  }
  for (const { capacity, ratePerS } of plan.served) expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
  const named = [...plan.served, ...plan.unserved].map(({ model }) => model).sort()
  expect(named).toEqual(objectives.map(({ model }) => model).sort())
  expect(plan.gpuCount).toBeGreaterThanOrEqual(plan.lowerBoundGpus)
  expect(plan.gpcCount).toBeGreaterThanOrEqual(plan.lowerBoundGpcs)
  expect(plan.gpus).toHaveLength(plan.gpuCount)
}

describe('a plan', () => {
  it('covers every rate with legal instances and names whom it cannot serve', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryServices, async (services) => {
        assertSound(await planSegments(services.profiles, services.objectives), services)
      }),
      { numRuns: 30 },
    )
  })

  it('does not depend on the order of profiles and objectives, nor on the run', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryServices, async ({ profiles, objectives }) => {
        const plan = await planSegments(profiles, objectives)
        expect(await planSegments(profiles, objectives)).toEqual(plan)
        expect(await planSegments([...profiles].reverse(), [...objectives].reverse())).toEqual(plan)
      }),
      { numRuns: 10 },
    )
  })

  it('needs no more GPUs, by its bound, for lower rates', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryServices, async ({ profiles, objectives }) => {
        const lower = objectives.map((objective) => ({ ...objective, ratePerS: objective.ratePerS / 2 }))
        const [few, many] = [await planSegments(profiles, lower), await planSegments(profiles, objectives)]
        expect(few.lowerBoundGpus).toBeLessThanOrEqual(many.gpuCount)
      }),
      { numRuns: 10 },
    )
  })

  it('says why a service cannot be served, and plans the others', async () => {
    const point = { sizeGpcs: 1, batchSize: 1, processes: 1, processThroughput: 100, latencyMs: 10 } as const
    const profiles: ServiceProfile[] = [
      { model: 'good', points: [point] },
      { model: 'slow', points: [{ ...point, latencyMs: 500 }] },
      { model: 'broken', points: [{ ...point, processThroughput: 0 }] },
    ]
    const objectives = ['good', 'slow', 'broken', 'unknown'].map((model) => ({ model, ratePerS: 50, latencyMs: 100 }))
    const plan = await planSegments(profiles, objectives)
    expect(plan.served.map(({ model }) => model)).toEqual(['good'])
    expect(Object.fromEntries(plan.unserved.map(({ model, reason }) => [model, reason]))).toEqual({
      slow: 'latency',
      broken: 'never-ran',
      unknown: 'no-profile',
    })
    const slow = plan.unserved.find(({ model }) => model === 'slow')!
    expect(slow.message).toMatch(/in time for 100 ms; its fastest batch takes 500.0 ms .*; 11[1-3]\d ms could be kept/)
    const relaxed = await planSegments(profiles, [{ model: 'slow', ratePerS: 50, latencyMs: 1112 }])
    expect(relaxed.unserved).toEqual([])
  })

  it('refuses what no plan could use', async () => {
    const profiles: ServiceProfile[] = [
      {
        model: 'a',
        points: [{ sizeGpcs: 7, batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 1 }],
      },
    ]
    const objective = { model: 'a', ratePerS: 25, latencyMs: 10 }
    await expect(planSegments(profiles, [objective, objective])).rejects.toThrow(InvalidInputError)
    await expect(planSegments([...profiles, ...profiles], [objective])).rejects.toThrow(InvalidInputError)
    await expect(planSegments(profiles, [{ ...objective, ratePerS: 0 }])).rejects.toThrow(/ratePerS/)
    await expect(planSegments(profiles, [{ ...objective, ratePerS: 1e300 }])).rejects.toThrow(
      /that 100000 boards can serve/,
    )
    await expect(planSegments(profiles, [{ ...objective, latencyMs: Number.NaN }])).rejects.toThrow(/latencyMs/)
    await expect(planSegments(profiles, [objective], { latencyShare: 2 })).rejects.toThrow(/latencyShare/)
    await expect(planSegments(profiles, [objective], { maxGpus: 0 })).rejects.toThrow(/maxGpus/)
    await expect(planSegments(profiles, [objective], { maxIterations: 0 })).rejects.toThrow(/maxIterations/)
    await expect(planSegments(profiles, [objective], { maxGpus: 2 })).rejects.toMatchObject({
      code: 'TOO_FEW_GPUS',
      message: expect.stringMatching(/needs 3 GPUs and there are 2 \(no plan needs fewer than 3\)/),
    })
    expect((await planSegments(profiles, [])).gpuCount).toBe(0)
  })

  it('plans hundreds of services, each on its own, at the bound', async () => {
    const profiles: ServiceProfile[] = Array.from({ length: cases(300, 100) }, (_, i) => ({
      model: `m${String(i).padStart(4, '0')}`,
      points: ([1, 2, 3, 4, 7] as const).map((sizeGpcs) => ({
        sizeGpcs,
        batchSize: 4,
        processes: 1,
        processThroughput: 100 * sizeGpcs ** (0.8 + (i % 7) / 20),
        latencyMs: 10,
      })),
    }))
    const objectives = profiles.map(({ model }, i) => ({ model, ratePerS: 50 + (i % 13) * 60, latencyMs: 100 }))
    const plan = await planSegments(profiles, objectives, { maxIterations: 3000 })
    assertSound(plan, { profiles, objectives })
    expect([plan.gpuCount, plan.lowerBoundGpus]).toEqual([cases(194, 64), cases(194, 64)])
  })
})

describe('on the published profiles, a plan', () => {
  it.each(dataSets)('of every published row of %s is at the optimum, in GPUs and compute slices', async (set) => {
    const { profiles, scenarios } = publishedData(set)
    for (const [k, objectives] of scenarios.entries()) {
      const plan = await planSegments(profiles, objectives)
      assertSound(plan, { profiles, objectives: [...objectives] })
      expect(plan.gpuCount, `row ${k + 1}`).toBe(plan.lowerBoundGpus)
      expect(plan.gpcCount, `row ${k + 1}`).toBe(plan.lowerBoundGpcs)
      const known = outcomes(set)[`SLO${k + 1}`]
      if (!known) continue
      expect(plan.gpuCount).toBe(known.optimum.gpus)
      expect(plan.gpcCount).toBe(known.optimum.min_gpcs_at_that_count)
      expect(plan.unserved.map(({ model }) => model)).toEqual(known.infeasible)
    }
  })

  it.each(dataSets)('of random rows of %s keeps the goals and is never above the published one', async (set) => {
    const data = publishedData(set)
    const gaps: number[] = []
    for (const objectives of randomScenarios(data, cases(100, 5), 7)) {
      const plan = await planSegments(data.profiles, objectives)
      assertSound(plan, { profiles: data.profiles, objectives })
      const published = planAsPublished(data.profiles, objectives)
      if (published.underServed.length === 0) expect(plan.gpuCount).toBeLessThanOrEqual(published.gpuCount)
      gaps.push(plan.gpuCount / Math.max(1, plan.lowerBoundGpus) - 1)
    }
    expect(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length).toBeLessThanOrEqual(0.005)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(0.03)
  })

  it('of a thousand times the largest row is at the bound', async () => {
    const { profiles, scenarios } = publishedData('sc24')
    const large = scenarios[5]!.map((objective) => ({ ...objective, ratePerS: 1000 * objective.ratePerS }))
    const plan = await planSegments(profiles, large)
    assertSound(plan, { profiles, objectives: large })
    expect(plan.lowerBoundGpus).toBe(14_675)
    expect(plan.gpuCount).toBeLessThanOrEqual(14_675 * 1.001)
  })
})
