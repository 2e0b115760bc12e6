import type { Workload } from '../workload.js'
import { featuresOf } from './workload-kernels.js'

/** Shares of the board's resources that a workload asks for alone: multiprocessors, DRAM, the busiest memory, and two of time. */
function demandsOf(workload: Workload): number[] {
  return [
    workload.smThroughputPercent / 100,
    workload.dramThroughputPercent / 100,
    workload.memoryThroughputPercent / 100,
    workload.smUtilPercent / 100,
    workload.memUtilPercent / 100,
  ]
}

/** Places in `featuresOf`. */
const THREADS = 1
const REGISTERS = 2
const SM_THROUGHPUT = 3
const MEMORY_THROUGHPUT = 5
const MEMORY = 9
const STEPS = 10
const TRAINING = 11

/** What trees may ask of workloads; made once a workload. */
export interface AskedWorkload {
  readonly features: readonly number[]
  readonly demands: readonly number[]
}

export function askedWorkload(workload: Workload): AskedWorkload {
  return { features: featuresOf(workload), demands: demandsOf(workload) }
}

/**
 * What trees may ask of a workload beside others: its own features, those of the others as mean, largest and least, how these
 * differ from its own, and for each resource what the others ask for together, that times its own demand, and what both ask
 * for above all there is. It knows no order and takes any number of others.
 */
export function companyFeatures(own: AskedWorkload, others: readonly AskedWorkload[]): Float64Array {
  const mean = own.features.map((_, j) => others.reduce((sum, { features }) => sum + features[j]!, 0) / others.length)
  const demands = own.demands.map((_, j) => others.reduce((sum, other) => sum + other.demands[j]!, 0))
  const difference = (j: number) => own.features[j]! - mean[j]!
  const largest = (j: number) => others.reduce((most, { features }) => Math.max(most, features[j]!), -Infinity)
  const least = (j: number) => others.reduce((most, { features }) => Math.min(most, features[j]!), Infinity)
  return Float64Array.from([
    ...own.features,
    ...mean,
    ...demands,
    ...demands.map((demand, j) => demand * own.demands[j]!),
    ...demands.map((demand, j) => Math.max(0, demand + own.demands[j]! - 1)),
    ...[STEPS, THREADS, REGISTERS, MEMORY].map(difference),
    ...[THREADS, SM_THROUGHPUT, MEMORY_THROUGHPUT, STEPS, TRAINING].map(largest),
    ...[THREADS, SM_THROUGHPUT, MEMORY_THROUGHPUT, STEPS].map(least),
    others.length,
  ])
}
