import { type FeasibleServicePlan, planServices, type ServicePlanOptions } from '@pctodl/greedy-partition/services'
import { quantile } from '@pctodl/numerics'
import { brief, type PlanCase } from '../../packages/greedy-partition/test/service-cases.js'
import { simulatePlan } from './simulate-plan.js'

/** Settings of the planner: margins, and the burstiness that it assumes. */
export interface PlanManner {
  readonly rateMargin: number
  readonly latencyMargin: number
  readonly burstiness: number
}

export interface HeldPlan {
  readonly goal: 'min-power' | 'max-load'
  readonly attainment: number
  /** Simulated power divided by predicted power, minus 1. */
  readonly powerError: number
  /** Power in watts for `min-power`; the factor on the rates for `max-load`. */
  readonly result: number
  readonly capKept: boolean
}

/** Loads for which the lowest power is planned, as shares of the possible load. */
const PARTS = [0.3, 0.7]

/** The highest factor on a case's rates without margins; 0 if no plan is feasible. */
export function possibleFactor({ model, services, ratesPerS, powerCapW }: PlanCase): number {
  const options: ServicePlanOptions = { ...brief, objective: 'max-load', powerCapW, rateMargin: 1, latencyMargin: 0 }
  const plan = planServices(model, services, ratesPerS, options)
  return plan.feasible ? plan.loadFactor : 0
}

/** Simulates the plans of a case. Infeasible plans are left out. */
export async function holdPlans(
  of: PlanCase,
  possibleFactor: number,
  { rateMargin, latencyMargin, burstiness: planned }: PlanManner,
  burstiness: number,
  durationMs: number,
): Promise<HeldPlan[]> {
  const { model, services, powerCapW } = of
  const plan = (ratesPerS: readonly number[], options: Partial<ServicePlanOptions>) =>
    planServices(model, services, ratesPerS, {
      ...brief,
      objective: 'max-load',
      powerCapW,
      rateMargin,
      latencyMargin,
      burstiness: planned,
      ...options,
    })
  const held: HeldPlan[] = []
  const hold = async (found: FeasibleServicePlan, ratesPerS: readonly number[], goal: HeldPlan['goal']) => {
    const { attainment, powerW } = await simulatePlan(of, found, ratesPerS, burstiness, durationMs)
    held.push({
      goal,
      attainment,
      powerError: powerW / found.prediction.powerW - 1,
      result: goal === 'max-load' ? found.loadFactor : found.prediction.powerW,
      capKept: powerW <= powerCapW,
    })
  }
  const most = plan(of.ratesPerS, {})
  if (most.feasible) {
    await hold(
      most,
      of.ratesPerS.map((rate) => most.loadFactor * rate),
      'max-load',
    )
  }
  for (const part of PARTS) {
    const ratesPerS = of.ratesPerS.map((rate) => part * possibleFactor * rate)
    const least = plan(ratesPerS, { objective: 'min-power' })
    if (least.feasible) await hold(least, ratesPerS, 'min-power')
  }
  return held
}

const manners: readonly (PlanManner & { readonly arrivals: number })[] = [
  { arrivals: 1, rateMargin: 1, latencyMargin: 0, burstiness: 1 },
  { arrivals: 1, rateMargin: 1.1, latencyMargin: 0.1, burstiness: 1 },
  { arrivals: 1, rateMargin: 1.2, latencyMargin: 0.2, burstiness: 1 },
  { arrivals: 4, rateMargin: 1.1, latencyMargin: 0.1, burstiness: 1 },
  { arrivals: 4, rateMargin: 1, latencyMargin: 0, burstiness: 4 },
  { arrivals: 4, rateMargin: 1.1, latencyMargin: 0.1, burstiness: 4 },
  { arrivals: 4, rateMargin: 1.2, latencyMargin: 0.2, burstiness: 4 },
]

/** For each setting of the planner: the share of plans that hold, and the cost of the margins compared with none. */
export async function marginTable(cases: readonly PlanCase[], durationMs: number): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  let without: HeldPlan[][] = []
  const factors = cases.map(possibleFactor)
  for (const { arrivals, ...manner } of manners) {
    const held: HeldPlan[][] = []
    for (let c = 0; c < cases.length; c++) {
      held.push(factors[c] === 0 ? [] : await holdPlans(cases[c]!, factors[c]!, manner, arrivals, durationMs))
    }
    if (without.length === 0) without = held
    const all = held.flat()
    const cost = (goal: HeldPlan['goal']) => {
      const ratios = held.flatMap((plans, c) =>
        plans.flatMap((plan, p) => {
          const base = without[c]![p]
          return plan.goal === goal && base?.goal === goal && plans.length === without[c]!.length
            ? [plan.result / base.result]
            : []
        }),
      )
      return Number(quantile(ratios, 0.5).toFixed(3))
    }
    const errors = all.map(({ powerError }) => Math.abs(powerError))
    rows.push({
      arrivals: arrivals === 1 ? 'Poisson' : `Gamma, ${arrivals}`,
      'planned for': manner.burstiness,
      'rate margin': manner.rateMargin,
      'latency margin': manner.latencyMargin,
      plans: all.length,
      'hold, %': share(all, ({ attainment }) => attainment >= 0.99),
      'hold 98 % in time, %': share(all, ({ attainment }) => attainment >= 0.98),
      'cap kept, %': share(all, ({ capKept }) => capKept),
      'W / without': cost('min-power'),
      'load / without': cost('max-load'),
      'power error, median / 90 %': `${percent(quantile(errors, 0.5))} / ${percent(quantile(errors, 0.9))}`,
    })
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`)
  }
  return rows
}

function share<T>(list: readonly T[], holds: (each: T) => boolean): number {
  return Number(((100 * list.filter(holds).length) / list.length).toFixed(1))
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`
}
