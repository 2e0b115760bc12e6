import { sum } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import { assertInput } from './input-checks.js'
import { DeadlineSearch, type Objective, SAME_TIME, type Split } from './search/best-deadline.js'
import { LEFT_OUT } from './search/option-table.js'
import { PowerSearch, type SplitWithinPower } from './search/within-power.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'
import { type Assignment, evaluateAssignments, planWarnings, type TrainingPlan } from './training-plan.js'

/** Upper bounds for a plan. Time and energy are per step, or per window (see `TrainingPlan.unit`). */
export interface Budgets {
  readonly timeS?: number
  readonly energyJ?: number
  /** Sum of the power limits in force, W: the sustained power of all GPUs together. */
  readonly powerW?: number
}

export interface FoundPlan extends TrainingPlan {
  /** Lower bound of the cost of any plan, W s: `cost` (to 1e-9), unless a power budget ends the search early. */
  readonly lowerBound: number
  readonly warnings: readonly string[]
}

/** Relative excess over a budget that counts as rounding: sums of the same terms in another order differ slightly. */
const ROUNDING = 1e-12

/** Whether a plan meets budgets, up to rounding. A plan always meets its own totals as budgets. */
export function keepsBudgets({ timeS, energyJ, powerLimitW }: TrainingPlan, budgets: Budgets): boolean {
  const within = (value: number, budget = Infinity) => value <= budget * (1 + ROUNDING)
  return within(timeS, budgets.timeS) && within(energyJ, budgets.energyJ) && within(powerLimitW, budgets.powerW)
}

/** No plan meets the budgets. */
export class InfeasibleBudgetError extends PctodlError {
  constructor(message: string) {
    super('INFEASIBLE_BUDGET', message)
  }
}

/**
 * Finds the cheapest split and power limits for a job under the synchronous model. The result is exact, except under a
 * power budget over dozens of GPUs; then it exceeds the optimum by at most `cost - lowerBound`. If only time counts
 * (eta 0), it is the fastest plan with the lowest energy.
 *
 * @throws InvalidInputError for an invalid job; InfeasibleBudgetError with the lowest feasible value
 */
export function findPlan(job: TrainingJob, budgets: Budgets = {}): FoundPlan {
  const prepared = prepareJob(job)
  for (const [name, value = Infinity] of Object.entries(budgets)) {
    assertInput(value > 0, `budgets.${name}`, value, 'a positive number')
  }
  const { options, eta, maxPowerW } = prepared
  const { powerW = Infinity } = budgets
  const objective = objectiveOf(prepared, budgets)
  const { energyWeight, timeWeightW, idlePowerW, longestS, maxEnergyJ } = objective
  const exact = new DeadlineSearch(options, job.globalBatch)
  const least = (objective: Objective, known: Split | null = null): SplitWithinPower => {
    const problem = { gpus: options, globalBatch: job.globalBatch, objective, powerW: powerW * (1 + ROUNDING) }
    if (powerW < maxPowerW) return new PowerSearch(problem, known).run()
    const split = exact.cheapest(objective, 0, known)
    return { split, lowerBound: split?.cost ?? Infinity }
  }
  const meets = (split: Split) => split.timeS <= longestS && split.energyJ <= maxEnergyJ
  const costOf = ({ timeS, energyJ }: Split) => energyWeight * (energyJ - idlePowerW * timeS) + timeWeightW * timeS
  const planned = (split: Split, gap: number): FoundPlan => {
    const plan = planOf(prepared, split)
    return { ...plan, lowerBound: plan.cost - gap, warnings: planWarnings(plan, prepared) }
  }
  // The plan of lowest energy shows whether an energy budget is feasible. If it meets the budget, the search starts
  // from it.
  const energy = { ...minEnergyOf(prepared), longestS }
  const thriftiest = budgets.energyJ === undefined ? null : least(energy)
  let bound = Infinity
  if (thriftiest === null || thriftiest.lowerBound <= maxEnergyJ) {
    const start = thriftiest?.split && meets(thriftiest.split) ? thriftiest.split : null
    const { split, lowerBound } = least(objective, start && { ...start, cost: costOf(start) })
    bound = lowerBound
    if (split !== null) {
      // Split costs omit only the time of the gradient exchange, which is the same for all splits.
      const gap = split.cost - bound
      if (eta > 0) return planned(split, gap)
      const asFast = { ...energy, longestS: split.timeS * (1 + SAME_TIME), maxEnergyJ }
      return planned(least(asFast, { ...split, cost: split.energyJ }).split ?? split, gap)
    }
  }
  const fastest = least(fastestOf(prepared)).split
  // A search within a power budget may end early, without a plan, although the fastest one meets the budgets.
  if (fastest !== null && meets(fastest)) return planned(fastest, Math.max(0, costOf(fastest) - bound))
  throw new InfeasibleBudgetError(whyInfeasible(prepared, budgets, fastest, thriftiest?.split ?? null))
}

