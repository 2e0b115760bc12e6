import { keepsBudgets } from '../compare-plans.js'
import type { TrainingPlan } from '../training-plan.js'
import { clockColumn } from './clock-column.js'
import { type PlanAnswer, stepsOfEpoch } from './plan-document.js'
import type { PlanCall } from './plan-options.js'
import { formatTable } from './table.js'

/** The answer for a reader. */
export function formatAnswer(call: PlanCall, answer: PlanAnswer): string {
  const { plan, published, searchMs } = answer
  const { globalBatch } = call.job
  const lines = [formatGpus(plan, globalBatch), '', ...formatTotals(call, plan)]
  if (published !== null) {
    lines.push(
      `published      ${published.method}: cost ${published.cost.toFixed(4)} W s by its own formula, largest ` +
        `${published.maxCost.toFixed(4)}, of ${published.candidates} candidates`,
    )
  }
  lines.push(`search         ${searchMs.toFixed(1)} ms${optimality(answer)}`)
  lines.push(
    ...answer.clockReasons.map((reason) => `${'locked clock'.padEnd(15)}${reason}`),
    '',
    formatComparison(call, answer),
  )
  return lines.join('\n')
}

function formatGpus(plan: TrainingPlan, globalBatch: number): string {
  const clocks = clockColumn(plan.gpus)
  const rows = plan.gpus.map(
    ({ name, share, microBatches, powerLimitW, timeS, waitS, powerW, energyJ, extrapolated }, i) => [
      name,
      `${share}${microBatches > 1 ? ` in ${microBatches}` : ''}${extrapolated ? '*' : ''}`,
      ((100 * share) / globalBatch).toFixed(1),
      powerLimitW ?? 'left out',
      ...clocks.cells[i]!,
      timeS.toPrecision(4),
      waitS.toPrecision(4),
      powerW.toFixed(1),
      energyJ.toPrecision(4),
    ],
  )
  const table = formatTable(
    ['GPU', 'share', 'percent', 'limit W', ...clocks.head, 'computes s', 'waits s', 'power W', 'energy J'],
    rows,
  )
  return table + (plan.gpus.some(({ extrapolated }) => extrapolated) ? '\n* beyond the trace' : '')
}

function formatTotals({ job, datasetSize }: PlanCall, plan: TrainingPlan): string[] {
  const { unit, timeS, timeSd, energyJ, energySd, cost, powerLimitW } = plan
  const percent = (sd: number) => (sd === 0 ? '' : ` +- ${(100 * sd).toFixed(1)} %`)
  const lines = [
    `${`one ${unit}`.padEnd(15)}${timeS.toPrecision(4)} s${percent(timeSd)}, ${energyJ.toPrecision(4)} J${percent(energySd)}, ` +
      `cost ${cost.toPrecision(6)} W s (eta ${job.eta})`,
    `power limits   ${powerLimitW.toFixed(0)} W together`,
  ]
  if (datasetSize !== null && unit === 'step') {
    const steps = stepsOfEpoch(datasetSize, job.globalBatch)
    lines.push(
      `one epoch      ${steps} steps, ${(steps * timeS).toPrecision(4)} s, ${((steps * energyJ) / 1000).toPrecision(4)} kJ`,
    )
  }
  return lines
}

function optimality({ plan, lowerBound }: PlanAnswer): string {
  if (lowerBound === null) return ''
  const gap = 1 - lowerBound / plan.cost
  return gap < 1e-9 ? ', optimal' : `, at most ${(100 * gap).toPrecision(2)} % above the optimum`
}

function formatComparison({ budgets, published }: PlanCall, { plan, compared }: PlanAnswer): string {
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
      row(published === null ? 'this plan' : `published ${published}`, plan, ''),
      ...[...compared].map(([name, other]) => row(name, other, `${(100 * (other.cost / plan.cost - 1)).toFixed(1)} %`)),
    ],
  )
}
