import type { GpuSpec } from '@pctodl/platform'
import { attentionEfficiency, TENSOR_FLOP_OF_A100 } from './attention.js'
import type { MatrixEfficiency, WorkPhysics } from './board-physics.js'
import {
  type Execution,
  elementBytes,
  energyPerFlop,
  matrixEfficiency,
  matrixFlopPerClockPerSm,
  onTensorUnits,
  productEnergy,
} from './execution.js'
import type { HostProfile } from './host-profile.js'
import { type NetworkWork, operatorClasses } from './network-work.js'
import { waveFactor } from './tile-waves.js'

/** The work of one tenant's batch, per operator. It depends neither on clocks nor on other tenants. */
export interface TenantLoad {
  readonly work: NetworkWork
  readonly batchSize: number
  readonly sms: number
  /** SM clock cycles of arithmetic, including partly filled waves. */
  readonly cycles: Float64Array
  /** Cycles that the arithmetic of the whole batch would take with full waves and pipelines. */
  readonly computingCycles: number
  /** Bytes moved between L2 and the SMs, including weights. */
  readonly bytes: Float64Array
  /**
   * Weight bytes of operators with arithmetic. They are read once per batch, from L2 if they are still there from the
   * last batch.
   */
  readonly weightBytes: Float64Array
  /** Working set of each operator: bytes that must fit in L2 for its traffic to be served by L2. */
  readonly workingBytes: Float64Array
  /** Bytes moved by the operators without arithmetic, as prefix sums that count every occurrence. */
  readonly movedBytes: Float64Array
  readonly meanWorkingBytes: number
  /** Weights of all operators, bytes. */
  readonly totalWeightBytes: number
  /** FLOP of matrix work, each weighted by its energy relative to an operation in half precision. */
  readonly flops: number
  readonly vectorOps: number
  readonly totalBytes: number
  /** Number of kernels launched per batch. */
  readonly kernels: number
  /** Host time per batch, s, without launches. */
  readonly hostS: number
}

