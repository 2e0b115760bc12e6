import { InvalidInputError } from '@pctodl/platform'
import { assertAtLeast, assertPositive } from '../checks.js'

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
    throw new InvalidInputError(
      field,
      `${table.length} rows of ${table.map((row) => row.length).join(', ')}`,
      `${cpusPerGpu.length} rows (one for each CPU count) of ${memoryGbPerGpu.length} (one for each memory size)`,
    )
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

/** Same for another table on the axes of a profile. */
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
