import type { MpsDaemon } from '@pctodl/mps-control'
import { PctodlError, type Tenant, type TenantCounters, type TenantPool } from '@pctodl/platform'

/** A pool that is made when the first tenants come. */
export interface MpsTenantsOptions {
  /** Null leaves MPS out of it: clients then take turns on the whole board, whatever their shares. */
  readonly daemon: MpsDaemon | null
  readonly deviceUuid: string
  readonly makePool: (daemon: MpsDaemon | null) => Promise<TenantPool>
}

/**
 * Tenants that share a board through MPS: the daemon is started with the first of them and ended with `close`. A daemon that a
 * killed run of this user left behind, without clients, is ended first.
 */
export class MpsTenants implements TenantPool {
  readonly #options: MpsTenantsOptions
  #pool: Promise<TenantPool> | undefined
  #opened: TenantPool | undefined

  constructor(options: MpsTenantsOptions) {
    this.#options = options
  }

  async apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void> {
    this.#pool ??= this.#open()
    const pool = await this.#pool
    await pool.apply(tenants, options)
  }

  counters(): readonly TenantCounters[] {
    return this.#opened?.counters() ?? []
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
      if (this.#opened) await this.#options.daemon?.stop()
      this.#opened = undefined
      this.#pool = undefined
    }
  }

  async #open(): Promise<TenantPool> {
    const { daemon, deviceUuid, makePool } = this.#options
    if (daemon) {
      await endLeftover(daemon)
      await daemon.start({ deviceUuids: [deviceUuid] })
    }
    try {
      this.#opened = await makePool(daemon)
    } catch (error) {
      await daemon?.stop()
      throw error
    }
    return this.#opened
  }
}

/** @throws PctodlError `MPS_IN_USE` where another run of this user has clients */
async function endLeftover(daemon: MpsDaemon): Promise<void> {
  const { isOurs, servers } = await daemon.status()
  if (!isOurs) return
  const clients = servers.flatMap((server) => server.clients)
  if (clients.length > 0) {
    throw new PctodlError(
      'MPS_IN_USE',
      `the MPS daemon at ${daemon.place.pipeDirectory} has ${clients.length} clients of another run; end that run first`,
    )
  }
  await daemon.stop()
}
