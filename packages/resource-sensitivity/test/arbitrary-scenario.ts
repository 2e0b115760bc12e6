import fc from 'fast-check'
import type { Cluster, Job } from '../src/index.js'
import type { JobProfile } from '../src/job-profile.js'
import { arbitraryProfile } from './arbitrary-profile.js'

const level = (least: number, most: number) => fc.double({ min: least, max: most, noNaN: true })

const serverKind = fc.record({
  count: fc.integer({ min: 1, max: 3 }),
  gpus: fc.constantFrom(2, 4, 8),
  cpus: fc.integer({ min: 8, max: 64 }),
  memoryGb: level(100, 1000),
  storageMBps: fc.constant(500),
})

export interface ArbitraryScenario {
  readonly cluster: Cluster
  readonly profiles: readonly JobProfile[]
  readonly jobs: readonly Job[]
}

/** Unequal servers, three models, jobs of one GPU up to (nearly) the whole cluster. */
export const scenario: fc.Arbitrary<ArbitraryScenario> = fc
  .record({
    kinds: fc.array(serverKind, { minLength: 1, maxLength: 3 }),
    profiles: fc.tuple(arbitraryProfile('a'), arbitraryProfile('b'), arbitraryProfile('c')),
    jobs: fc.array(
      fc.record({
        model: fc.constantFrom('a', 'b', 'c'),
        arrivalS: level(0, 5000),
        iterations: fc.integer({ min: 1, max: 5000 }),
        gpus: fc.constantFrom(1, 1, 1, 2, 3, 4, 8, 12),
      }),
      { minLength: 1, maxLength: 25 },
    ),
  })
  .map(({ kinds, profiles, jobs }) => {
    const gpus = kinds.reduce((sum, kind) => sum + kind.count * kind.gpus, 0)
    return {
      cluster: { servers: kinds },
      profiles,
      jobs: jobs.map((job, id) => ({ ...job, id, gpus: Math.min(job.gpus, gpus) })),
    }
  })
