import type { GpuLease, Tenant, TenantPool } from '@pctodl/platform'
import type { Action, AppliedState } from './policy.js'

/**
 * Carries out what a policy asks for and knows what is in force. Clocks and limits change at once; tenants load in the
 * background, so that the loop never stops watching the power while processes restart.
 */
export class Actuator {
  readonly #lease: GpuLease
  readonly #pool: TenantPool
  readonly #signal: AbortSignal
  #applied: AppliedState
  #loading: Promise<void> | undefined
  #loadError: unknown
  #wanted: readonly Tenant[] | undefined

  constructor(lease: GpuLease, pool: TenantPool, powerLimitW: number, signal: AbortSignal) {
    this.#lease = lease
    this.#pool = pool
    this.#signal = signal
    this.#applied = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW }
  }

  get applied(): AppliedState {
    return this.#applied
  }

  get reconfiguring(): boolean {
    return this.#loading !== undefined
  }

  async apply(action: Action | undefined): Promise<void> {
    if (this.#loadError !== undefined) throw this.#loadError
    if (!action) return
    const { smClockMhz, memClockMhz, powerLimitW, tenants } = action
    const before = this.#applied
    if (powerLimitW !== undefined && powerLimitW !== before.powerLimitW) {
      await this.#lease.setPowerLimit(powerLimitW)
      this.#applied = { ...this.#applied, powerLimitW }
    }
    if (memClockMhz !== undefined && lockOf(memClockMhz) !== before.memClockMhz) {
      await (memClockMhz === 'unlocked' ? this.#lease.resetMemClock() : this.#lease.lockMemClock(memClockMhz))
      this.#applied = { ...this.#applied, memClockMhz: lockOf(memClockMhz) }
    }
    if (smClockMhz !== undefined && lockOf(smClockMhz) !== before.smClockMhz) {
      await (smClockMhz === 'unlocked' ? this.#lease.resetSmClock() : this.#lease.lockSmClock(smClockMhz))
      this.#applied = { ...this.#applied, smClockMhz: lockOf(smClockMhz) }
    }
    if (tenants !== undefined) this.#load(tenants)
  }

  /** Wait for tenants that are still loading, so that the pool can be stopped. */
  async settle(): Promise<void> {
    await this.#loading?.catch(() => {})
  }

  #load(tenants: readonly Tenant[]): void {
    this.#applied = { ...this.#applied, tenants }
    if (this.#loading) {
      // One change at a time: the newest wish is carried out when the running one is done.
      this.#wanted = tenants
      return
    }
    this.#loading = this.#pool
      .apply(tenants, { signal: this.#signal })
      .catch((error: unknown) => {
        this.#loadError = error
      })
      .then(() => {
        this.#loading = undefined
        const wanted = this.#wanted
        this.#wanted = undefined
        if (wanted && this.#loadError === undefined) this.#load(wanted)
      })
  }
}

function lockOf(clock: number | 'unlocked'): number | null {
  return clock === 'unlocked' ? null : clock
}
