import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { DeadlineSearch, type Objective, type Split } from './search/best-deadline.js'
import { LEFT_OUT } from './search/option-table.js'
import { type PreparedJob, prepareJob, type TrainingJob } from './training-job.js'
import { evaluateAssignments, planWarnings, type TrainingPlan } from './training-plan.js'

/** Upper limits that a plan must keep, in the unit of the profiles. */
export interface Budgets {
  readonly timeS?: number
  readonly energyJ?: number
  /** Sum of the power limits in force, W: what the GPUs together can draw for long. */
  readonly powerW?: number
}

export interface FoundPlan extends TrainingPlan {
  /** No plan costs less than this, W s. Equal to `cost` (to 1e-9) unless a power budget binds. */
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
 * The cheapest split and power limits for a job under the synchronous model. Exact without a power budget and where that does not
 * bind; with a binding one, the answer of a search whose distance to the optimum is at most `cost - lowerBound`.
 *
 * @throws InvalidInputError for a bad job; InfeasibleBudgetError where no plan keeps the budgets, naming the least that one can
 */
export function findPlan(job: TrainingJob, budgets: Budgets = {}): FoundPlan {
  const prepared = prepareJob(job)
  assertBudgets(budgets)
  const search = new DeadlineSearch(prepared.options, job.globalBatch)
  const objective = objectiveOf(prepared, budgets)
  const free = search.cheapest(objective)
  if (!free) throw infeasible(prepared, search, budgets)
  const cheapest = prepared.eta === 0 ? (search.leastEnergy(free.timeS, prepared.idlePowerW) ?? free) : free
  const plan = planOf(prepared, cheapest)
  if (budgets.powerW === undefined || plan.powerLimitW <= budgets.powerW) {
    return { ...plan, lowerBound: plan.cost, warnings: planWarnings(plan, prepared) }
  }
  return withinPower(prepared, search, objective, budgets.powerW)
}

function objectiveOf({ eta, idlePowerW, maxPowerW, allReduceS }: PreparedJob, budgets: Budgets): Objective {
  return {
    energyWeight: eta,
    timeWeightW: eta * idlePowerW + (1 - eta) * maxPowerW,
    pricePerWatt: 0,
    idlePowerW,
    longestS: (budgets.timeS ?? Number.POSITIVE_INFINITY) - allReduceS,
    mostEnergyJ: (budgets.energyJ ?? Number.POSITIVE_INFINITY) - idlePowerW * allReduceS,
  }
}

/** With a power budget time alone has no price to set against watts; this much energy weight gives it one. */
const LEAST_ENERGY_WEIGHT = 1e-3
const MOST_DOUBLINGS = 40
const PRICE_STEPS = 14

/**
 * Price the watts of the limits so high that their sum keeps the budget: each price gives a lower bound, and each answer within
 * the budget a plan.
 */
function withinPower(prepared: PreparedJob, search: DeadlineSearch, free: Objective, powerW: number): FoundPlan {
  const energyWeight = Math.max(free.energyWeight, LEAST_ENERGY_WEIGHT)
  let lowerBound = Number.NEGATIVE_INFINITY
  let best: TrainingPlan | null = null
  const tryPrice = (pricePerWatt: number): boolean => {
    const split = search.cheapest({ ...free, energyWeight, pricePerWatt })
    if (!split) return false
    const plan = planOf(prepared, split)
    if (energyWeight === free.energyWeight) {
      const constant = plan.cost - (split.cost - energyWeight * pricePerWatt * plan.powerLimitW)
      lowerBound = Math.max(lowerBound, split.cost + constant - energyWeight * pricePerWatt * powerW)
    }
    const keeps = plan.powerLimitW <= powerW
    if (keeps && (best === null || plan.cost < best.cost)) best = plan
    return keeps
  }
  let low = 0
  let high = 1e-3 * Math.max(1, planScale(prepared))
  for (let i = 0; i < MOST_DOUBLINGS && !tryPrice(high); i++) {
    low = high
    high *= 4
  }
  for (let i = 0; i < PRICE_STEPS && best !== null; i++) {
    const middle = low === 0 ? high / 2 : Math.sqrt(low * high)
    if (tryPrice(middle)) high = middle
    else low = middle
  }
  if (best === null) {
    throw new InfeasibleBudgetError(
      `no plan was found whose power limits add up to at most ${powerW} W; the lowest limits of all GPUs make ` +
        `${prepared.curves.reduce((total, { powerLimitsW }) => total + powerLimitsW[0]!, 0)} W`,
    )
  }
  const plan: TrainingPlan = best
  return {
    ...plan,
    lowerBound: Math.min(plan.cost, Math.max(lowerBound, 0)),
    warnings: planWarnings(plan, prepared),
  }
}

/** Seconds of a step at an even split: prices of watts are energies per watt, that is times. */
function planScale({ curves, job }: PreparedJob): number {
  return Math.max(...curves.map((gpu) => gpu.timeS(0, job.globalBatch / curves.length)))
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
    pricePerWatt: 0,
    idlePowerW,
    longestS,
    mostEnergyJ: Number.POSITIVE_INFINITY,
  })
  return planOf(prepared, split!)
}
