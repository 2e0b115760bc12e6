import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planSegments } from '../src/index.js'
import { formatDeploymentMap, parseDeploymentMap } from '../src/map/deployment-map.js'
import { explainBounds, explainPlan } from '../src/output/explain.js'
import { arbitraryServices } from './arbitrary-services.js'

describe('the map of a plan', () => {
  it('comes back as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryServices,
        fc.integer({ min: 1, max: 9 }),
        async ({ profiles, objectives }, gpusPerNode) => {
          const plan = await planSegments(profiles, objectives)
          const text = formatDeploymentMap(plan.gpus, gpusPerNode)
          const read = parseDeploymentMap(text, 'map.csv', gpusPerNode)
          expect(read).toEqual(
            plan.gpus.map(({ index, segments }) => ({
              index,
              segments: segments.map(({ model, sizeGpcs, start, batchSize, processes }) => ({
                ...{ model, sizeGpcs, start, batchSize, processes },
              })),
            })),
          )
        },
      ),
      { numRuns: 20 },
    )
  })
})

describe('the explanation', () => {
  it('names choices, shares and bounds', async () => {
    const profiles = [
      {
        model: 'net',
        points: [{ sizeGpcs: 1 as const, batchSize: 64, processes: 1, processThroughput: 100, latencyMs: 640 }],
      },
    ]
    const objectives = [{ model: 'net', ratePerS: 40, latencyMs: 2000 }]
    const text = explainPlan(await planSegments(profiles, objectives), profiles)
    expect(text).toContain('net: 40 requests/s within 2000 ms, so a batch must take less than 900 ms')
    expect(text).toContain('1 GPC: at best batch 64 x 1, 100 items/s (100 per GPC), 640 ms')
    expect(text).toContain('2 GPC: nothing profiled keeps that')
    expect(text).toContain('takes 1 x 1 GPC: 100 items/s, 40 % used')
    expect(text).toContain('1 GPU (no plan has fewer), 1 of 7 compute slices (the fewest on so many GPUs)')
  })

  it('says how much is not proved away, of GPUs and of compute slices', () => {
    const nothing = { gpus: [], served: [], unserved: [] }
    expect(explainBounds({ ...nothing, gpuCount: 24, gpcCount: 160, lowerBoundGpus: 23, lowerBoundGpcs: 150 })).toBe(
      '24 GPUs (at least 23 are needed; a gap of 4.3 % is not proved away), 160 of 168 compute slices ' +
        '(at least 150 are needed; a gap of 6.7 % is not proved away)',
    )
    const proved = { ...nothing, gpuCount: 1, gpcCount: 7, lowerBoundGpus: 1, lowerBoundGpcs: 7 }
    expect(explainBounds({ ...proved, power: { boardW: 300, idleW: 50, highestW: 240.4 } })).toBe(
      '1 GPU (no plan has fewer), 7 of 7 compute slices (the fewest on so many GPUs); at most 240 W a GPU of 300 W',
    )
  })
})
