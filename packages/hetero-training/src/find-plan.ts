import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { DeadlineSearch, type Objective, type Split } from './search/best-deadline.js'
import { LEFT_OUT } from './search/option-table.js'
import { type PreparedJob, prepareJob, sum, type TrainingJob } from './training-job.js'
import { evaluateAssignments, planWarnings, type TrainingPlan } from './training-plan.js'
import { cheapestWithinPower, type SplitWithinPower } from './within-power.js'

/** Upper limits that a plan must keep, in the unit of the profiles. */
export interface Budgets {
  readonly timeS?: number
  readonly energyJ?: number
  /** Sum of the power limits in force, W: what the GPUs together can draw for long. */
  readonly powerW?: number
}

export interface FoundPlan extends TrainingPlan {
  /** No plan costs less than this, W s. Equal to `cost` (to 1e-9) unless a power budget over many GPUs ends the search early. */
  readonly lowerBound: number
  readonly warnings: readonly string[]
}

/** No plan keeps the budgets. */
export class InfeasibleBudgetError extends PctodlError {
  constructor(message: string) {
    super('INFEASIBLE_BUDGET', message)
  }
}

/**
 * The cheapest split and power limits for a job under the synchronous model. Exact, but for a power budget over many GPUs (dozens):
 * then the distance to the optimum is at most `cost - lowerBound`.
 *
 * @throws InvalidInputError for a bad job; InfeasibleBudgetError where no plan keeps the budgets, naming the least that one can
 */
export function findPlan(job: TrainingJob, budgets: Budgets = {}): FoundPlan {
  const prepared = prepareJob(job)
  assertBudgets(budgets)
  const objective = objectiveOf(prepared, budgets)
  const { powerW } = budgets
  if (powerW !== undefined && powerW < prepared.maxPowerW) {
    const found = cheapestWithinPower(prepared.options, job.globalBatch, objective, powerW)
    if (found !== null) return withinPower(prepared, found)
  }
  const search = new DeadlineSearch(prepared.options, job.globalBatch)
  const free = search.cheapest(objective)
  if (!free) throw infeasible(prepared, search, budgets)
  const cheapest = prepared.eta === 0 ? (search.leastEnergy(free.timeS, prepared.idlePowerW) ?? free) : free
  const plan = planOf(prepared, cheapest)
  if (powerW !== undefined && plan.powerLimitW > powerW) throw tooLittlePower(prepared, powerW)
  return { ...plan, lowerBound: plan.cost, warnings: planWarnings(plan, prepared) }
}

function objectiveOf({ eta, idlePowerW, maxPowerW, allReduceS }: PreparedJob, budgets: Budgets): Objective {
  return {
    energyWeight: eta,
    timeWeightW: eta * idlePowerW + (1 - eta) * maxPowerW,
    idlePowerW,
    longestS: (budgets.timeS ?? Number.POSITIVE_INFINITY) - allReduceS,
    mostEnergyJ: (budgets.energyJ ?? Number.POSITIVE_INFINITY) - idlePowerW * allReduceS,
  }
}

function withinPower(prepared: PreparedJob, { split, lowerBound }: SplitWithinPower): FoundPlan {
  const plan = planOf(prepared, split)
  // Both costs are the same but for the time of the gradient exchange.
  return { ...plan, lowerBound: plan.cost - (split.cost - lowerBound), warnings: planWarnings(plan, prepared) }
}

function tooLittlePower({ curves }: PreparedJob, powerW: number): InfeasibleBudgetError {
  const lowestW = sum(curves.map(({ powerLimitsW }) => powerLimitsW[0]!))
  return new InfeasibleBudgetError(
    `no plan with power limits of at most ${powerW} W together keeps the budgets; the lowest limits of all GPUs make ${lowestW} W`,
  )
}

export function planOf(prepared: PreparedJob, { shares, limits }: Split): TrainingPlan {
  return evaluateAssignments(
    prepared,
    Array.from(shares, (share, gpu) => ({
      share,
      powerLimitW: limits[gpu] === LEFT_OUT ? null : prepared.options[gpu]!.powerLimitsW[limits[gpu]!]!,
    })),
  )
}

function assertBudgets(budgets: Budgets): void {
  for (const [name, value] of Object.entries(budgets)) {
    if (value !== undefined && !(value > 0)) throw new InvalidInputError(`budgets.${name}`, value, 'a positive number')
  }
}

/** Say which of the budgets cannot be kept, and what could be. */
function infeasible(prepared: PreparedJob, search: DeadlineSearch, budgets: Budgets): InfeasibleBudgetError {
  const unlimited = objectiveOf(prepared, {})
  const fastest = search.cheapest({ ...unlimited, energyWeight: 0, timeWeightW: 1 })
  if (!fastest) {
    return new InfeasibleBudgetError(
      `no split of ${prepared.job.globalBatch} samples fits the GPUs: raise maxShare, allow shares beyond the profile, or lower the global batch`,
    )
  }
  const { timeS } = planOf(prepared, fastest)
  if (budgets.timeS !== undefined && timeS > budgets.timeS) {
    return new InfeasibleBudgetError(
      `no plan takes at most ${budgets.timeS} s: the fastest takes ${timeS.toPrecision(5)} s`,
    )
  }
  const within = (budgets.timeS ?? Number.POSITIVE_INFINITY) - prepared.allReduceS
  const thriftiest = leastEnergyWithin(prepared, search, within)
  return new InfeasibleBudgetError(
    `no plan takes at most ${budgets.energyJ} J${budgets.timeS === undefined ? '' : ` within ${budgets.timeS} s`}: ` +
      `the thriftiest takes ${thriftiest.energyJ.toPrecision(5)} J`,
  )
}

function leastEnergyWithin(prepared: PreparedJob, search: DeadlineSearch, longestS: number): TrainingPlan {
  const { idlePowerW } = prepared
  const split = search.cheapest({
    energyWeight: 1,
    timeWeightW: idlePowerW,
    idlePowerW,
    longestS,
    mostEnergyJ: Number.POSITIVE_INFINITY,
  })
  return planOf(prepared, split!)
}
