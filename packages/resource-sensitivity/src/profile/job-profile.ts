import { InvalidInputError } from '@pctodl/platform'
import { assertAtLeast, assertPositive } from '../errors.js'

/** Model classes mixed by a generated trace; they differ in their demand for CPU and memory. */
export const modelClasses = ['image', 'language', 'speech'] as const
export type ModelClass = (typeof modelClasses)[number]

export interface PerGpuShare {
  readonly cpus: number
  readonly memoryGb: number
}

/**
 * Scheduler's view of a model: throughput on one GPU as a function of its CPU cores and memory.
 *
 * `throughput[i][j]` belongs to `cpusPerGpu[i]` and `memoryGbPerGpu[j]`. It is relative: at 1, an iteration takes
 * `iterationS` seconds.
 */
export interface JobProfile {
  readonly model: string
  readonly modelClass: ModelClass | null
  /** Ascending, cores per GPU. */
  readonly cpusPerGpu: readonly number[]
  /** Ascending, GB per GPU; may start at 0. */
  readonly memoryGbPerGpu: readonly number[]
  readonly throughput: readonly (readonly number[])[]
  /** Seconds per iteration at throughput 1. */
  readonly iterationS: number
  /** Allocation at which the model runs at (nearly) full speed. */
  readonly demand: PerGpuShare
  /** Speedup of `demand` over the GPU-proportional share: the only number the Python code's simulator uses. */
  readonly speedupAtDemand: number
  /** Slowdown factor of a job on several servers; 1 = none. */
  readonly spreadPenalty: number
  /** Behaviour on GPU types under power limits; required if the cluster names GPU types. */
  readonly gpus?: readonly GpuPoint[]
}

/** Behaviour of a model on one GPU type under one power limit. */
export interface GpuPoint {
  readonly gpuType: string
  /** Power limit of the GPU, W. */
  readonly powerLimitW: number
  /** Like the profile's `throughput`, with the same base. */
  readonly throughput: readonly (readonly number[])[]
  /** Power of each GPU above idle, W: the maximum over all shares of cores and memory. */
  readonly dynamicPowerW: number
}

/** @throws InvalidInputError naming the invalid field */
export function assertJobProfile(profile: JobProfile): void {
  const { model, cpusPerGpu, memoryGbPerGpu, gpus = [] } = profile
  assertAxis(`${model}.cpusPerGpu`, cpusPerGpu)
  assertAxis(`${model}.memoryGbPerGpu`, memoryGbPerGpu, true)
  assertTable(`${model}.throughput`, profile.throughput, profile)
  gpus.forEach(({ powerLimitW, throughput, dynamicPowerW }, i) => {
    assertPositive(`${model}.gpus[${i}].powerLimitW`, powerLimitW)
    assertPositive(`${model}.gpus[${i}].dynamicPowerW`, dynamicPowerW)
    assertTable(`${model}.gpus[${i}].throughput`, throughput, profile)
  })
  assertPositive(`${model}.iterationS`, profile.iterationS)
  assertPositive(`${model}.demand.cpus`, profile.demand.cpus)
  assertAtLeast(`${model}.demand.memoryGb`, profile.demand.memoryGb)
  assertPositive(`${model}.speedupAtDemand`, profile.speedupAtDemand)
  assertAtLeast(`${model}.spreadPenalty`, profile.spreadPenalty, 1)
}

function assertTable(
  field: string,
  table: readonly (readonly number[])[],
  { cpusPerGpu, memoryGbPerGpu }: JobProfile,
): void {
  if (table.length !== cpusPerGpu.length || table.some((row) => row.length !== memoryGbPerGpu.length)) {
    const expected = `${cpusPerGpu.length} rows (one for each CPU count) of ${memoryGbPerGpu.length} (one for each memory size)`
    throw new InvalidInputError(field, `${table.length} rows of ${table.map((row) => row.length).join(', ')}`, expected)
  }
  const wrong = table.flat().find((value) => !(value > 0 && Number.isFinite(value)))
  if (wrong !== undefined) throw new InvalidInputError(field, wrong, 'positive numbers')
}

function assertAxis(field: string, values: readonly number[], fromZero = false): void {
  const least = fromZero ? -Number.MIN_VALUE : 0
  const ascending = values.every((value, i) => value > (i === 0 ? least : values[i - 1]!) && Number.isFinite(value))
  if (values.length === 0 || !ascending) {
    throw new InvalidInputError(field, values.join(', '), 'positive numbers in ascending order, at least one')
  }
}

