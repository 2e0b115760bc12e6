/**
 * Which processes may create a CUDA context on a board. `exclusive-thread` is an old mode that current drivers refuse
 * to set.
 */
export type ComputeMode = 'default' | 'exclusive-thread' | 'prohibited' | 'exclusive-process'

/** All modes; the array index is NVML's number. */
const modes: readonly ComputeMode[] = ['default', 'exclusive-thread', 'prohibited', 'exclusive-process']

export const settableComputeModes = ['default', 'prohibited', 'exclusive-process'] as const

export function computeModeOf(code: number): ComputeMode {
  return modes[code] ?? 'default'
}

export function computeModeCode(mode: ComputeMode): number {
  return modes.indexOf(mode)
}
