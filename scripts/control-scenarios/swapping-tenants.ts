import { type SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import type { Clock, Tenant, TenantPool } from '@pctodl/platform'

/**
 * Tenants whose network is exchanged at intervals without the policy's knowledge, as when a service deploys another
 * model. The counters still name the requested network.
 */
export function swappingTenants(
  gpu: SimulatedGpu,
  clock: Clock,
  networks: readonly string[],
  periodMs: number,
): TenantPool {
  const inner = new SimulatedTenants(gpu)
  let tenants: readonly Tenant[] = []
  let network = 0
  let work: Promise<void> = Promise.resolve()
  let stopped = false
  const apply = (options?: { readonly signal?: AbortSignal }) => {
    const model = networks[network % networks.length]!
    // Changes run one after another, because the pool can apply only one at a time.
    work = work
      .catch(() => {})
      .then(() =>
        inner.apply(
          tenants.map((tenant) => ({ ...tenant, model })),
          options,
        ),
      )
    return work
  }
  const swap = async () => {
    for (;;) {
      await clock.sleep(periodMs)
      if (stopped) return
      network++
      if (tenants.length > 0) await apply()
    }
  }
  void swap()
  return {
    apply(wanted, options) {
      tenants = wanted
      if (stopped) {
        stopped = false
        void swap()
      }
      return apply(options)
    },
    counters: () =>
      inner.counters().map((counters, i) => {
        const model = tenants[i]?.model ?? counters.tenant.model
        return { ...counters, tenant: { ...counters.tenant, model } }
      }),
    async stop() {
      stopped = true
      await work.catch(() => {})
      await inner.stop()
    },
  }
}
