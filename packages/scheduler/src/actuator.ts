import {
  anySignal,
  type GpuLease,
  InvalidInputError,
  PctodlError,
  type Tenant,
  type TenantPool,
} from '@pctodl/platform'
import type { Action, AppliedState } from './policy.js'
import type { RunEventBody, Setter } from './run-event.js'

/**
 * The order in which settings are sent. The memory clock precedes the SM clock because it decides which SM clocks are
 * available.
 */
const setters: readonly Setter[] = ['powerLimitW', 'memClockMhz', 'smClockMhz']

/** The run ends with the board's error if the board refuses a setting for longer than this. */
const REFUSAL_LIMIT_MS = 30_000
/** Errors that a retry cannot solve. */
const FATAL_CODES: ReadonlySet<string> = new Set(['GPU_LOST', 'LEASE_LOST', 'LEASE_RELEASED'])

interface Refusal {
  readonly sinceMs: number
  readonly message: string
}

/**
 * Carries out a policy's actions and records the settings in force. Clocks and limits change at once. Tenants load in
 * the background, so the loop keeps watching power while processes restart. A refused setting is requested again in
 * each sample until the board grants it or the policy replaces it.
 */
export class Actuator {
  readonly #lease: GpuLease
  readonly #pool: TenantPool
  readonly #signal: AbortSignal
  readonly #emit: (event: RunEventBody) => void
  #applied: AppliedState
  /** Requested settings that are not in force yet. */
  readonly #wantedSettings: {
    powerLimitW?: number
    memClockMhz?: number | 'unlocked'
    smClockMhz?: number | 'unlocked'
  } = {}
  readonly #refusals = new Map<Setter, Refusal>()
  #limitIsSafeguard = false
  #loading: Promise<void> | undefined
  /** Aborts the change of tenants in progress. */
  #interrupt = new AbortController()
  #loadError: unknown
  #wantedTenants: readonly Tenant[] | undefined

  constructor(
    lease: GpuLease,
    pool: TenantPool,
    powerLimitW: number,
    signal: AbortSignal,
    emit: (event: RunEventBody) => void = () => {},
  ) {
    this.#lease = lease
    this.#pool = pool
    this.#signal = signal
    this.#emit = emit
    this.#applied = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW }
  }

  get applied(): AppliedState {
    return this.#applied
  }

  get reconfiguring(): boolean {
    return this.#loading !== undefined
  }

  /** Time for which the board has been refusing the SM clock, ms. */
  smClockRefusedMs(nowMs: number): number {
    const refusal = this.#refusals.get('smClockMhz')
    return refusal === undefined ? 0 : nowMs - refusal.sinceMs
  }

  /**
   * Carries out an action, and the pending parts of earlier actions.
   *
   * @throws the pool's error; the board's error if it has refused a setting for too long; any error that is not a
   * refusal
   */
  async apply(action: Action | undefined, nowMs: number): Promise<void> {
    if (this.#loadError !== undefined) throw this.#loadError
    if (action) this.#want(action)
    for (const setter of setters) {
      if (this.#wantedSettings[setter] !== undefined) await this.#carryOut(setter, nowMs)
    }
    if (action?.tenants !== undefined) this.#load(action.tenants)
  }

  /** Waits for tenants that are still loading, so that the pool can be stopped. */
  async settle(): Promise<void> {
    await this.#loading?.catch(() => {})
  }

  #want(action: Action): void {
    for (const setter of setters) {
      const value = action[setter]
      if (value === undefined) continue
      const inForce = lockOf(value) === this.#applied[setter]
      if (inForce && action.again !== true) {
        delete this.#wantedSettings[setter]
        this.#refusals.delete(setter)
      } else Object.assign(this.#wantedSettings, { [setter]: value })
    }
    if (action.powerLimitW !== undefined) this.#limitIsSafeguard = action.powerLimitRole === 'hardware-limit'
  }

  async #carryOut(setter: Setter, nowMs: number): Promise<void> {
    try {
      await this.#set(setter)
    } catch (error) {
      this.#refused(setter, error, nowMs)
      return
    }
    this.#applied = { ...this.#applied, [setter]: lockOf(this.#wantedSettings[setter]!) }
    delete this.#wantedSettings[setter]
    if (this.#refusals.delete(setter)) this.#emit({ type: 'granted', setter, value: this.#applied[setter] })
  }

  async #set(setter: Setter): Promise<void> {
    const value = this.#wantedSettings[setter]!
    if (setter === 'powerLimitW') return this.#lease.setPowerLimit(value as number)
    if (setter === 'memClockMhz') {
      return value === 'unlocked' ? this.#lease.resetMemClock() : this.#lease.lockMemClock(value)
    }
    return value === 'unlocked' ? this.#lease.resetSmClock() : this.#lease.lockSmClock(value)
  }

  #refused(setter: Setter, error: unknown, nowMs: number): void {
    if (!(error instanceof PctodlError) || error instanceof InvalidInputError || FATAL_CODES.has(error.code))
      throw error
    const value = lockOf(this.#wantedSettings[setter]!)
    const hardwareLimit = setter === 'powerLimitW' && this.#limitIsSafeguard
    const before = this.#refusals.get(setter)
    if (before === undefined || before.message !== error.message) {
      const { code, message } = error
      this.#emit({
        type: 'refused',
        setter,
        value,
        code,
        message,
        ...(hardwareLimit ? { role: 'hardware-limit' as const } : {}),
      })
    }
    this.#refusals.set(setter, { sinceMs: before?.sinceMs ?? nowMs, message: error.message })
    if (hardwareLimit && error.code === 'NOT_SUPPORTED') {
      delete this.#wantedSettings[setter]
      this.#refusals.delete(setter)
    } else if (!hardwareLimit && nowMs - this.#refusals.get(setter)!.sinceMs >= REFUSAL_LIMIT_MS) throw error
  }

  #load(tenants: readonly Tenant[]): void {
    this.#applied = { ...this.#applied, tenants }
    if (this.#loading) {
      // Only one change of tenants runs at a time; the newest request starts when the running one has ended. A request
      // for no tenants interrupts the running one.
      this.#wantedTenants = tenants
      if (tenants.length === 0) this.#interrupt.abort(new PctodlError('STOPPED', 'no tenants are wanted any more'))
      return
    }
    this.#interrupt = new AbortController()
    const interrupted = this.#interrupt.signal
    const change =
      tenants.length === 0
        ? this.#pool.stop()
        : this.#pool.apply(tenants, { signal: anySignal([this.#signal, interrupted]) })
    this.#loading = change
      .catch((error: unknown) => {
        if (!interrupted.aborted) this.#loadError = error
      })
      .then(() => {
        this.#loading = undefined
        const wanted = this.#wantedTenants
        this.#wantedTenants = undefined
        if (wanted && this.#loadError === undefined) this.#load(wanted)
      })
  }
}

/** The clock that a request locks, MHz; null if the request unlocks the clock. */
export function lockOf(clock: number | 'unlocked'): number | null {
  return clock === 'unlocked' ? null : clock
}
