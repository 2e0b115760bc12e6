import type { GpuSpec } from './gpu-spec.js'
import type { Telemetry } from './telemetry.js'

export interface GpuInfo {
  readonly spec: GpuSpec
  readonly uuid: string
  readonly index: number
  readonly driverVersion: string
  readonly powerLimitW: number
}

/** One real or simulated GPU. Reading needs no privilege. Changing needs a lease. */
export interface Gpu {
  readonly spec: GpuSpec
  info(): Promise<GpuInfo>
  sample(): Promise<Telemetry>
  /**
   * Acquires the exclusive right to change the board's state.
   *
   * @throws PctodlError with code `LEASE_HELD` while another process holds it
   */
  acquire(): Promise<GpuLease>
}

/**
 * The exclusive right to change a board. Only a lease has setters, so nothing changes without one. `release` restores
 * the clocks and the power limit that the board had before.
 */
export interface GpuLease {
  /**
   * Locks the SM clock to one supported value, or to a range in which the firmware chooses.
   *
   * @throws InvalidInputError for a clock that the board does not support at its memory clock
   */
  lockSmClock(clock: number | { readonly minMhz: number; readonly maxMhz: number }): Promise<void>
  resetSmClock(): Promise<void>
  /**
   * Locks the memory clock.
   * @throws InvalidInputError for a memory clock that the board does not have
   */
  lockMemClock(memClockMhz: number): Promise<void>
  resetMemClock(): Promise<void>
  /**
   * Sets the power limit.
   * @throws InvalidInputError for a limit outside the board's range
   */
  setPowerLimit(powerLimitW: number): Promise<void>
  resetPowerLimit(): Promise<void>
  /** Idempotent. */
  release(): Promise<void>
}