export function tenantLoad(
  spec: GpuSpec,
  physics: WorkPhysics,
  host: HostProfile,
  work: NetworkWork,
  batchSize: number,
  sms: number,
  execution: Execution = {},
): TenantLoad {
  const { size } = work
  const perElement = elementBytes(execution)
  const matrixRate = matrixFlopPerClockPerSm(spec, execution)
  const onTensor = onTensorUnits(spec, execution)
  const shares = matrixEfficiency(spec, physics, execution)
  const convertsLayout = host.channelsFirst && onTensor
  // With channels first, convolutions on a data-center chip after Ampere attain no more per clock and SM than on the
  // A100. Identified on convolutional networks of an H100 (`evidence/H100`).
  const older = convertsLayout ? Math.min(1, TENSOR_FLOP_OF_A100 / spec.tensorFlopPerClockPerSm) : 1
  const efficiency = { ...shares, conv: older * shares.conv, pointwise: older * shares.pointwise }
  const products = productEnergy(spec, physics, execution)
  const energy: Readonly<Record<string, number>> = {
    ...energyPerFlop(spec, physics, execution),
    ...(products === undefined ? {} : { linear: products, attention: products }),
  }
  const cycles = new Float64Array(size)
  const bytes = new Float64Array(size)
  const weightBytes = new Float64Array(work.computing)
  let totalWeightBytes = 0
  const workingBytes = new Float64Array(size)
  let computingCycles = 0
  let flops = 0
  let vectorOps = 0
  let kernels = 0
  let totalBytes = 0
  for (let i = 0; i < size; i++) {
    const name = operatorClasses[work.operatorClass[i]!]!
    const operatorFlops = work.flops[i]! * batchSize
    const attained = onTensor ? attentionEfficiency(work.positions[i]!, spec.tensorFlopPerClockPerSm) : null
    if (operatorFlops > 0) {
      const rate = flopPerClockPerSm(
        matrixRate,
        attained === null ? efficiency : { ...efficiency, attention: attained },
        physics,
        name,
      )
      const waves = rate.tiled ? waveFactor(work.outputElements[i]! * batchSize, sms) : 1
      // Each result of a matrix product with d terms takes 2 d FLOP.
      const depth = work.flops[i]! / (2 * work.outputElements[i]!)
      const filling = rate.tiled ? 1 + physics.halfDepth / depth : 1
      const full = operatorFlops / (rate.flopPerClockPerSm * sms)
      cycles[i] = (operatorFlops * waves * filling) / (rate.flopPerClockPerSm * sms)
      computingCycles += work.occurrences[i]! * full
    }
    const traffic = attained === null ? physics.traffic[name] : physics.traffic.linear
    const fused = host.fuses && i >= work.computing && (name === 'norm' || name === 'elementwise')
    if (fused) {
      workingBytes[i] = perElement * work.workingElements[i]! * batchSize
      continue
    }
    // cuDNN also starts a kernel for the layout of the input and one for that of the weights.
    const conversions = convertsLayout && (name === 'conv' || name === 'pointwise') ? 2 : 0
    kernels += work.occurrences[i]! * (1 + conversions)
    const weights = perElement * work.weightElements[i]!
    if (i < work.computing) weightBytes[i] = weights
    totalWeightBytes += work.occurrences[i]! * weights
    bytes[i] = perElement * traffic * work.elements[i]! * batchSize + weights
    workingBytes[i] = perElement * work.workingElements[i]! * batchSize
    if (name === 'depthwise') vectorOps += (work.occurrences[i]! * operatorFlops) / 2
    else if (i < work.computing) flops += work.occurrences[i]! * operatorFlops * (energy[name] ?? 1)
    else vectorOps += work.occurrences[i]! * work.elements[i]! * batchSize
    // A product moves its operands to the registers, as an operator without arithmetic does.
    if (products !== undefined && (name === 'linear' || attained !== null))
      vectorOps += work.occurrences[i]! * (work.elements[i]! * batchSize + work.weightElements[i]!)
    totalBytes += work.occurrences[i]! * bytes[i]!
  }
  const movedBytes = new Float64Array(size - work.computing + 1)
  for (let i = work.computing; i < size; i++) {
    const at = i - work.computing
    movedBytes[at + 1] = movedBytes[at]! + work.occurrences[i]! * bytes[i]!
  }
  // An image takes more host time if the batch exceeds the host's cache. The transition is smooth, because a batch may
  // exceed it only in part.
  const spilled = 1 / (1 + (host.spillBatch / batchSize) ** 10)
  return {
    work,
    batchSize,
    sms,
    cycles,
    computingCycles,
    bytes,
    weightBytes,
    workingBytes,
    movedBytes,
    meanWorkingBytes: perElement * work.meanWorkingElements * batchSize,
    totalWeightBytes,
    flops,
    vectorOps,
    totalBytes,
    kernels,
    hostS: work.prefetched ? 0 : batchSize * (host.imageHostUs + host.imageSpillUs * spilled) * 1e-6,
  }
}

function flopPerClockPerSm(
  matrixRate: number,
  efficiency: MatrixEfficiency,
  physics: WorkPhysics,
  name: (typeof operatorClasses)[number],
) {
  switch (name) {
    case 'conv':
    case 'pointwise':
    case 'linear':
    case 'attention':
      return { flopPerClockPerSm: matrixRate * efficiency[name], tiled: true }
    case 'depthwise':
      return { flopPerClockPerSm: physics.depthwiseFlopPerClockPerSm, tiled: false }
    default:
      // The vector arithmetic of normalisation, activation and pooling takes less time than their memory traffic and
      // runs at the same time.
      return { flopPerClockPerSm: Number.POSITIVE_INFINITY, tiled: false }
  }
}
