import { mean } from '@pctodl/numerics'
import { kinOf, type Workload } from '../workload.js'
import { scalingOf, standardize } from './standardize.js'

/** Length scale of the `rough` kernel, in standard deviations of a feature. */
const ROUGH_LENGTH = 0.5
const SMOOTH_LENGTH = 2

export type WorkloadKernelName = 'rough' | 'smooth' | 'linear' | 'kin' | 'identity' | 'pace'

/**
 * Similarities of two workloads. The first three compare all features: at short distance, at long distance and
 * linearly. The last three stand for properties that no metric shows, such as a wrong solo baseline: the same network
 * and mode, the same workload, and, within a network and mode, the logarithm of the throughput alone. The model learns
 * these for known workloads and treats them as uncertain for others.
 */
export const workloadKernels: Readonly<Record<WorkloadKernelName, (a: KernelPoint, b: KernelPoint) => number>> = {
  rough: (a, b) => matern(distance(a.features, b.features) / ROUGH_LENGTH),
  smooth: (a, b) => matern(distance(a.features, b.features) / SMOOTH_LENGTH),
  linear: (a, b) => mean(a.features.map((value, j) => value * b.features[j]!)),
  kin: (a, b) => (a.kin === b.kin ? 1 : 0),
  identity: (a, b) => (a.name === b.name ? 1 : 0),
  pace: (a, b) => (a.kin === b.kin ? a.pace * b.pace : 0),
}

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

export interface KernelPoint {
  readonly name: string
  readonly kin: string
  readonly features: Float64Array
  /**
   * Logarithm of the workload's throughput alone, relative to the geometric mean of the training workloads with the
   * same `kin`; 0 if there are none.
   */
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

/** Root mean square of the differences of two vectors. */
export function distance(a: Float64Array, b: Float64Array): number {
  let squares = 0
  for (let j = 0; j < a.length; j++) squares += (a[j]! - b[j]!) ** 2
  return Math.sqrt(squares / a.length)
}

/** Matern kernel with smoothness 3/2. */
export function matern(distance: number): number {
  const scaled = Math.sqrt(3) * distance
  return (1 + scaled) * Math.exp(-scaled)
}
