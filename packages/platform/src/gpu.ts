import type { GpuSpec } from './gpu-spec.js'
import type { Telemetry } from './telemetry.js'

export interface GpuInfo {
  readonly spec: GpuSpec
  readonly uuid: string
  readonly index: number
  readonly driverVersion: string
  readonly powerLimitW: number
}

/** One real or simulated GPU. Reading needs no privilege; changes need the lease. */
export interface Gpu {
  readonly spec: GpuSpec
  info(): Promise<GpuInfo>
  sample(): Promise<Telemetry>
  /**
   * Acquire the exclusive right to change the board's state.
   *
   * @throws PctodlError with code `LEASE_HELD` while another process holds it
   */
  acquire(): Promise<GpuLease>
}

/**
 * Exclusive right to change a board. Setters exist here only, so no state changes without a lease. `release` restores
 * the locked clocks and the power limit as they were before.
 */
export interface GpuLease {
  /**
   * Lock the SM clock to one supported state, or let the firmware choose within a range of them.
   *
   * @throws InvalidInputError for a clock that the board does not support at its memory clock
   */
  lockSmClock(clock: number | { readonly minMhz: number; readonly maxMhz: number }): Promise<void>
  resetSmClock(): Promise<void>
  /** @throws InvalidInputError for a memory clock that the board does not have */
  lockMemClock(memClockMhz: number): Promise<void>
  resetMemClock(): Promise<void>
  /** @throws InvalidInputError outside the board's limits */
  setPowerLimit(powerLimitW: number): Promise<void>
  resetPowerLimit(): Promise<void>
  /** Idempotent. */
  release(): Promise<void>
}
