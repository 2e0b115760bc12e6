import { onEnding } from '@pctodl/command-line'
import type { Tenant, TenantCounters, TenantPool, TenantProcess } from '@pctodl/platform'
import type { OpenedMps } from './opened-mps.js'

/** Options of a pool that is created with the first tenants. */
export interface MpsTenantsOptions {
  /** Null: no MPS; clients then time-slice the whole board, whatever their shares. */
  readonly openMps: (() => Promise<OpenedMps>) | null
  readonly makePool: (mps: OpenedMps | null) => Promise<TenantPool>
}

/**
 * Tenants that share a board through MPS. The daemon starts with the first tenants and ends with `close`. A daemon that
 * belongs to a lease ends with the lease, and the next tenants get another one.
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

  /** End the tenants, then the daemon. Idempotent. */
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
    // For a program that has no time left to call `close`.
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
