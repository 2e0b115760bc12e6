import { buildNetwork, type OperatorClass, operatorWork } from '@pctodl/model-zoo'
import { type GpuSpec, memoryBandwidth } from '@pctodl/platform'
import { aggregateLaunches, type KernelLaunch } from '../src/profile/nsight-compute.js'
import type { KernelMetrics } from '../src/workload.js'

/** Half precision. */
const BYTES = 2
const LAUNCH_NS = 5_000
const THREADS_PER_BLOCK = 256

/** Part of the arithmetic peak that an operator class reaches, registers of a thread, and shared memory of a block, bytes. */
const classes: Readonly<Record<OperatorClass, readonly [efficiency: number, registers: number, sharedMemory: number]>> =
  {
    conv: [0.55, 128, 16_384],
    pointwise: [0.45, 96, 12_288],
    depthwise: [0.08, 48, 4_096],
    linear: [0.5, 128, 16_384],
    attention: [0.3, 96, 8_192],
    norm: [0.05, 32, 1_024],
    elementwise: [0.05, 24, 0],
    pool: [0.05, 32, 0],
    concat: [0.05, 24, 0],
    copy: [0.05, 24, 0],
  }

/**
 * What a kernel profiler would say of a network's layers, by their operations and bytes against the board's peaks: one launch
 * per layer, its duration that of the slower of the two, its throughputs what each is of that. The simulator that gives the
 * throughputs knows more (waves, caches, contention), so nothing here tells a model what it has to learn.
 */
export function simulatedKernelMetrics(spec: GpuSpec, model: string, batchSize: number): KernelMetrics {
  const flopPerNs = (spec.tensorFlopPerClockPerSm * spec.smCount * spec.boostClockMhz) / 1e3
  const bytesPerNs = memoryBandwidth(spec, spec.performanceMemClocksMhz[0]!) / 1e9
  const launches = operatorWork(buildNetwork(model)).map((operator): KernelLaunch => {
    const [efficiency, registersPerThread, staticSharedMemoryPerBlockBytes] = classes[operator.operatorClass]
    const outputs = operator.outputElements * batchSize
    const bytes = BYTES * (batchSize * (operator.inputElements + operator.outputElements) + operator.weightElements)
    const gridSize = Math.max(1, Math.ceil(outputs / 8 / THREADS_PER_BLOCK))
    // A small grid leaves most multiprocessors idle.
    const filled = Math.min(1, gridSize / spec.smCount)
    const computeNs = (operator.flops * batchSize) / flopPerNs / efficiency / filled
    const memoryNs = bytes / bytesPerNs
    const durationNs = Math.max(computeNs, memoryNs) + LAUNCH_NS
    const dramThroughputPercent = (100 * memoryNs) / durationNs
    return {
      kernel: operator.name,
      durationNs,
      gridSize,
      threads: gridSize * THREADS_PER_BLOCK,
      smThroughputPercent: (100 * efficiency * filled * computeNs) / durationNs,
      dramThroughputPercent,
      memoryThroughputPercent: Math.min(100, 1.3 * dramThroughputPercent),
      registersPerThread,
      staticSharedMemoryPerBlockBytes,
    }
  })
  return aggregateLaunches(launches)
}
