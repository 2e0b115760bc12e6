/** Who may have a context on a board. `exclusive-thread` is an old mode that current drivers refuse to set. */
export type ComputeMode = 'default' | 'exclusive-thread' | 'prohibited' | 'exclusive-process'

/** In the order of NVML's numbers. */
const modes: readonly ComputeMode[] = ['default', 'exclusive-thread', 'prohibited', 'exclusive-process']

export const settableComputeModes = ['default', 'prohibited', 'exclusive-process'] as const

export function computeModeOf(code: number): ComputeMode {
  return modes[code] ?? 'default'
}

export function computeModeCode(mode: ComputeMode): number {
  return modes.indexOf(mode)
}
