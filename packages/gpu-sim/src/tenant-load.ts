import type { GpuSpec } from '@pctodl/platform'
import type { WorkPhysics } from './board-physics.js'
import { type Execution, elementBytes, matrixFlopPerClockPerSm } from './execution.js'
import { type NetworkWork, operatorClasses } from './network-work.js'
import { waveFactor } from './tile-waves.js'

/** One tenant's batch as per-operator amounts that do not depend on clocks or on who else runs. */
export interface TenantLoad {
  readonly work: NetworkWork
  readonly batchSize: number
  readonly sms: number
  /** SM clock cycles of arithmetic, whole waves included. */
  readonly cycles: Float64Array
  /** Bytes moved between L2 and the SMs. */
  readonly bytes: Float64Array
  /** Bytes that L2 would have to hold for the traffic to hit. */
  readonly workingBytes: Float64Array
  /** Bytes that the first so many of the operators without arithmetic move, all occurrences. */
  readonly movedBytes: Float64Array
  readonly meanWorkingBytes: number
  readonly flops: number
  readonly totalBytes: number
  /** Host time per batch besides launches, s. */
  readonly hostS: number
}

export function tenantLoad(
  spec: GpuSpec,
  physics: WorkPhysics,
  work: NetworkWork,
  batchSize: number,
  sms: number,
  execution: Execution = {},
): TenantLoad {
  const { size } = work
  const perElement = elementBytes(execution)
  const matrixRate = matrixFlopPerClockPerSm(spec, execution)
  const cycles = new Float64Array(size)
  const bytes = new Float64Array(size)
  const workingBytes = new Float64Array(size)
  let flops = 0
  let totalBytes = 0
  for (let i = 0; i < size; i++) {
    const name = operatorClasses[work.operatorClass[i]!]!
    const operatorFlops = work.flops[i]! * batchSize
    if (operatorFlops > 0) {
      const rate = flopPerClockPerSm(matrixRate, physics, name)
      const waves = rate.tiled ? waveFactor(work.outputElements[i]! * batchSize, sms) : 1
      cycles[i] = (operatorFlops * waves) / (rate.flopPerClockPerSm * sms)
    }
    const traffic = physics.traffic[name]
    bytes[i] = perElement * (traffic * work.elements[i]! * batchSize + work.weightElements[i]!)
    workingBytes[i] = perElement * work.workingElements[i]! * batchSize
    flops += work.occurrences[i]! * operatorFlops
    totalBytes += work.occurrences[i]! * bytes[i]!
  }
  const movedBytes = new Float64Array(size - work.computing + 1)
  for (let i = work.computing; i < size; i++) {
    const at = i - work.computing
    movedBytes[at + 1] = movedBytes[at]! + work.occurrences[i]! * bytes[i]!
  }
  // Past the host's cache an image costs more; the step is smooth because batches straddle it.
  const spilled = 1 / (1 + (physics.spillBatch / batchSize) ** 10)
  return {
    work,
    batchSize,
    sms,
    cycles,
    bytes,
    workingBytes,
    movedBytes,
    meanWorkingBytes: perElement * work.meanWorkingElements * batchSize,
    flops,
    totalBytes,
    hostS: batchSize * (physics.imageHostUs + physics.imageSpillUs * spilled) * 1e-6,
  }
}

function flopPerClockPerSm(matrixRate: number, physics: WorkPhysics, name: (typeof operatorClasses)[number]) {
  switch (name) {
    case 'conv':
      return { flopPerClockPerSm: matrixRate * physics.efficiency.conv, tiled: true }
    case 'pointwise':
      return { flopPerClockPerSm: matrixRate * physics.efficiency.pointwise, tiled: true }
    case 'linear':
    case 'attention':
      return { flopPerClockPerSm: matrixRate * physics.efficiency.linear, tiled: true }
    case 'depthwise':
      return { flopPerClockPerSm: physics.depthwiseFlopPerClockPerSm, tiled: false }
    default:
      // Vector arithmetic of normalisation, activation and pooling hides behind its memory traffic.
      return { flopPerClockPerSm: Number.POSITIVE_INFINITY, tiled: false }
  }
}
