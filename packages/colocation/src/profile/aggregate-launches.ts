import { InvalidInputError } from '@pctodl/platform'
import type { KernelMetrics } from '../workload.js'
import type { KernelLaunch } from './nsight-compute.js'

/**
 * Means of a workload's kernel metrics, weighted by launch duration: `sum d m / sum d`. Registers and static shared
 * memory are totals of the grid (threads x registers per thread, blocks x bytes per block).
 *
 * @throws InvalidInputError without launches, or where their total duration is 0
 */
export function aggregateLaunches(launches: readonly KernelLaunch[]): KernelMetrics {
  const totalNs = launches.reduce((sum, { durationNs }) => sum + durationNs, 0)
  if (!(totalNs > 0)) throw new InvalidInputError('total duration of the launches', totalNs, 'above 0 ns')
  const mean = (metric: (launch: KernelLaunch) => number) =>
    launches.reduce((sum, launch) => sum + launch.durationNs * metric(launch), 0) / totalNs
  return {
    threads: mean(({ threads }) => threads),
    smThroughputPercent: mean(({ smThroughputPercent }) => smThroughputPercent),
    dramThroughputPercent: mean(({ dramThroughputPercent }) => dramThroughputPercent),
    memoryThroughputPercent: mean(({ memoryThroughputPercent }) => memoryThroughputPercent),
    registers: mean(({ threads, registersPerThread }) => threads * Math.floor(registersPerThread)),
    staticSharedMemory: mean(
      ({ gridSize, staticSharedMemoryPerBlockBytes }) => gridSize * staticSharedMemoryPerBlockBytes,
    ),
  }
}
