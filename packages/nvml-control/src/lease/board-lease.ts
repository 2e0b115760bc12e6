import type { GpuLease } from '@pctodl/platform'
import type { ComputeMode } from '../nvml/compute-mode.js'
import type { FoundState } from './lease-record.js'

/**
 * The right to change a real board. Either this process has it, or the node service has it on behalf of this process.
 */
export interface BoardLease extends GpuLease {
  /** The board's settings at the start of the lease. The end of the lease restores them. */
  readonly found: FoundState
  /** How the lease changes the board: directly through NVML, or through the node service. */
  readonly path: 'nvml' | 'service'
  setComputeMode(mode: ComputeMode): Promise<void>
  /** Restore the compute mode from the start of the lease. */
  resetComputeMode(): Promise<void>
  /**
   * Set whether the driver stays loaded while no program uses the board. Without persistence, the driver may unload and
   * lose clock locks.
   */
  setPersistence(enabled: boolean): Promise<void>
  /** Restore the persistence mode from the start of the lease. */
  resetPersistence(): Promise<void>
  /** Check that all settings of this lease are still in force. @throws PctodlError `SETTER_NOT_APPLIED` */
  verify(): void | Promise<void>
}
