import type { GpuLease } from '@pctodl/platform'
import type { ComputeMode } from '../nvml/compute-mode.js'
import type { FoundState } from './lease-record.js'

/** The right to change a real board, held by this process or by the node service on its behalf. */
export interface BoardLease extends GpuLease {
  /** The board's settings when the lease began, which will be restored. */
  readonly found: FoundState
  /** How the board is changed: directly through NVML, or through the node service. */
  readonly path: 'nvml' | 'service'
  setComputeMode(mode: ComputeMode): Promise<void>
  /** Restore the compute mode that was found. */
  resetComputeMode(): Promise<void>
  /**
   * Set whether the driver stays loaded without a client. Without persistence, locks may vanish while nobody uses the
   * board.
   */
  setPersistence(enabled: boolean): Promise<void>
  /** Restore the persistence mode that was found. */
  resetPersistence(): Promise<void>
  /** Check that all settings are still in force. @throws PctodlError `SETTER_NOT_APPLIED` */
  verify(): void | Promise<void>
}
