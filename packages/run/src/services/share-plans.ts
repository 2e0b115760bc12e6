import type { PerfModel } from '@pctodl/perf-model'
import type { Configuration, Service, Tenant } from '@pctodl/platform'
import { type PlannedLoad, planClocks, planWithModel, ServingClocks } from '@pctodl/scheduler'

/** Batch sizes from which a plan chooses. Inference engines are usually compiled for these sizes. */
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128]

/**
 * Tenants, their clocks under the cap, and `loadFactor`: the largest factor by which all request rates can be
 * multiplied.
 */
export interface Borne extends Configuration {
  readonly loadFactor: number
}

/** Finds the highest load that given tenants can serve under a cap, over all memory clocks. */
export function borne(model: PerfModel, tenants: readonly Tenant[], load: PlannedLoad): Borne {
  const { services, ratesPerS, powerCapW } = load
  let best: Borne | undefined
  for (const memClockMhz of model.memClocksMhz) {
    const { smClockMhz } = planClocks(model, tenants, powerCapW, [memClockMhz])
    const loadFactor = new ServingClocks(model, tenants, services, memClockMhz).loadFactor(smClockMhz, ratesPerS)
    if (!best || loadFactor > best.loadFactor) best = { tenants, memClockMhz, smClockMhz, loadFactor }
  }
  return best!
}

/**
 * Finds the best batch sizes for given shares. It changes one service's batch size at a time until the load factor no
 * longer rises.
 */
function withBestBatches(model: PerfModel, tenants: readonly Tenant[], load: PlannedLoad): Borne {
  const alike = batchSizes.map((batchSize) =>
    borne(
      model,
      tenants.map((tenant) => ({ ...tenant, batchSize: Math.min(batchSize, tenant.batchSize) })),
      load,
    ),
  )
  let best = alike.reduce((most, each) => (each.loadFactor > most.loadFactor ? each : most))
  for (let improved = true; improved; ) {
    improved = false
    for (const { name, maxBatchSize } of load.services) {
      const present = best.tenants.find(({ service }) => service === name)!.batchSize
      for (const batchSize of batchSizes) {
        if (batchSize > maxBatchSize || batchSize === present) continue
        const changed = best.tenants.map((tenant) => (tenant.service === name ? { ...tenant, batchSize } : tenant))
        const candidate = borne(model, changed, load)
        if (candidate.loadFactor > 1.01 * best.loadFactor) {
          best = candidate
          improved = true
        }
      }
    }
  }
  return best
}

/** Returns one tenant per service, all with the same share, each with its best batch size. */
export function equalShares(model: PerfModel, load: PlannedLoad): Borne {
  const mpsPercent = Math.floor(10_000 / load.services.length) / 100
  return withBestBatches(
    model,
    load.services.map((service) => tenantOf(service, mpsPercent)),
    load,
  )
}

function tenantOf(service: Service, mpsPercent: number): Tenant {
  return { model: service.model, mpsPercent, batchSize: service.maxBatchSize, service: service.name }
}

/**
 * Returns the tenants and the memory clock that pctodl starts with, and the highest SM clock that holds the cap. If the
 * planner finds no plan, returns equal shares.
 */
export function plannedShares(model: PerfModel, load: PlannedLoad): Configuration {
  const plan = planWithModel(model)(load, 'min-power')
  if (!plan) return equalShares(model, load)
  return { tenants: plan.tenants, ...planClocks(model, plan.tenants, load.powerCapW, [plan.memClockMhz]) }
}
