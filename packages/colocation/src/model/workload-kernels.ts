import { kinOf, type Workload } from '../workload.js'
import { scalingOf, standardize } from './standardize.js'

/**
 * Six similarities of two workloads: over all features at short distance, at long distance and linearly; by the size of
 * their kernels; by the same network and mode (`kin`); by identity. `kin` and `identity` represent properties that no
 * metric shows, such as a wrong solo baseline: learnt for known workloads, uncertainty for others.
 */
export const workloadKernelNames = ['rough', 'smooth', 'linear', 'size', 'kin', 'identity'] as const
export type WorkloadKernelName = (typeof workloadKernelNames)[number]

/** Length scale of the `rough` kernel, in standard deviations of a feature. */
const ROUGH_LENGTH = 0.5
/** Length scale of the `smooth` kernel. */
const SMOOTH_LENGTH = 2
/** Length scale of the `size` kernel. */
const SIZE_LENGTH = 1

/** Number of leading features that describe kernel sizes. */
const SIZES = 3

/** Index of the feature used by the size kernel only; it did not improve the other kernels. */
const SHARED_MEMORY = 0

/** Feature vector: rates and sizes as logarithms, percentages as fractions. */
export function featuresOf(workload: Workload): number[] {
  return [
    Math.log(workload.staticSharedMemory + 1),
    Math.log(workload.threads + 1),
    Math.log(workload.registers + 1),
    workload.smThroughputPercent / 100,
    workload.dramThroughputPercent / 100,
    workload.memoryThroughputPercent / 100,
    Math.log(workload.exclusiveThroughput),
    workload.smUtilPercent / 100,
    workload.memUtilPercent / 100,
    Math.log(workload.memoryGib + 0.1),
    Math.log(workload.exclusiveThroughput / workload.batchSize),
    workload.training ? 1 : 0,
  ]
}

/** A workload as input of the kernels. */
export interface KernelPoint {
  readonly name: string
  readonly kin: string
  readonly features: Float64Array
}

/** Points of workloads, scaled by those of the training set only. */
export function pointsScaledBy(trained: readonly Workload[]): (workload: Workload) => KernelPoint {
  const scaling = scalingOf(trained.map(featuresOf))
  return (workload) => ({
    name: workload.name,
    kin: kinOf(workload.name),
    features: standardize(featuresOf(workload), scaling),
  })
}

/** Write the similarities of two workloads to `out` from `offset`, in the order of `workloadKernelNames`. */
export function writeKernels(a: KernelPoint, b: KernelPoint, out: Float64Array, offset: number): void {
  const used = a.features.length - 1
  let squares = 0
  let sizeSquares = 0
  let products = 0
  for (let j = 0; j < a.features.length; j++) {
    const square = (a.features[j]! - b.features[j]!) ** 2
    if (j < SIZES) sizeSquares += square
    if (j === SHARED_MEMORY) continue
    squares += square
    products += a.features[j]! * b.features[j]!
  }
  const distance = Math.sqrt(squares / used)
  out[offset] = matern(distance / ROUGH_LENGTH)
  out[offset + 1] = matern(distance / SMOOTH_LENGTH)
  out[offset + 2] = products / used
  out[offset + 3] = matern(Math.sqrt(sizeSquares / SIZES) / SIZE_LENGTH)
  out[offset + 4] = a.kin === b.kin ? 1 : 0
  out[offset + 5] = a.name === b.name ? 1 : 0
}

/** Matern kernel with smoothness 3/2. */
export function matern(distance: number): number {
  const scaled = Math.sqrt(3) * distance
  return (1 + scaled) * Math.exp(-scaled)
}
