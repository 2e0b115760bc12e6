import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'

/** How tenants are run, beside what they run. */
export interface Execution {
  /** Default `fp16`. `fp32` runs matrix work as TF32 where the chip has it and on the vector units where not. */
  readonly precision?: 'fp16' | 'fp32'
  /** All-zero images toggle fewer bits than real ones and draw less. Default `real`. */
  readonly inputs?: 'real' | 'zeros'
  /** `graph`: operators replayed from a CUDA graph or a compiled plan instead of launched one by one. Default `eager`. */
  readonly launch?: 'eager' | 'graph'
  /** `off`: without an MPS daemon clients take turns on the whole board, whatever their shares. Default `running`. */
  readonly mps?: 'running' | 'off'
}

const choices = {
  precision: ['fp16', 'fp32'],
  inputs: ['real', 'zeros'],
  launch: ['eager', 'graph'],
  mps: ['running', 'off'],
} as const

/** @throws InvalidInputError naming the option */
export function assertExecution(execution: Execution): void {
  for (const [name, allowed] of Object.entries(choices)) {
    const value = execution[name as keyof Execution]
    if (value !== undefined && !(allowed as readonly string[]).includes(value)) {
      throw new InvalidInputError(name, value, `'${allowed.join("' or '")}'`)
    }
  }
}

/** Device-side time from one node of a CUDA graph to the next: a few microseconds. */
const GRAPH_LAUNCH_US = 2.5

/**
 * What zeros leave of the energy of an operation and of a byte. Bit flips are what costs; weights and, past the first
 * bias, activations are not zero. Inputs alone change the power of a matrix product by up to 40 % (arXiv 2409.18324).
 */
const ZERO_INPUTS = { flop: 0.75, l2Byte: 0.8, dramByte: 0.85 } as const

export function elementBytes({ precision = 'fp16' }: Execution): number {
  return precision === 'fp16' ? 2 : 4
}

/** FLOP per clock and SM of matrix work. */
export function matrixFlopPerClockPerSm(spec: GpuSpec, { precision = 'fp16' }: Execution): number {
  if (precision === 'fp16') return spec.tensorFlopPerClockPerSm
  return spec.tf32FlopPerClockPerSm ?? spec.fp32FlopPerClockPerSm
}

/**
 * The coefficients of a board under an execution. An operation at a lower rate costs as much more energy as it takes more
 * time: a busy unit draws the same at any precision.
 */
export function physicsUnder(spec: GpuSpec, physics: BoardPhysics, execution: Execution): BoardPhysics {
  const { inputs = 'real', launch = 'eager' } = execution
  let { work, power } = physics
  if (launch === 'graph') {
    const faster = work.launchUs / GRAPH_LAUNCH_US
    work = { ...work, launchUs: GRAPH_LAUNCH_US, launchCapacityPerS: work.launchCapacityPerS * faster }
  }
  const slower = spec.tensorFlopPerClockPerSm / matrixFlopPerClockPerSm(spec, execution)
  if (slower !== 1) power = { ...power, flopPj: power.flopPj * slower }
  if (inputs === 'zeros') {
    power = {
      ...power,
      flopPj: power.flopPj * ZERO_INPUTS.flop,
      l2BytePj: power.l2BytePj * ZERO_INPUTS.l2Byte,
      dramBytePj: power.dramBytePj * ZERO_INPUTS.dramByte,
    }
  }
  return { ...physics, work, power }
}
