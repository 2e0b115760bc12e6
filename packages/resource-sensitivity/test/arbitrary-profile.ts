import fc from 'fast-check'
import type { JobProfile } from '../src/job-profile.js'

const level = (least: number, most: number) => fc.double({ min: least, max: most, noNaN: true })

/** A table that never falls with more cores or memory. */
export const arbitraryProfile = (model: string): fc.Arbitrary<JobProfile> =>
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
