import { SeededRandom } from '@pctodl/numerics'
import type { GpuPoint, GpuProfile, Job, MixedServerKind } from '../src/index.js'

/** Two types of GPUs; four of the fast one, six of the thrifty one. */
export const servers: readonly MixedServerKind[] = [
  { count: 1, gpus: 4, cpus: 24, memoryGb: 400, gpuType: 'fast', idlePowerW: 50 },
  { count: 2, gpus: 3, cpus: 12, memoryGb: 200, gpuType: 'thrifty', idlePowerW: 15 },
]

const limitsOf = { fast: [150, 250, 400], thrifty: [70, 100, 150] } as const

/**
 * A model whose throughput rises with the cube root or so of the watts until its cores cannot feed it.
 *
 * @param speedup of the fast type under its largest limit over the thrifty one
 * @param perCore iterations per second that a core prepares
 */
export function madeUpProfile(model: string, speedup: number, exponent: number, perCore: number): GpuProfile {
  const cpusPerGpu = [1, 2, 4]
  const memoryGbPerGpu = [10, 40]
  const points = (['fast', 'thrifty'] as const).flatMap((gpuType) => {
    const limits = limitsOf[gpuType]
    const top = limits.at(-1)!
    const idleW = gpuType === 'fast' ? 50 : 15
    const point = (powerLimitW: number, sharePercent: 100 | 50): GpuPoint => {
      const part = sharePercent === 100 ? 1 : 0.65
      const rate = part * (gpuType === 'fast' ? speedup : 1) * (powerLimitW / top) ** exponent
      const rates = cpusPerGpu.map((cpus) =>
        memoryGbPerGpu.map((gb) => Math.min(rate, perCore * cpus) * (gb > 10 ? 1 : 0.95)),
      )
      const watts = (powerLimitW - idleW) * (sharePercent === 100 ? 0.95 : 0.5)
      return {
        ...{ gpuType, powerLimitW, sharePercent, iterationsPerS: rates },
        dynamicPowerW: rates.map((row) => row.map((each) => (watts * each) / rate)),
      }
    }
    return [...limits.map((limit) => point(limit, 100)), point(top, 50)]
  })
  return { model, cpusPerGpu, memoryGbPerGpu, points }
}

export const profiles: readonly GpuProfile[] = [
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
