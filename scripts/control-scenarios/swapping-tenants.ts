import { type SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import type { Clock, Tenant, TenantCounters, TenantPool } from '@pctodl/platform'

/**
 * Tenants whose network is exchanged at intervals without the policy's knowledge, as when a service deploys another
 * model. The counters still name the requested network.
 */
export class SwappingTenants implements TenantPool {
  readonly #inner: SimulatedTenants
  readonly #clock: Clock
  readonly #networks: readonly string[]
  readonly #periodMs: number
  #tenants: readonly Tenant[] = []
  #network = 0
  #work: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(gpu: SimulatedGpu, clock: Clock, networks: readonly string[], periodMs: number) {
    this.#inner = new SimulatedTenants(gpu)
    this.#clock = clock
    this.#networks = networks
    this.#periodMs = periodMs
    void this.#swap()
  }

  async apply(tenants: readonly Tenant[], options?: { readonly signal?: AbortSignal }): Promise<void> {
    this.#tenants = tenants
    if (this.#stopped) {
      this.#stopped = false
      void this.#swap()
    }
    return this.#apply(options)
  }

  counters(): readonly TenantCounters[] {
    return this.#inner.counters().map((counters, i) => ({
      ...counters,
      tenant: { ...counters.tenant, model: this.#tenants[i]?.model ?? counters.tenant.model },
    }))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#work.catch(() => {})
    await this.#inner.stop()
  }

  #apply(options?: { readonly signal?: AbortSignal }): Promise<void> {
    const model = this.#networks[this.#network % this.#networks.length]!
    // Changes run one after another, because the pool can apply only one at a time.
    this.#work = this.#work
      .catch(() => {})
      .then(() =>
        this.#inner.apply(
          this.#tenants.map((tenant) => ({ ...tenant, model })),
          options,
        ),
      )
    return this.#work
  }

  async #swap(): Promise<void> {
    for (;;) {
      await this.#clock.sleep(this.#periodMs)
      if (this.#stopped) return
      this.#network++
      if (this.#tenants.length > 0) await this.#apply()
    }
  }
}
