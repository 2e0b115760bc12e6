import { assertTenants, sameProcess, type Tenant, type TenantCounters, type TenantPool } from '@pctodl/platform'
import type { MigInstance } from './mig-partitions.js'
import type { SimulatedGpu } from './simulated-gpu.js'
import type { SimulatedProcess } from './simulated-process.js'

export interface SimulatedTenantsOptions {
  /** Allows shares whose sum exceeds 100 %; overlapping SMs are then time-sliced. Default false. */
  readonly oversubscribe?: boolean
  /** MIG instance to run on; shares are then percentages of its SMs. Default: the undivided board. */
  readonly instance?: MigInstance
}

/** Inference processes on a simulated board, with the life cycle of real ones: start, load, run, drain, end. */
export class SimulatedTenants implements TenantPool {
  readonly #gpu: SimulatedGpu
  readonly #oversubscribe: boolean
  readonly #instance: MigInstance | undefined
  #processes: readonly SimulatedProcess[] = []

  constructor(gpu: SimulatedGpu, { oversubscribe = false, instance }: SimulatedTenantsOptions = {}) {
    this.#gpu = gpu
    this.#oversubscribe = oversubscribe
    this.#instance = instance
  }

  async apply(tenants: readonly Tenant[], { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    assertTenants(tenants, { oversubscribe: this.#oversubscribe })
    for (const tenant of tenants) this.#gpu.assertNetwork(tenant.model)
    this.#gpu.assertServes(tenants)
    const idle = this.#processes.filter((process) => process.state !== 'failed')
    const kept = tenants.map((tenant) => {
      const same = (process: SimulatedProcess) => sameProcess(process.tenant, tenant)
      const serving = idle.findIndex((process) => same(process) && process.tenant.service === tenant.service)
      const index = serving < 0 ? idle.findIndex(same) : serving
      return index < 0 ? undefined : idle.splice(index, 1)[0]!
    })
    const failed = this.#processes.filter((process) => process.state === 'failed')
    if (idle.some((process) => process.tenant.service !== undefined)) await this.#gpu.drain(idle, signal)
    for (const process of [...idle, ...failed]) this.#gpu.terminate(process)
    this.#processes = kept.filter((process) => process !== undefined)
    if (idle.length > 0) await this.#gpu.clock.sleep(this.#gpu.physics.process.stopMs, signal)
    this.#processes = tenants.map((tenant, i) => {
      const process = kept[i]
      if (!process) return this.#gpu.launch(tenant, this.#instance ? { instance: this.#instance } : {})
      this.#gpu.setBatchSize(process, tenant.batchSize)
      if (process.tenant.service !== tenant.service) this.#gpu.reassign(process, tenant.service)
      return process
    })
    await this.#untilLoaded(signal)
  }

  counters(): readonly TenantCounters[] {
    this.#gpu.catchUp()
    return this.#processes.map((process) => process.counters)
  }

  async stop(): Promise<void> {
    for (const process of this.#processes) this.#gpu.terminate(process)
    this.#processes = []
  }

  async #untilLoaded(signal?: AbortSignal): Promise<void> {
    for (const process of this.#processes) {
      for (;;) {
        this.#gpu.catchUp()
        if (process.state !== 'loading') break
        const leftMs = process.readyAtMs - this.#gpu.clock.now()
        await this.#gpu.clock.sleep(Math.max(1, leftMs), signal)
      }
    }
  }
}
