import type { LayerGraph } from '@pctodl/model-zoo'
import { type GpuSpec, InvalidInputError, narrowOpPerClockPerSm } from '@pctodl/platform'
import type { BoardPhysics, MatrixEfficiency, WorkPhysics } from './board-physics.js'
import { type HostName, type HostProfile, hostNames, hostOfBoard } from './host-profile.js'

export const precisions = ['fp32', 'tf32', 'fp16', 'int8'] as const
export type Precision = (typeof precisions)[number]

/** How tenants run, and which networks they may run besides the zoo's. */
export interface Execution {
  /**
   * Precision of all tenants. `fp32` runs matrix work on the vector units. `tf32`, the usual treatment of single
   * precision in frameworks, runs it on tensor units if they support it, and is otherwise the same as `fp32`. `int8`
   * stores weights and activations in bytes. Default `fp16`.
   */
  readonly precision?: Precision
  /** Networks that tenants may run besides the zoo's, by name: `graphFromOnnx` of `@pctodl/model-zoo` reads them. */
  readonly networks?: readonly LayerGraph[]
  /**
   * Content of the input images. All-zero images toggle fewer bits than real ones and draw less power. Default `real`.
   */
  readonly inputs?: 'real' | 'zeros'
  /**
   * How operators are launched. `graph`: replayed from a CUDA graph or a compiled plan, not launched one by one.
   * Default `eager`.
   */
  readonly launch?: 'eager' | 'graph'
  /** Host that feeds the board. Default: the board's usual host, see `hostOfBoard`. */
  readonly host?: HostName | HostProfile
  /**
   * Whether an MPS daemon runs. With `off`, clients time-slice the whole board, whatever their shares. Default
   * `running`.
   */
  readonly mps?: 'running' | 'off'
}

const choices = {
  precision: precisions,
  inputs: ['real', 'zeros'],
  launch: ['eager', 'graph'],
  mps: ['running', 'off'],
} as const

/** @throws InvalidInputError naming the option */
export function assertExecution(execution: Execution): void {
  if (typeof execution.host === 'string' && !hostNames.includes(execution.host)) {
    throw new InvalidInputError('host', execution.host, `'${hostNames.join("', '")}' or a host profile`)
  }
  for (const [name, allowed] of Object.entries(choices)) {
    const value = execution[name as keyof typeof choices]
    if (value !== undefined && !(allowed as readonly string[]).includes(value)) {
      throw new InvalidInputError(name, value, `'${allowed.join("' or '")}'`)
    }
  }
}

/** Device time between two nodes of a CUDA graph, us: a few microseconds. */
const GRAPH_LAUNCH_US = 2.5

/**
 * Energy of operations and bytes for all-zero inputs, relative to real ones. Bit flips cost energy; weights, and
 * activations after the first bias, are not zero. The input data alone changes the power of a matrix product by up to
 * 40 % (arXiv 2409.18324).
 */
const ZERO_INPUTS = { flop: 0.75, l2Byte: 0.8, dramByte: 0.85 } as const

const bytesPerElement: Readonly<Record<Precision, number>> = { fp32: 4, tf32: 4, fp16: 2, int8: 1 }

export function elementBytes({ precision = 'fp16' }: Execution): number {
  return bytesPerElement[precision]
}

/**
 * Number of int8 products that share a lane of the vector units before Turing (DP4A, from compute capability 6.1 on).
 */
const INT8_PER_VECTOR_LANE = 4

/** Whether matrix work of this precision runs on the tensor units. */
export function onTensorUnits(spec: GpuSpec, { precision = 'fp16' }: Execution): boolean {
  if (precision === 'int8') return narrowOpPerClockPerSm(spec, 'int8') > 0
  return precision === 'fp16' || (precision === 'tf32' && spec.tf32FlopPerClockPerSm !== null)
}

/** Peak rate of matrix work, FLOP per clock and SM. */
export function matrixFlopPerClockPerSm(spec: GpuSpec, { precision = 'fp16' }: Execution): number {
  if (precision === 'fp16') return spec.tensorFlopPerClockPerSm
  if (precision === 'int8') {
    return narrowOpPerClockPerSm(spec, 'int8') || INT8_PER_VECTOR_LANE * spec.fp32FlopPerClockPerSm
  }
  const tensor = precision === 'tf32' ? spec.tf32FlopPerClockPerSm : null
  return tensor ?? spec.fp32FlopPerClockPerSm
}

/** Attained shares of the peak for matrix work, on tensor units or on vector units. */
export function matrixEfficiency(spec: GpuSpec, work: WorkPhysics, execution: Execution): MatrixEfficiency {
  if (onTensorUnits(spec, execution)) return work.efficiency
  const { vectorEfficiency } = work
  if (execution.precision !== 'int8') return vectorEfficiency
  // Winograd-style convolution needs more precision than int8 has, so its saving does not apply.
  return { ...vectorEfficiency, conv: Math.min(vectorEfficiency.conv, vectorEfficiency.linear) }
}

/** Host of an execution. A CUDA graph replaces the launch times of any host. */
export function hostUnder(spec: GpuSpec, { host: wanted, launch = 'eager' }: Execution): HostProfile {
  const host = hostOfBoard(spec, wanted)
  if (launch !== 'graph' || host.launchUs <= GRAPH_LAUNCH_US) return host
  const faster = host.launchUs / GRAPH_LAUNCH_US
  return { ...host, launchUs: GRAPH_LAUNCH_US, launchCapacityPerS: host.launchCapacityPerS * faster }
}

/**
 * Energy per operation by kind of matrix work, relative to half precision on tensor units. A busy unit draws the same
 * power at any precision, so energy per operation is proportional to its time. Multiplications that an algorithm saves
 * cost no energy.
 */
export function energyPerFlop(spec: GpuSpec, work: WorkPhysics, execution: Execution): MatrixEfficiency {
  const attained = matrixEfficiency(spec, work, execution)
  const peaks = spec.tensorFlopPerClockPerSm / matrixFlopPerClockPerSm(spec, execution)
  const relative = (kind: keyof MatrixEfficiency) => peaks * (work.efficiency[kind] / attained[kind])
  return {
    conv: relative('conv'),
    pointwise: relative('pointwise'),
    linear: relative('linear'),
    attention: relative('attention'),
  }
}

/** Energy per operation of a plain matrix product on the same scale, for boards with a separate value. */
export function productEnergy(
  spec: GpuSpec,
  { productEnergy: own }: WorkPhysics,
  execution: Execution,
): number | undefined {
  if (own === undefined) return undefined
  if (!onTensorUnits(spec, execution)) return own.vector
  return own.tensor * (spec.tensorFlopPerClockPerSm / matrixFlopPerClockPerSm(spec, execution))
}

/** The coefficients of a board under an execution. */
export function physicsUnder(physics: BoardPhysics, { inputs = 'real' }: Execution): BoardPhysics {
  if (inputs !== 'zeros') return physics
  const { power } = physics
  return {
    ...physics,
    power: {
      ...power,
      flopPj: power.flopPj * ZERO_INPUTS.flop,
      vectorOpPj: power.vectorOpPj * ZERO_INPUTS.flop,
      l2BytePj: power.l2BytePj * ZERO_INPUTS.l2Byte,
      dramBytePj: power.dramBytePj * ZERO_INPUTS.dramByte,
    },
  }
}
