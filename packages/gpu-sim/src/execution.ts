import type { LayerGraph } from '@pctodl/model-zoo'
import { type GpuSpec, InvalidInputError, narrowOpPerClockPerSm } from '@pctodl/platform'
import type { BoardPhysics, MatrixEfficiency, WorkPhysics } from './board-physics.js'
import { type HostName, type HostProfile, hostOfBoard } from './host-profile.js'

export const precisions = ['fp32', 'tf32', 'fp16', 'int8'] as const
export type Precision = (typeof precisions)[number]

/** How tenants run their networks, and which networks they may run besides the zoo's. */
export interface Execution {
  /**
   * Precision of all tenants. `fp32` runs matrix work on the vector units. `tf32` runs it on tensor units that support
   * it, as frameworks usually do for single precision, and otherwise equals `fp32`. `int8` stores weights and
   * activations in bytes. Default `fp16`.
   */
  readonly precision?: Precision
  /** Networks that tenants may run besides the zoo's, by name: `graphFromOnnx` of `@pctodl/model-zoo` reads them. */
  readonly networks?: readonly LayerGraph[]
  /**
   * Content of the input images. All-zero images toggle fewer bits than real ones and draw less power. Default `real`.
   */
  readonly inputs?: 'real' | 'zeros'
  /**
   * How operators are launched: `eager` launches them one by one, `graph` replays a CUDA graph or a compiled plan.
   * Default `eager`.
   */
  readonly launch?: 'eager' | 'graph'
  /** Host machine and framework of the board. Default: the board's usual host, see `hostOfBoard`. */
  readonly host?: HostName | HostProfile
  /**
   * Whether an MPS daemon runs. With `off`, processes take turns on the whole board, whatever their shares. Default
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
  for (const [name, allowed] of Object.entries(choices)) {
    const value = execution[name as keyof typeof choices]
    if (value !== undefined && !(allowed as readonly string[]).includes(value)) {
      throw new InvalidInputError(name, value, `'${allowed.join("' or '")}'`)
    }
  }
}

/** Device time between two nodes of a CUDA graph, us. Measured values are a few microseconds. */
const GRAPH_LAUNCH_US = 2.5

/**
 * Energy of operations and bytes for all-zero inputs, relative to real inputs. Fewer bit flips take less energy; only
 * weights, and activations after the first bias, are not zero. Input data alone can change the power of a matrix
 * product by up to 40 % (arXiv 2409.18324).
 */
const ZERO_INPUTS = { flop: 0.75, l2Byte: 0.8, dramByte: 0.85 } as const

const bytesPerElement: Readonly<Record<Precision, number>> = { fp32: 4, tf32: 4, fp16: 2, int8: 1 }

export function elementBytes({ precision = 'fp16' }: Execution): number {
  return bytesPerElement[precision]
}

/**
 * Number of int8 products that one lane of the vector units computes in one instruction before Turing (DP4A, compute
 * capability 6.1 and above).
 */
const INT8_PER_VECTOR_LANE = 4

/** Whether matrix work of this precision runs on the tensor units. */
export function onTensorUnits(spec: GpuSpec, { precision = 'fp16' }: Execution): boolean {
  if (precision === 'int8') return narrowOpPerClockPerSm(spec, 'int8') > 0
  return precision === 'fp16' || (precision === 'tf32' && spec.tf32FlopPerClockPerSm !== null)
}

/** Peak rate of matrix work on the units that this precision uses, FLOP per clock and SM. */
export function matrixFlopPerClockPerSm(spec: GpuSpec, { precision = 'fp16' }: Execution): number {
  if (precision === 'fp16') return spec.tensorFlopPerClockPerSm
  if (precision === 'int8') {
    return narrowOpPerClockPerSm(spec, 'int8') || INT8_PER_VECTOR_LANE * spec.fp32FlopPerClockPerSm
  }
  const tensor = precision === 'tf32' ? spec.tf32FlopPerClockPerSm : null
  return tensor ?? spec.fp32FlopPerClockPerSm
}

/** Attained shares of the peak for matrix work, on the units that this precision uses. */
export function matrixEfficiency(spec: GpuSpec, work: WorkPhysics, execution: Execution): MatrixEfficiency {
  if (onTensorUnits(spec, execution)) return work.efficiency
  const { vectorEfficiency } = work
  if (execution.precision !== 'int8') return vectorEfficiency
  // Winograd-style convolution saves multiplications but needs more precision than int8 has, so the saving does not
  // apply.
  return { ...vectorEfficiency, conv: Math.min(vectorEfficiency.conv, vectorEfficiency.linear) }
}

/**
 * Returns the host profile for an execution. With CUDA graphs, launches are faster: launch time falls to at most
 * `GRAPH_LAUNCH_US`, and launch capacity rises by the same factor.
 */
export function hostUnder(spec: GpuSpec, { host: wanted, launch = 'eager' }: Execution): HostProfile {
  const host = hostOfBoard(spec, wanted)
  if (launch !== 'graph' || host.launchUs <= GRAPH_LAUNCH_US) return host
  const faster = host.launchUs / GRAPH_LAUNCH_US
  return { ...host, launchUs: GRAPH_LAUNCH_US, launchCapacityPerS: host.launchCapacityPerS * faster }
}

/**
 * Energy per operation by kind of matrix work, relative to half precision on tensor units. A busy unit draws the same
 * power at any precision, so the energy of an operation is proportional to its duration. Multiplications that an
 * algorithm saves cost no energy.
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

/**
 * Energy per operation of a matrix product, relative to half precision on tensor units, for boards that have
 * `productEnergy`.
 */
export function productEnergy(
  spec: GpuSpec,
  { productEnergy: own }: WorkPhysics,
  execution: Execution,
): number | undefined {
  if (own === undefined) return undefined
  if (!onTensorUnits(spec, execution)) return own.vector
  return own.tensor * (spec.tensorFlopPerClockPerSm / matrixFlopPerClockPerSm(spec, execution))
}

/** Returns the coefficients of a board for an execution: with all-zero inputs, some energies are lower. */
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
