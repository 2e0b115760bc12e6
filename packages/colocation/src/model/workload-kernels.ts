import { mean } from '@pctodl/numerics'
import { kinOf, type Workload } from '../workload.js'
import { scalingOf, standardize } from './standardize.js'

/**
 * Similarities of two workloads: over all features at short distance (`rough`), at long distance (`smooth`) and
 * linearly; by the same network and mode (`kin`); by the same workload (`identity`); and, within a network and mode,
 * linearly in the logarithm of the throughput alone (`pace`). The last three represent properties that no metric shows,
 * such as a wrong solo baseline. The model learns these for known workloads and treats them as uncertain for others.
 */
export const workloadKernelNames = ['rough', 'smooth', 'linear', 'kin', 'identity', 'pace'] as const
export type WorkloadKernelName = (typeof workloadKernelNames)[number]

/** Length scale of the `rough` kernel, in standard deviations of a feature. */
const ROUGH_LENGTH = 0.5
/** Length scale of the `smooth` kernel. */
const SMOOTH_LENGTH = 2

/** Returns the feature vector of a workload: rates and sizes as logarithms, percentages as fractions. */
export function featuresOf(workload: Workload): number[] {
  return [
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
  /** Logarithm of its throughput alone over the geometric mean of its known kin; 0 without any. */
  readonly pace: number
}

/** Returns a function from workloads to points. Features are scaled by the training set only. */
export function pointsScaledBy(trained: readonly Workload[]): (workload: Workload) => KernelPoint {
  const scaling = scalingOf(trained.map(featuresOf))
  const paceOf = ({ exclusiveThroughput }: Workload) => Math.log(exclusiveThroughput)
  return (workload) => {
    const kin = kinOf(workload.name)
    const paces = trained.filter(({ name }) => kinOf(name) === kin).map(paceOf)
    const pace = paces.length === 0 ? 0 : paceOf(workload) - mean(paces)
    return { name: workload.name, kin, features: standardize(featuresOf(workload), scaling), pace }
  }
}

/** Write the similarities of two workloads to `out` from `offset`, in the order of `workloadKernelNames`. */
export function writeKernels(a: KernelPoint, b: KernelPoint, out: Float64Array, offset: number): void {
  const used = a.features.length
  let squares = 0
  let products = 0
  for (let j = 0; j < used; j++) {
    squares += (a.features[j]! - b.features[j]!) ** 2
    products += a.features[j]! * b.features[j]!
  }
  const distance = Math.sqrt(squares / used)
  out[offset] = matern(distance / ROUGH_LENGTH)
  out[offset + 1] = matern(distance / SMOOTH_LENGTH)
  out[offset + 2] = products / used
  out[offset + 3] = a.kin === b.kin ? 1 : 0
  out[offset + 4] = a.name === b.name ? 1 : 0
  out[offset + 5] = a.kin === b.kin ? a.pace * b.pace : 0
}

/** Matern kernel with smoothness 3/2. */
export function matern(distance: number): number {
  const scaled = Math.sqrt(3) * distance
  return (1 + scaled) * Math.exp(-scaled)
}