/**
 * Returns the relative throughput for any share, bilinear between the points of the table. Above the table it is
 * constant. Below the table it is proportional to the share, which is a lower bound: with a tenth of the cores, a job
 * reaches at least a tenth.
 */
export function throughputAt(profile: JobProfile, cpus: number, memoryGb: number): number {
  return tableAt(profile, profile.throughput, cpus, memoryGb)
}

/** As `throughputAt`, for another table on the axes of a profile. */
export function tableAt(
  profile: Pick<JobProfile, 'cpusPerGpu' | 'memoryGbPerGpu'>,
  table: readonly (readonly number[])[],
  cpus: number,
  memoryGb: number,
): number {
  const cpu = locate(profile.cpusPerGpu, cpus)
  const memory = locate(profile.memoryGbPerGpu, memoryGb)
  const low = table[cpu.index]!
  const high = table[cpu.next]!
  const atLow = low[memory.index]! + (low[memory.next]! - low[memory.index]!) * memory.part
  const atHigh = high[memory.index]! + (high[memory.next]! - high[memory.index]!) * memory.part
  return (atLow + (atHigh - atLow) * cpu.part) * cpu.factor * memory.factor
}

function locate(axis: readonly number[], value: number) {
  const last = axis.length - 1
  if (value >= axis[last]!) return { index: last, next: last, part: 0, factor: 1 }
  if (value <= axis[0]!) return { index: 0, next: 0, part: 0, factor: axis[0] === 0 ? 1 : value / axis[0]! }
  let index = 0
  while (axis[index + 1]! <= value) index++
  return { index, next: index + 1, part: (value - axis[index]!) / (axis[index + 1]! - axis[index]!), factor: 1 }
}

const cpuCounts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24]
/** GPU-proportional share at which the throughput is 1. */
const fair = { cpus: 3, memoryGb: 62.5 }
const cachedParts = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]

/**
 * A model whose pipeline stages overlap: the slowest of GPU, CPU cores and storage sets the pace, and a cache that holds
 * a fixed fraction of the data set saves that fraction of the storage reads.
 */
function modelled(
  model: string,
  modelClass: ModelClass,
  gpuRate: number,
  ratePerCpu: number,
  batch: number,
  datasetGb: number,
  sampleKb: number,
  storageMBps: number,
  residentGb: number,
): JobProfile {
  const rate = (cpus: number, memoryGb: number) => {
    const missing = 1 - Math.min(1, Math.max(0, memoryGb - residentGb) / datasetGb)
    return Math.min(
      gpuRate,
      ratePerCpu * cpus,
      missing === 0 ? Number.POSITIVE_INFINITY : (storageMBps * 1024) / (sampleKb * missing),
    )
  }
  const memoryGbPerGpu = [
    ...new Set([...cachedParts.map((part) => residentGb + part * datasetGb), fair.memoryGb]),
  ].sort((a, b) => a - b)
  const base = rate(fair.cpus, fair.memoryGb)
  const best = Math.min(gpuRate, ratePerCpu * cpuCounts.at(-1)!)
  const [cpus, memoryGb] = cpuCounts
    .flatMap((c) => memoryGbPerGpu.map((m) => [c, m] as const))
    .find(([c, m]) => rate(c, m) >= 0.9 * best)!
  return {
    ...{ model, modelClass, cpusPerGpu: cpuCounts, memoryGbPerGpu },
    throughput: cpuCounts.map((c) => memoryGbPerGpu.map((m) => rate(c, m) / base)),
    iterationS: batch / base,
    demand: { cpus, memoryGb },
    speedupAtDemand: rate(cpus, memoryGb) / base,
    spreadPenalty: 1,
  }
}

/**
 * Six invented models of the three classes, to try the scheduler with. Their demands resemble image, language and
 * speech jobs but are not measured. Profile your own jobs for real use.
 */
export const exampleProfiles: readonly JobProfile[] = [
  // Samples/s of the GPU and of a core, batch, GB of data, KB of a sample, MB/s of storage per GPU, GB of the process.
  modelled('image-small', 'image', 2400, 250, 512, 120, 100, 60, 8),
  modelled('image-large', 'image', 900, 250, 256, 120, 100, 60, 8),
  modelled('image-detection', 'image', 60, 9, 32, 45, 200, 60, 10),
  modelled('language-translation', 'language', 400, 5000, 128, 8, 2, 60, 6),
  modelled('language-large', 'language', 90, 3000, 32, 16, 4, 60, 12),
  modelled('speech', 'speech', 110, 24, 64, 180, 900, 60, 6),
]
