/** All compute modes; the array index is NVML's number. Current drivers refuse to set `exclusive-thread`. */
export const computeModes = ['default', 'exclusive-thread', 'prohibited', 'exclusive-process'] as const

/** Which processes may create a CUDA context on a board. */
export type ComputeMode = (typeof computeModes)[number]
