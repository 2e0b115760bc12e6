/**
 * Tests whether plans of `@pctodl/greedy-partition/services` hold on the simulated boards, whose equations the planner
 * does not know. A case has two to four services. Plans are made for the lowest power at part of the possible load, and
 * for the highest load under the cap, with the default margins. Prints the share of plans in which all objectives are
 * met, under independent arrivals, planned bursts and unplanned bursts.
 *
 *   npx tsx --conditions=@pctodl/source scripts/validate-service-plans.ts [--cases 40] [--seconds 30]
 */
import { pathToFileURL } from 'node:url'
import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type FeasibleServicePlan, planServices, type ServicePlanOptions } from '@pctodl/greedy-partition/services'
import { quantile, SeededRandom } from '@pctodl/numerics'
import { VirtualClock } from '@pctodl/platform'
import { gammaArrivals, serviceReport } from '@pctodl/traffic'
import { brief, type PlanCase, planCases } from '../packages/greedy-partition/test/service-cases.js'
import { scriptOptions } from './evaluation/script-options.js'

export interface HeldPlan {
  /** Share of the requests that were answered within their objective; the lowest of all services. */
  readonly attainment: number
  /** Simulated power divided by predicted power, minus 1. */
  readonly powerError: number
  readonly capKept: boolean
}

/** Burstiness of bursts. That of Poisson arrivals is 1. */
const BURSTY = 4
/** Loads for which the lowest power is planned, as shares of the possible load. */
const PARTS = [0.3, 0.7]
const SETTLING_MS = 3000

/**
 * Makes the plans of a case and simulates them. Infeasible plans are left out.
 *
 * @param planned burstiness of Gamma-distributed intervals that the planner assumes
 * @param actual burstiness of the arrivals
 */
export async function holdPlans(
  of: PlanCase,
  planned: number,
  actual: number,
  durationMs: number,
): Promise<HeldPlan[]> {
  const { model, services, ratesPerS, powerCapW } = of
  const plan = (rates: readonly number[], options: Partial<ServicePlanOptions>) =>
    planServices(model, services, rates, {
      ...brief,
      objective: 'max-load',
      powerCapW,
      burstiness: planned,
      ...options,
    })
  const held: HeldPlan[] = []
  const hold = async (found: FeasibleServicePlan, rates: readonly number[]) => {
    const { attainment, powerW } = await simulatePlan(of, found, rates, actual, durationMs)
    held.push({ attainment, powerError: powerW / found.prediction.powerW - 1, capKept: powerW <= powerCapW })
  }
  const possible = plan(ratesPerS, { rateMargin: 1, latencyMargin: 0, burstiness: 1 })
  if (!possible.feasible) return []
  const most = plan(ratesPerS, {})
  if (most.feasible)
    await hold(
      most,
      ratesPerS.map((rate) => most.loadFactor * rate),
    )
  for (const part of PARTS) {
    const rates = ratesPerS.map((rate) => part * possible.loadFactor * rate)
    const least = plan(rates, { objective: 'min-power' })
    if (least.feasible) await hold(least, rates)
  }
  return held
}

async function simulatePlan(
  { model, services, seed }: PlanCase,
  { configuration }: FeasibleServicePlan,
  ratesPerS: readonly number[],
  burstiness: number,
  durationMs: number,
): Promise<{ readonly attainment: number; readonly powerW: number }> {
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

async function main(count: number, seconds: number): Promise<void> {
  const rows: Record<string, unknown>[] = []
  for (const [planned, actual] of [
    [1, 1],
    [BURSTY, BURSTY],
    [1, BURSTY],
  ] as const) {
    const held: HeldPlan[] = []
    for (const each of planCases(count, new SeededRandom(1))) {
      held.push(...(await holdPlans(each, planned, actual, 1000 * seconds)))
    }
    const share = (holds: (plan: HeldPlan) => boolean) => ((100 * held.filter(holds).length) / held.length).toFixed(1)
    const errors = held.map(({ powerError }) => 100 * Math.abs(powerError))
    rows.push({
      'burstiness of arrivals': actual,
      planned,
      plans: held.length,
      'hold, %': share(({ attainment }) => attainment >= 0.99),
      'hold 98 % in time, %': share(({ attainment }) => attainment >= 0.98),
      'cap kept, %': share(({ capKept }) => capKept),
      'power error, median / 90 %': `${quantile(errors, 0.5).toFixed(1)} / ${quantile(errors, 0.9).toFixed(1)} %`,
    })
  }
  console.table(rows)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { cases, seconds } = scriptOptions(import.meta.filename, { cases: 40, seconds: 30 })
  await main(cases, seconds)
}
