import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { DeadlineSearch, type Objective, SAME_TIME, type Split } from './search/best-deadline.js'
import { LEFT_OUT } from './search/option-table.js'
import { type PreparedJob, prepareJob, sum, type TrainingJob } from './training-job.js'
import { type Assignment, evaluateAssignments, planWarnings, type TrainingPlan } from './training-plan.js'
import { cheapestWithinPower } from './within-power.js'

/** Upper bounds for a plan, in the unit of the profiles. */
export interface Budgets {
  readonly timeS?: number
  readonly energyJ?: number
  /** Sum of the power limits in force, W: the sustained power of all GPUs together. */
  readonly powerW?: number
}

export interface FoundPlan extends TrainingPlan {
  /**
   * Lower bound of the cost of any plan, W s. Equal to `cost` (to 1e-9) unless a power budget over many GPUs ends the
   * search early.
   */
  readonly lowerBound: number
  readonly warnings: readonly string[]
}

/**
 * Relative excess over a budget that counts as rounding, since sums of the same terms in another order differ slightly.
 */
const ROUNDING = 1e-12

/** Whether a plan meets budgets, up to rounding. A plan always meets its own totals as budgets. */
export function keepsBudgets({ timeS, energyJ, powerLimitW }: TrainingPlan, budgets: Budgets): boolean {
  const within = (value: number, budget = Number.POSITIVE_INFINITY) => value <= budget * (1 + ROUNDING)
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
 * power budget over many GPUs (dozens); then it exceeds the optimum by at most `cost - lowerBound`. If only time counts
 * (eta 0), it is the fastest plan with the lowest energy.
 *
 * @throws InvalidInputError for an invalid job; InfeasibleBudgetError if no plan meets the budgets, with the lowest
 * feasible value
 */
export function findPlan(job: TrainingJob, budgets: Budgets = {}): FoundPlan {
  const prepared = prepareJob(job)
  assertBudgets(budgets)
  const objective = objectiveOf(prepared, budgets)
  const { powerW } = budgets
  if (powerW !== undefined && powerW < prepared.maxPowerW) {
    return planWithinPower(prepared, objective, budgets, powerW)
  }
  const search = new DeadlineSearch(prepared.options, job.globalBatch)
  const free = search.cheapest(objective)
  if (!free) throw infeasible(prepared, search, budgets)
  const longestS = free.timeS * (1 + SAME_TIME)
  const cheapest = prepared.eta === 0 ? search.cheapest({ ...minEnergyOf(prepared), longestS })! : free
  const plan = planOf(prepared, cheapest)
  return { ...plan, lowerBound: plan.cost, warnings: planWarnings(plan, prepared) }
}

export function objectiveOf({ eta, idlePowerW, maxPowerW, allReduceS }: PreparedJob, budgets: Budgets): Objective {
  return {
    energyWeight: eta,
    timeWeightW: eta * idlePowerW + (1 - eta) * maxPowerW,
    idlePowerW,
    longestS: (budgets.timeS ?? Number.POSITIVE_INFINITY) * (1 + ROUNDING) - allReduceS,
    maxEnergyJ: (budgets.energyJ ?? Number.POSITIVE_INFINITY) * (1 + ROUNDING) - idlePowerW * allReduceS,
  }
}

/** Objective that counts only energy, including the energy of waiting GPUs. */
export function minEnergyOf(prepared: PreparedJob): Objective {
  return objectiveOf({ ...prepared, eta: 1 }, {})
}

/**
 * Finds the cheapest plan whose limits add up to at most the power budget. If only time counts, ties go to the lowest
 * energy.
 */
function planWithinPower(prepared: PreparedJob, objective: Objective, budgets: Budgets, powerW: number): FoundPlan {
  const { options, job, eta, idlePowerW } = prepared
  const least = (changed: Partial<Objective>, known: Split | null = null) =>
    cheapestWithinPower(options, job.globalBatch, { ...objective, ...changed }, powerW * (1 + ROUNDING), known)
  const planned = (split: Split, gap: number): FoundPlan => {
    const plan = planOf(prepared, split)
    return { ...plan, lowerBound: plan.cost - gap, warnings: planWarnings(plan, prepared) }
  }
  const costOf = ({ timeS, energyJ }: Split) =>
    objective.energyWeight * (energyJ - idlePowerW * timeS) + objective.timeWeightW * timeS
  // The plan of lowest energy shows whether the energy budget is feasible. If that plan meets the budget, the search
  // starts from it.
  const energy = minEnergyOf(prepared)
  const thriftiest = budgets.energyJ === undefined ? null : least({ ...energy, longestS: objective.longestS })
  const isTooDear = thriftiest !== null && thriftiest.lowerBound > objective.maxEnergyJ
  const known = thriftiest?.split && thriftiest.split.energyJ <= objective.maxEnergyJ ? thriftiest.split : null
  const { split, lowerBound } = isTooDear
    ? { split: null, lowerBound: Number.POSITIVE_INFINITY }
    : least({}, known && { ...known, cost: costOf(known) })
  if (split !== null) {
    // Split costs omit only the time of the gradient exchange, which is the same for all splits.
    const gap = split.cost - lowerBound
    if (eta > 0) return planned(split, gap)
    const longestS = split.timeS * (1 + SAME_TIME)
    const thrifty = least({ ...energy, longestS, maxEnergyJ: objective.maxEnergyJ }, { ...split, cost: split.energyJ })
    return planned(thrifty.split ?? split, gap)
  }
  const search = new DeadlineSearch(options, job.globalBatch)
  if (search.cheapest(objective) === null) throw infeasible(prepared, search, budgets)
  const fastest = isTooDear ? null : least(objectiveOf({ ...prepared, eta: 0 }, {}))
  const other = fastest?.split
  if (other && other.timeS <= objective.longestS && other.energyJ <= objective.maxEnergyJ) {
    return planned(other, Math.max(0, costOf(other) - lowerBound))
  }
  const isProved =
    lowerBound === Number.POSITIVE_INFINITY || (fastest !== null && fastest.lowerBound > objective.longestS)
  throw tooLittlePower(prepared, budgets, isProved, other ?? null, thriftiest?.split ?? null)
}

function tooLittlePower(
  prepared: PreparedJob,
  { timeS, energyJ, powerW }: Budgets,
  isProved: boolean,
  fastest: Split | null,
  thriftiest: Split | null,
): InfeasibleBudgetError {
  const lowestW = sum(prepared.options.map(({ powerLimitsW }) => powerLimitsW[0]!))
  const found = [
    `the lowest limits of all GPUs sum to ${lowestW} W${prepared.options.some((gpu) => gpu.mayBeLeftOut) ? ', less if some are left out' : ''}`,
    ...(fastest === null || timeS === undefined
      ? []
      : [`the fastest plan found within the watts takes ${planOf(prepared, fastest).timeS.toPrecision(5)} s`]),
    ...(thriftiest === null || energyJ === undefined
      ? []
      : [`the thriftiest within them takes ${planOf(prepared, thriftiest).energyJ.toPrecision(5)} J`]),
  ]
  const what = isProved ? 'no plan' : 'a search of bounded length found no plan'
  return new InfeasibleBudgetError(
    `${what} with power limits of at most ${powerW} W in total that meets the budgets; ${found.join(', ')}`,
  )
}

export function planOf(
  prepared: PreparedJob,
  { shares, limits }: { readonly shares: ArrayLike<number>; readonly limits: ArrayLike<number> },
): TrainingPlan {
  const assignments = Array.from(shares, (share, gpu): Assignment => {
    if (limits[gpu] === LEFT_OUT) return { share, powerLimitW: null }
    return { share, ...prepared.curves[gpu]!.settings[prepared.limitIndices[gpu]![limits[gpu]!]!]! }
  })
  return evaluateAssignments(prepared, assignments)
}

function assertBudgets(budgets: Budgets): void {
  for (const [name, value] of Object.entries(budgets)) {
    if (value !== undefined && !(value > 0)) throw new InvalidInputError(`budgets.${name}`, value, 'a positive number')
  }
}

/** Returns the error that names the infeasible budget and the lowest feasible value. */
function infeasible(prepared: PreparedJob, search: DeadlineSearch, budgets: Budgets): InfeasibleBudgetError {
  const fastest = search.cheapest(objectiveOf({ ...prepared, eta: 0 }, {}))
  if (!fastest) {
    return new InfeasibleBudgetError(
      `no split of ${prepared.job.globalBatch} samples fits the GPUs: raise maxShare, allow shares beyond the profile, let GPUs be left out, or change the global batch`,
    )
  }
  const { longestS } = objectiveOf(prepared, budgets)
  if (fastest.timeS > longestS) {
    const { timeS } = planOf(prepared, fastest)
    return new InfeasibleBudgetError(
      `no plan takes at most ${budgets.timeS} s: the fastest takes ${timeS.toPrecision(5)} s`,
    )
  }
  const thriftiest = planOf(prepared, search.cheapest({ ...minEnergyOf(prepared), longestS })!)
  return new InfeasibleBudgetError(
    `no plan takes at most ${budgets.energyJ} J${budgets.timeS === undefined ? '' : ` within ${budgets.timeS} s`}: ` +
      `the minimum is ${thriftiest.energyJ.toPrecision(5)} J`,
  )
}
