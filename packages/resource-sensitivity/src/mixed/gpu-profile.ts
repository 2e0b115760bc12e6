import { InvalidInputError } from '@pctodl/platform'

/** Parts of a GPU that a job may have: halves and quarters always fill whole GPUs. */
export const gpuShares = [100, 50, 25] as const
export type GpuShare = (typeof gpuShares)[number]

/** How a model runs on one type of GPU, with a share of it, under a power limit. */
export interface GpuPoint {
  readonly gpuType: string
  /** MPS share, percent. Who has less than 100 runs on one GPU beside others. */
  readonly sharePercent: GpuShare
  /** Of the GPU, W. A GPU has one limit, so all points of a type below 100 % have the same. */
  readonly powerLimitW: number
  /** Iterations per second of each GPU (or part of one), `[cpu][memory]` on the axes of the profile. */
  readonly iterationsPerS: readonly (readonly number[])[]
  /** Drawn above an idle GPU, W of each GPU (or part of one), on the same axes. */
  readonly dynamicPowerW: readonly (readonly number[])[]
}

/** What is known of a model on several types of GPUs: throughput and watts over type, share, limit, CPU and memory. */
export interface GpuProfile {
  readonly model: string
  /** Ascending, cores for each GPU of the job. */
  readonly cpusPerGpu: readonly number[]
  /** Ascending, GB for each GPU of the job. */
  readonly memoryGbPerGpu: readonly number[]
  readonly points: readonly GpuPoint[]
}

/** One way to run a model on a type of GPU. */
export interface GpuOption {
  readonly sharePercent: GpuShare
  readonly powerLimitW: number
  readonly cpus: number
  readonly memoryGb: number
  readonly iterationsPerS: number
  readonly dynamicPowerW: number
}

/** @throws InvalidInputError naming the field */
export function assertGpuProfile({ model, cpusPerGpu, memoryGbPerGpu, points }: GpuProfile): void {
  for (const [field, axis] of [
    ['cpusPerGpu', cpusPerGpu],
    ['memoryGbPerGpu', memoryGbPerGpu],
  ] as const) {
    const ascends = axis.every((value, i) => Number.isFinite(value) && value >= 0 && (i === 0 || value > axis[i - 1]!))
    if (axis.length === 0 || !ascends) {
      throw new InvalidInputError(
        `${model}.${field}`,
        axis.join(', ') || 'none',
        'numbers of at least 0 in ascending order',
      )
    }
  }
  if (points.length === 0) throw new InvalidInputError(`${model}.points`, 'none', 'at least one')
  const sharedLimits = new Map<string, number>()
  points.forEach(({ gpuType, sharePercent, powerLimitW, iterationsPerS, dynamicPowerW }, i) => {
    const field = `${model}.points[${i}]`
    if (!gpuShares.includes(sharePercent)) {
      throw new InvalidInputError(`${field}.sharePercent`, sharePercent, `one of ${gpuShares.join(', ')}`)
    }
    if (!(powerLimitW > 0 && Number.isFinite(powerLimitW))) {
      throw new InvalidInputError(`${field}.powerLimitW`, powerLimitW, 'a positive number of watts')
    }
    const limit = sharedLimits.get(gpuType) ?? powerLimitW
    if (sharePercent < 100 && limit !== powerLimitW) {
      throw new InvalidInputError(
        `${field}.powerLimitW`,
        powerLimitW,
        `${limit}, as the other shares of a ${gpuType} have`,
      )
    }
    if (sharePercent < 100) sharedLimits.set(gpuType, powerLimitW)
    for (const [name, table, least] of [
      ['iterationsPerS', iterationsPerS, Number.MIN_VALUE],
      ['dynamicPowerW', dynamicPowerW, 0],
    ] as const) {
      const isTable = table.length === cpusPerGpu.length && table.every((row) => row.length === memoryGbPerGpu.length)
      if (!isTable) {
        const shape = `${cpusPerGpu.length} rows of ${memoryGbPerGpu.length}`
        throw new InvalidInputError(`${field}.${name}`, `${table.length} rows`, `${shape}: CPU counts by memory sizes`)
      }
      const wrong = table.flat().find((value) => !(value >= least && Number.isFinite(value)))
      if (wrong !== undefined)
        throw new InvalidInputError(`${field}.${name}`, wrong, 'positive numbers (watts may be 0)')
    }
  })
}

/**
 * Jobs of several models meet on one GPU, which has one limit.
 *
 * @throws InvalidInputError where the shares below 100 % of two models have different limits on a type of GPU
 */
export function assertOneSharedLimit(profiles: readonly GpuProfile[]): void {
  const limits = new Map<string, { readonly powerLimitW: number; readonly of: string }>()
  for (const { model, points } of profiles) {
    points.forEach(({ gpuType, sharePercent, powerLimitW }, i) => {
      if (sharePercent === 100) return
      const known = limits.get(gpuType)
      if (known === undefined) limits.set(gpuType, { powerLimitW, of: model })
      else if (known.powerLimitW !== powerLimitW) {
        const remedy = `${known.powerLimitW}, as the shares of ${known.of} have, which may run on the same ${gpuType}`
        throw new InvalidInputError(`${model}.points[${i}].powerLimitW`, powerLimitW, remedy)
      }
    })
  }
}

/** All ways to run a model on a type of GPU of which none is beaten in throughput, CPU, memory, watts and share at once. */
export function gpuOptions({ cpusPerGpu, memoryGbPerGpu, points }: GpuProfile, gpuType: string): GpuOption[] {
  const all = points
    .filter((point) => point.gpuType === gpuType)
    .flatMap(({ sharePercent, powerLimitW, iterationsPerS, dynamicPowerW }) =>
      cpusPerGpu.flatMap((cpus, i) =>
        memoryGbPerGpu.map(
          (memoryGb, j): GpuOption => ({
            ...{ sharePercent, powerLimitW, cpus, memoryGb },
            iterationsPerS: iterationsPerS[i]![j]!,
            dynamicPowerW: dynamicPowerW[i]![j]!,
          }),
        ),
      ),
    )
  return all.filter((option, i) => !all.some((other, k) => k !== i && beats(other, option, k < i)))
}

function beats(a: GpuOption, b: GpuOption, first: boolean): boolean {
  const differences = [
    b.cpus - a.cpus,
    b.memoryGb - a.memoryGb,
    b.dynamicPowerW - a.dynamicPowerW,
    b.sharePercent - a.sharePercent,
    a.iterationsPerS - b.iterationsPerS,
  ]
  return differences.every((d) => d >= 0) && (first || differences.some((d) => d > 0))
}
