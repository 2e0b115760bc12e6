import { keepsBudgets } from '../find-plan.js'
import type { TrainingPlan } from '../training-plan.js'
import type { PlanCall } from './plan-options.js'
import { formatTable } from './table.js'

/** What a call of the planner answers. */
export interface PlanAnswer {
  readonly plan: TrainingPlan
  /** No plan costs less, W s. */
  readonly lowerBound: number
  readonly warnings: readonly string[]
  /** What the job would take otherwise, by name. */
  readonly compared: ReadonlyMap<string, TrainingPlan>
  readonly searchMs: number
}

/** The answer for a reader. */
export function formatAnswer(call: PlanCall, answer: PlanAnswer): string {
  const { plan, lowerBound, searchMs } = answer
  const gap = 1 - lowerBound / plan.cost
  const optimality = gap < 1e-9 ? 'optimal' : `at most ${(100 * gap).toPrecision(2)} % above the optimum`
  return [
    formatGpus(plan, call.job.globalBatch),
    '',
    ...formatTotals(call, plan),
    `search         ${searchMs.toFixed(1)} ms, ${optimality}`,
    '',
    formatComparison(call, answer),
  ].join('\n')
}

function formatGpus(plan: TrainingPlan, globalBatch: number): string {
  const rows = plan.gpus.map(
    ({ name, share, microBatches, powerLimitW, timeS, waitS, powerW, energyJ, smClockMhz, extrapolated }) => [
      name,
      `${share}${microBatches > 1 ? ` in ${microBatches}` : ''}${extrapolated ? '*' : ''}`,
      ((100 * share) / globalBatch).toFixed(1),
      powerLimitW ?? 'left out',
      smClockMhz ?? 'free',
      timeS.toPrecision(4),
      waitS.toPrecision(4),
      powerW.toFixed(1),
      energyJ.toPrecision(4),
    ],
  )
  const table = formatTable(
    ['GPU', 'share', 'percent', 'limit W', 'clock MHz', 'computes s', 'waits s', 'power W', 'energy J'],
    rows,
  )
  return table + (plan.gpus.some(({ extrapolated }) => extrapolated) ? '\n* beyond the trace' : '')
}

function formatTotals({ job }: PlanCall, plan: TrainingPlan): string[] {
  const { unit, timeS, timeSd, energyJ, energySd, cost, powerLimitW } = plan
  const percent = (sd: number) => (sd === 0 ? '' : ` +- ${(100 * sd).toFixed(1)} %`)
  return [
    `${`one ${unit}`.padEnd(15)}${timeS.toPrecision(4)} s${percent(timeSd)}, ${energyJ.toPrecision(4)} J${percent(energySd)}, ` +
      `cost ${cost.toPrecision(6)} W s (eta ${job.eta})`,
    `power limits   ${powerLimitW.toFixed(0)} W together`,
  ]
}

function formatComparison({ budgets }: PlanCall, { plan, compared }: PlanAnswer): string {
  const row = (name: string, other: TrainingPlan, above: string) => [
    keepsBudgets(other, budgets) ? name : `${name} (over budget)`,
    other.timeS.toPrecision(4),
    other.energyJ.toPrecision(4),
    other.cost.toPrecision(6),
    above,
  ]
  return formatTable(
    ['for comparison', 'time s', 'energy J', 'cost W s', 'cost above this plan'],
    [
      row('this plan', plan, ''),
      ...[...compared].map(([name, other]) => row(name, other, `${(100 * (other.cost / plan.cost - 1)).toFixed(1)} %`)),
    ],
  )
}
