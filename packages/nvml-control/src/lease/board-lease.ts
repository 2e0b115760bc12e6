import type { GpuLease } from '@pctodl/platform'
import type { ComputeMode } from '../nvml/compute-mode.js'
import type { FoundState } from './lease-record.js'

/** The right to change a real board, held by this process or by the node service on its behalf. */
export interface BoardLease extends GpuLease {
  /** What the board was set to when the lease began, and what will be put back. */
  readonly found: FoundState
  /** The way in which the board is changed. */
  readonly path: 'nvml' | 'service'
  setComputeMode(mode: ComputeMode): Promise<void>
  /** Back to the mode that was found. */
  resetComputeMode(): Promise<void>
  /** Whether the driver stays loaded without a client; without it, locks may vanish while nobody uses the board. */
  setPersistence(enabled: boolean): Promise<void>
  /** Back to what was found. */
  resetPersistence(): Promise<void>
  /** Check that all that was set still shows. @throws PctodlError `SETTER_NOT_APPLIED` */
  verify(): void | Promise<void>
}
