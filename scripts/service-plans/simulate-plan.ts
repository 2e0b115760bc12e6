import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import type { FeasibleServicePlan } from '@pctodl/greedy-partition/services'
import { VirtualClock } from '@pctodl/platform'
import { gammaArrivals, serviceReport } from '@pctodl/traffic'
import type { PlanCase } from '../../packages/greedy-partition/test/service-cases.js'

export interface SimulatedPlan {
  /** Share of the requests that were answered within their objective; the lowest of all services. */
  readonly attainment: number
  readonly powerW: number
}

const SETTLING_MS = 3000

/**
 * Simulates the requests of a plan on the simulated board, whose equations are not the model's.
 *
 * @param burstiness burstiness of Gamma-distributed intervals; 1 for Poisson arrivals
 */
export async function simulatePlan(
  { model, services, seed }: PlanCase,
  { configuration }: FeasibleServicePlan,
  ratesPerS: readonly number[],
  burstiness: number,
  durationMs: number,
): Promise<SimulatedPlan> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(model.spec.key, { clock, seed })
  const served = gpu.serve(
    services.map((service, i) => ({
      service,
      arrivals: gammaArrivals({ ratePerS: ratesPerS[i]!, burstiness }).start(1000 * seed + i),
    })),
  )
  const lease = await gpu.acquire()
  const pool = new SimulatedTenants(gpu)
  try {
    await lease.lockMemClock(configuration.memClockMhz)
    await lease.lockSmClock(configuration.smClockMhz)
    // No request is admitted before the processes have loaded, because a plan without a margin could not catch up.
    for (const { name } of services) served.admit(name, 0)
    await pool.apply(configuration.tenants)
    for (const { name } of services) served.admit(name, 1)
    await clock.sleep(SETTLING_MS)
    const before = served.counters()
    const beforeJ = gpu.truth().energyJ
    await clock.sleep(durationMs)
    const after = served.counters()
    const powerW = (1000 * (gpu.truth().energyJ - beforeJ)) / durationMs
    const reports = after.map((counters, i) => serviceReport({ name: counters.service }, before[i]!, counters))
    return { attainment: Math.min(...reports.map(({ attainment }) => attainment ?? 1)), powerW }
  } finally {
    await pool.stop()
    await lease.release()
  }
}
