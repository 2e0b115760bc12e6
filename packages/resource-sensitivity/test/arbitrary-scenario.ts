import fc from 'fast-check'
import type { Cluster, Job, JobProfile } from '../src/index.js'

const level = (least: number, most: number) => fc.double({ min: least, max: most, noNaN: true })

/** A table that never falls with more cores or memory. */
const profile = (model: string): fc.Arbitrary<JobProfile> =>
  fc
    .record({
      perCpu: fc.array(level(0.02, 0.6), { minLength: 8, maxLength: 8 }),
      perMemory: fc.array(level(0, 0.3), { minLength: 4, maxLength: 4 }),
      iterationS: level(0.05, 2),
      demandAt: fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 3 })),
      spreadPenalty: fc.constantFrom(1, 1.3),
    })
    .map(({ perCpu, perMemory, iterationS, demandAt: [cpuAt, memoryAt], spreadPenalty }) => {
      const cpusPerGpu = [1, 2, 3, 4, 6, 8, 12, 24]
      const memoryGbPerGpu = [10, 60, 120, 250]
      const up = (steps: readonly number[], to: number) => steps.slice(0, to + 1).reduce((sum, step) => sum + step, 0)
      return {
        model,
        modelClass: 'image' as const,
        cpusPerGpu,
        memoryGbPerGpu,
        throughput: cpusPerGpu.map((_, i) => memoryGbPerGpu.map((_, j) => up(perCpu, i) + up(perMemory, j))),
        iterationS,
        demand: { cpus: cpusPerGpu[cpuAt]!, memoryGb: memoryGbPerGpu[memoryAt]! },
        speedupAtDemand: 1,
        spreadPenalty,
      }
    })

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
    profiles: fc.tuple(profile('a'), profile('b'), profile('c')),
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
