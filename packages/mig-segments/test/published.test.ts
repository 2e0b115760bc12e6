import { placementConflict } from '@pctodl/platform'
import { planAsPublished } from '@pctodl/published/segments'
import { describe, expect, it } from 'vitest'
import type { ServiceProfile } from '../src/index.js'
import { formatDeploymentMap } from '../src/map/deployment-map.js'
import { goldenFile, publishedData } from './published-data.js'

describe('the published algorithm', () => {
  const cases = [
    ['head', 3, 'SLO{}_deploy.csv'],
    ['sc24', 3, 'sc24/SLO{}_deploy_cap3.csv'],
    ['sc24', 5, 'sc24/SLO{}_deploy_cap5.csv'],
    // The authors' own maps were made with up to five processes, whatever their README says.
    ['sc24', 5, 'sc24/SLO{}_published.csv'],
  ] as const

  it.each(cases.flatMap((each) => [1, 2, 3].map((row) => [...each, row] as const)))(
    'makes the golden map of %s with %i processes (%s), row %i',
    (set, maxProcesses, file, row) => {
      const { profiles, scenarios } = publishedData(set, maxProcesses)
      const golden = goldenFile(file.replace('{}', String(row)))
      const raw = planAsPublished(profiles, scenarios[row - 1]!, { starts: 'as-published' })
      expect(formatDeploymentMap(raw.gpus).trim()).toBe(golden.trim())

      // With legal starts, what changes are the GPUs whose published starts overlap, and nothing else.
      const legal = planAsPublished(profiles, scenarios[row - 1]!)
      let illegal = 0
      raw.gpus.forEach((gpu, i) => {
        expect(placementConflict(legal.gpus[i]!.segments)).toBeNull()
        if (placementConflict(gpu.segments) === null) expect(legal.gpus[i]).toEqual(gpu)
        else illegal++
      })
      expect(legal.illegalGpus).toBe(illegal)
    },
  )

  it('makes the public code’s map of a thousand times the largest row', () => {
    const { profiles, scenarios } = publishedData('sc24')
    const large = scenarios[5]!.map((objective) => ({ ...objective, ratePerS: 1000 * objective.ratePerS }))
    expect(planAsPublished(profiles, large).gpuCount).toBe(14_942)
  })
})

describe('of points that answer as much, the published algorithm', () => {
  it('takes the one with the smaller batch, then with fewer processes, in whatever order they are listed', () => {
    const at = (batchSize: number, processes: number) =>
      ({ sizeGpcs: 1, batchSize, processes, processThroughput: 96 / processes, latencyMs: 10 }) as const
    const points = [at(16, 1), at(8, 2), at(8, 1)]
    for (const listed of [points, points.toReversed()]) {
      const { gpus } = planAsPublished(
        [{ model: 'net', points: listed }],
        [{ model: 'net', ratePerS: 90, latencyMs: 100 }],
      )
      expect(gpus.flatMap(({ segments }) => segments)).toMatchObject([{ batchSize: 8, processes: 1 }])
    }
  })
})

describe('what the published algorithm loses', () => {
  it('is told', () => {
    // The only 3-GPC service ends alone on a GPU, is dissolved, and has nothing smaller to become.
    const profiles: ServiceProfile[] = [
      {
        model: 'large',
        points: [{ sizeGpcs: 3, batchSize: 8, processes: 1, processThroughput: 100, latencyMs: 10 }],
      },
    ]
    const plan = planAsPublished(profiles, [{ model: 'large', ratePerS: 50, latencyMs: 100 }])
    expect(plan).toMatchObject({ gpuCount: 0, underServed: ['large'] })
    const unoptimized = planAsPublished(profiles, [{ model: 'large', ratePerS: 50, latencyMs: 100 }], {
      optimize: false,
    })
    expect(unoptimized).toMatchObject({ gpuCount: 1, underServed: [] })
  })
})
