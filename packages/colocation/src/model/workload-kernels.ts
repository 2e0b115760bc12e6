import { kinOf, type Workload } from '../workload.js'
import { type Scaling, scalingOf, standardize } from './standardize.js'

/**
 * How alike two workloads are, in six ways: by all features, over short and over long distances, and linearly; by the size of
 * their kernels; by being one network in one mode, whatever the batch size; and by being the same. `kin` and `identity` stand
 * for what no metric tells (a solo baseline that was measured badly, for one): they are learnt where a network or a workload
 * was seen and are uncertainty where it was not.
 */
export const workloadKernelNames = ['rough', 'smooth', 'linear', 'size', 'kin', 'identity'] as const
export type WorkloadKernelName = (typeof workloadKernelNames)[number]

/** Length scales of the Matern kernels, in standard deviations of a feature. */
const ROUGH_LENGTH = 0.5
const SMOOTH_LENGTH = 2
const SIZE_LENGTH = 1

/** How many features, the first ones, are sizes of kernels. */
const SIZES = 3

/** The one feature that only the size kernel uses: over all features it was no help. */
const SHARED_MEMORY = 0

/** Rates and sizes by their logarithm, percentages as parts of one. */
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

/** A workload as the kernels see it. */
export interface KernelPoint {
  readonly name: string
  readonly kin: string
  readonly features: Float64Array
}

/** Scales features by the workloads that a model was trained with, and by nothing else. */
export class WorkloadScaling {
  readonly #scaling: Scaling

  constructor(trained: readonly Workload[]) {
    this.#scaling = scalingOf(trained.map(featuresOf))
  }

  point(workload: Workload): KernelPoint {
    return {
      name: workload.name,
      kin: kinOf(workload.name),
      features: standardize(featuresOf(workload), this.#scaling),
    }
  }
}

/** The similarities of two workloads, written to `out` from `offset`, in the order of `workloadKernelNames`. */
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

/** Matern kernel of smoothness 3/2. */
export function matern(distance: number): number {
  const scaled = Math.sqrt(3) * distance
  return (1 + scaled) * Math.exp(-scaled)
}
