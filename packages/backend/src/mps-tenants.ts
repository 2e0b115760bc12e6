import { onEnding } from '@pctodl/command-line'
import type { Tenant, TenantCounters, TenantPool, TenantProcess } from '@pctodl/platform'
import type { OpenedMps } from './opened-mps.js'

/** How `MpsTenants` opens the MPS daemon and the pool when the first tenants come. */
export interface MpsTenantsOptions {
  /** Null: no MPS; tenants then time-slice the whole board, whatever their shares. */
  readonly openMps: (() => Promise<OpenedMps>) | null
  readonly makePool: (mps: OpenedMps | null) => Promise<TenantPool>
}

/**
 * A pool of tenants that share a board through MPS. The daemon starts with the first tenants and ends with `close`. A
 * daemon of a board lease also ends with that lease; the next `apply` then opens another daemon.
 */
export class MpsTenants implements TenantPool {
  readonly #options: MpsTenantsOptions
  #pool: Promise<TenantPool> | undefined
  #opened: TenantPool | undefined
  #mps: OpenedMps | null = null
  #forgetEndings = () => {}

  constructor(options: MpsTenantsOptions) {
    this.#options = options
  }

  async apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void> {
    if (this.#opened && this.#mps?.isOpen() === false) await this.close()
    this.#pool ??= this.#open()
    const pool = await this.#pool
    await pool.apply(tenants, options)
  }

  counters(): readonly TenantCounters[] {
    return this.#opened?.counters() ?? []
  }

  processes(): readonly TenantProcess[] {
    return this.#opened?.processes?.() ?? []
  }

  async stop(): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined)
    await pool?.stop()
  }

  /** Ends the tenants, then the daemon. Idempotent. */
  async close(): Promise<void> {
    try {
      await this.stop()
    } finally {
      if (this.#opened) await this.#mps?.close()
      this.#forgetEndings()
      this.#opened = undefined
      this.#mps = null
      this.#pool = undefined
    }
  }

  async #open(): Promise<TenantPool> {
    const { openMps, makePool } = this.#options
    const mps = openMps ? await openMps() : null
    this.#mps = mps
    // Also ends tenants and daemon if the program is terminated before it calls `close`.
    const forget = [
      onEnding({ stage: 'tenants', what: 'the tenants', deadlineMs: 10_000, end: () => this.stop() }),
      onEnding({
        stage: 'mps',
        what: 'the MPS daemon',
        deadlineMs: 10_000,
        end: async () => mps?.close(0),
      }),
    ]
    this.#forgetEndings = () => {
      for (const each of forget) each()
    }
    try {
      this.#opened = await makePool(mps)
    } catch (error) {
      await mps?.close()
      this.#forgetEndings()
      throw error
    }
    return this.#opened
  }
}