/** Returns the plan, or the error if no plan meets the budgets. */
export function planOrReason(job: TrainingJob, budgets: Budgets): FoundPlan | InfeasibleBudgetError {
  try {
    return findPlan(job, budgets)
  } catch (error) {
    if (error instanceof InfeasibleBudgetError) return error
    throw error
  }
}

export function objectiveOf({ eta, idlePowerW, maxPowerW, allReduceS }: PreparedJob, budgets: Budgets): Objective {
  return {
    energyWeight: eta,
    timeWeightW: eta * idlePowerW + (1 - eta) * maxPowerW,
    idlePowerW,
    longestS: (budgets.timeS ?? Infinity) * (1 + ROUNDING) - allReduceS,
    maxEnergyJ: (budgets.energyJ ?? Infinity) * (1 + ROUNDING) - idlePowerW * allReduceS,
  }
}

/** Objective that counts only energy, including the energy of waiting GPUs. */
export function minEnergyOf(prepared: PreparedJob): Objective {
  return objectiveOf({ ...prepared, eta: 1 }, {})
}

/** Objective that counts only time. */
export function fastestOf(prepared: PreparedJob): Objective {
  return objectiveOf({ ...prepared, eta: 0 }, {})
}

export function planOf(
  prepared: PreparedJob,
  { shares, limits }: { readonly shares: ArrayLike<number>; readonly limits: ArrayLike<number> },
): TrainingPlan {
  const assignments = Array.from(shares, (share, gpu): Assignment => {
    if (limits[gpu] === LEFT_OUT) return { share, powerLimitW: null }
    return { share, ...prepared.options[gpu]!.settings[limits[gpu]!]! }
  })
  return evaluateAssignments(prepared, assignments)
}

/** Names the infeasible budget and the lowest feasible value. */
function whyInfeasible(prepared: PreparedJob, budgets: Budgets, fastest: Split | null, thriftiest: Split | null) {
  const { options, job, maxPowerW } = prepared
  const { timeS, energyJ, powerW = Infinity } = budgets
  const watts = `power limits of at most ${powerW} W in total`
  const noPlan = powerW < maxPowerW ? `no plan was found with ${watts} that` : 'no plan'
  if (fastest && fastest.timeS > objectiveOf(prepared, budgets).longestS) {
    const seconds = planOf(prepared, fastest).timeS.toPrecision(5)
    return `${noPlan} takes at most ${timeS} s: the fastest takes ${seconds} s`
  }
  if (thriftiest) {
    const joules = planOf(prepared, thriftiest).energyJ.toPrecision(5)
    const time = timeS === undefined ? '' : ` within ${timeS} s`
    return `${noPlan} takes at most ${energyJ} J${time}: the minimum is ${joules} J`
  }
  if (new DeadlineSearch(options, job.globalBatch).cheapest(fastestOf(prepared)) === null) {
    const remedies = 'raise maxShare, allow shares beyond the profile, let GPUs be left out, or change the global batch'
    return `no split of ${job.globalBatch} samples fits the GPUs: ${remedies}`
  }
  const lowestW = sum(options.map(({ settings }) => settings[0]!.powerLimitW))
  const less = options.some((gpu) => gpu.mayBeLeftOut) ? ', less if some are left out' : ''
  return `no plan has ${watts}: the lowest limits of all GPUs sum to ${lowestW} W${less}`
}
