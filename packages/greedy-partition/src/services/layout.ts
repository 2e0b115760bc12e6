import type { Configuration, Tenant } from '@pctodl/platform'
import type { PlanProblem } from './plan-problem.js'

/** The identical processes of one service. */
export interface Instances {
  readonly count: number
  /** Share per process, in units of the share step. */
  readonly units: number
  /** Index of the batch size in the service's `batchSizes`. */
  readonly batch: number
}

/** The processes of all services in one memory state. The scorer chooses the SM clock. */
export interface Layout {
  /** Processes of each service, in the order of the services. */
  readonly services: readonly Instances[]
  readonly memIndex: number
}

export function layoutKey({ services, memIndex }: Layout): string {
  let key = `${memIndex}`
  for (const { count, units, batch } of services) key += ` ${count},${units},${batch}`
  return key
}

/** Whether shares, processes and memory fit on the board. */
export function fits(problem: PlanProblem, { services }: Layout): boolean {
  let units = 0
  let count = 0
  let bytes = 0
  for (let i = 0; i < services.length; i++) {
    const of = services[i]!
    units += of.count * of.units
    count += of.count
    bytes += of.count * problem.services[i]!.memoryBytes[of.batch]!
  }
  return units <= problem.totalUnits && count <= problem.maxTenants && bytes <= problem.memoryBytes
}

/** The configuration of a layout at one of the SM clocks. */
export function configurationOf(
  problem: PlanProblem,
  { services, memIndex }: Layout,
  clockIndex: number,
): Configuration {
  const tenants = services.flatMap(({ count, units, batch }, i) => {
    const { service, batchSizes } = problem.services[i]!
    const tenant: Tenant = {
      model: service.model,
      mpsPercent: units * problem.sharePercentStep,
      batchSize: batchSizes[batch]!,
      service: service.name,
    }
    return new Array<Tenant>(count).fill(tenant)
  })
  return {
    tenants,
    smClockMhz: problem.smClocksMhz[memIndex]![clockIndex]!,
    memClockMhz: problem.memClocksMhz[memIndex]!,
  }
}

/**
 * Convert a configuration to the nearest layout. Each process gets the mean share of its service and the next smaller
 * batch size. The result is undefined if the layout does not fit.
 */
export function layoutOf(problem: PlanProblem, { tenants, memClockMhz }: Configuration): Layout | undefined {
  const memIndex = Math.max(0, problem.memClocksMhz.indexOf(memClockMhz))
  const services: Instances[] = []
  for (const { service, batchSizes } of problem.services) {
    const own = tenants.filter((tenant) => tenant.service === service.name)
    if (own.length === 0 || own.length > problem.maxInstances) return undefined
    const share = own.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0) / own.length
    const units = Math.max(1, Math.floor(share / problem.sharePercentStep + 1e-9))
    let batch = 0
    while (batch + 1 < batchSizes.length && batchSizes[batch + 1]! <= own[0]!.batchSize) batch++
    services.push({ count: own.length, units, batch })
  }
  const layout = { services, memIndex }
  return fits(problem, layout) ? layout : undefined
}
