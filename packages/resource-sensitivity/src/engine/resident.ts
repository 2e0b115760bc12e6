import type { AllocationOption } from './allocation-options.js'

/** One job on a server: how many of its GPUs are there, and what it may be given. */
export interface Resident {
  readonly gpus: number
  readonly options: readonly AllocationOption[]
}
