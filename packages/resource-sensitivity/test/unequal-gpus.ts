import { SeededRandom } from '@pctodl/numerics'
import type { Cluster, Job } from '../src/index.js'
import { exampleProfiles, type JobProfile } from '../src/job-profile.js'
import type { GpuPoint } from '../src/profile/job-profile.js'

/** Two types of GPUs; four of the fast one, six of the thrifty one. */
export const cluster: Cluster = {
  servers: [
    { count: 1, gpus: 4, cpus: 24, memoryGb: 400, storageMBps: 500, gpuType: 'fast', idlePowerW: 50 },
    { count: 2, gpus: 3, cpus: 12, memoryGb: 200, storageMBps: 500, gpuType: 'thrifty', idlePowerW: 15 },
  ],
}

const limitsOf = { fast: [150, 250, 400], thrifty: [70, 100, 150] } as const

/**
 * A model whose throughput rises with the cube root or so of the watts until its cores cannot feed it.
 *
 * @param speedup of the fast type under its largest limit over the thrifty one
 * @param perCore iterations per second that a core prepares
 */
export function madeUpProfile(model: string, speedup: number, exponent: number, perCore: number): JobProfile {
  const cpusPerGpu = [1, 2, 4]
  const memoryGbPerGpu = [10, 40]
  const gpus = (['fast', 'thrifty'] as const).flatMap((gpuType) => {
    const limits = limitsOf[gpuType]
    const idleW = gpuType === 'fast' ? 50 : 15
    return limits.map((powerLimitW): GpuPoint => {
      const rate = (gpuType === 'fast' ? speedup : 1) * (powerLimitW / limits.at(-1)!) ** exponent
      const throughput = cpusPerGpu.map((cpus) =>
        memoryGbPerGpu.map((gb) => Math.min(rate, perCore * cpus) * (gb > 10 ? 1 : 0.95)),
      )
      const watts = (powerLimitW - idleW) * 0.95
      return {
        ...{ gpuType, powerLimitW, throughput, dynamicPowerW: watts },
      }
    })
  })
  const { throughput } = gpus.at(-1)!
  const demand = { cpus: 4, memoryGb: 40 }
  return { ...exampleProfiles[0]!, ...{ model, cpusPerGpu, memoryGbPerGpu, throughput, demand, iterationS: 1, gpus } }
}

export const profiles: readonly JobProfile[] = [
  madeUpProfile('dense', 5, 0.6, 10),
  madeUpProfile('light', 1.6, 0.25, 10),
  madeUpProfile('hungry', 3, 0.4, 0.5),
]

/** Jobs that come one after the other, some minutes each on the thrifty type. */
export function drawJobs(count: number, meanGapS: number, seed: number): Job[] {
  const random = new SeededRandom(seed)
  let arrivalS = 0
  return Array.from({ length: count }, (_, id) => {
    arrivalS += -meanGapS * Math.log(1 - random.uniform())
    const model = ['dense', 'light', 'hungry'][Math.floor(3 * random.uniform())]!
    const gpus = [1, 1, 1, 2, 3][Math.floor(5 * random.uniform())]!
    return { id, model, gpus, arrivalS, iterations: 100 + 900 * random.uniform() }
  })
}
