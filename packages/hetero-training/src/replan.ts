import { InvalidInputError } from '@pctodl/platform'
import { type Budgets, findPlan, InfeasibleBudgetError, keepsBudgets } from './find-plan.js'
import { prepareJob, type TrainingJob } from './training-job.js'
import { type Assignment, evaluateAssignments, settingIndex, type TrainingPlan } from './training-plan.js'

export interface ReplanOptions {
  /** Least relative saving of cost for which running shares are changed. Default 0.05. */
  readonly minGain?: number
  /** Rounds in a row that must promise it. Default 3. */
  readonly rounds?: number
  /** Weight of a new round in what is believed of a GPU's speed, above 0, at most 1. Default 0.5. */
  readonly newWeight?: number
}

/** What a round of steps showed of one GPU. */
export interface GpuReport {
  readonly name: string
  /**
   * Mean time that it computed in a step, waiting not included, s; null for a GPU that has dropped out. `back` for one that has no share, because
   * it dropped out or was too slow, and is taken to be as its profile says again: nobody measures a GPU that does nothing.
   */
  readonly timeS: number | null | 'back'
}

/** What is believed and done; made by `startReplanning`, and not changed by anybody. */
export interface ReplanState {
  readonly job: TrainingJob
  readonly budgets: Budgets
  /** In force. */
  readonly plan: TrainingPlan
  /** Name of a GPU -> its time over what its profile says: above 1 for one that throttles. Those that dropped out are not in it. */
  readonly slowdowns: ReadonlyMap<string, number>
  /** Rounds in a row in which another plan promised enough. */
  readonly promising: number
}

export interface ReplanAnswer {
  readonly state: ReplanState
  /** `change`: carry `state.plan` out from the next step on. */
  readonly action: 'keep' | 'change'
  /** Relative saving of cost by the best plan now over the one that was in force, negative where that breaks the budgets; infinite where a GPU of that has dropped out. */
  readonly gain: number
}

/** @throws InvalidInputError for a bad job; InfeasibleBudgetError where no plan keeps the budgets */
export function startReplanning(job: TrainingJob, budgets: Budgets = {}): ReplanState {
  const slowdowns = new Map(job.gpus.map(({ profile }) => [profile.name, 1]))
  return { job, budgets, plan: findPlan(job, budgets), slowdowns, promising: 0 }
}

/**
 * What to do after a round of steps: a GPU that computes slower than its profile says (heat, a neighbour, a lower clock) is believed to do so
 * at all shares and limits, at the same power; a new split is carried out once it has promised enough for several rounds in a row, by what is
 * believed and by half as much in what each of them showed itself, so that neither noise nor a single long step moves anything. So is one where the running plan no longer keeps the budgets, whatever it costs. A GPU that drops out is planned around at once. No clock, no processes: measurements in, shares out.
 *
 * @param reports one for each GPU that has a share; those that the plan leaves out may be missing
 * @throws InvalidInputError for a report of an unknown GPU or of no time, and for a missing one; InfeasibleBudgetError where those that are left
 *   cannot keep the budgets, after a drop-out at once and else for `rounds` in a row, or none is left
 */
export function replan(state: ReplanState, reports: readonly GpuReport[], options: ReplanOptions = {}): ReplanAnswer {
  const { minGain = 0.05, rounds = 3, newWeight = 0.5 } = options
  assertOptions(minGain, rounds, newWeight)
  const { plan, budgets } = state
  assertReports(state, reports)
  const { slowdowns, shown, isBroken } = learned(state, reports, newWeight)
  if (slowdowns.size === 0) throw new InfeasibleBudgetError('no GPU is left to train on: all have dropped out')
  const believed = believedJob(state.job, slowdowns)
  let best: TrainingPlan
  try {
    best = findPlan(believed, budgets)
  } catch (error) {
    // By what is believed nothing keeps the budgets: that is said once as many rounds as a change takes have shown it themselves.
    if (isBroken || !(error instanceof InfeasibleBudgetError)) throw error
    const isShown = !isFeasible(believedJob(state.job, shown), budgets)
    if (isShown && state.promising + 1 >= rounds) throw error
    return { state: { ...state, slowdowns, promising: isShown ? state.promising + 1 : 0 }, action: 'keep', gain: 0 }
  }
  const running = isBroken ? null : asBelieved(believed, plan)
  const gain = running === null ? Number.POSITIVE_INFINITY : 1 - best.cost / running.cost
  const isDue = running === null || gain >= minGain || !keepsBudgets(running, budgets)
  const isShown = () => {
    const now = believedJob(state.job, shown)
    const [keeping, changing] = [asBelieved(now, plan), asBelieved(now, best)]
    return 1 - changing.cost / keeping.cost >= minGain / 2 || !keepsBudgets(keeping, budgets)
  }
  const promising = isDue && !isSame(best, plan) && (isBroken || isShown()) ? state.promising + 1 : 0
  if (isBroken || promising >= rounds) {
    return { state: { ...state, slowdowns, promising: 0, plan: withAll(state.job, best) }, action: 'change', gain }
  }
  return { state: { ...state, slowdowns, promising }, action: 'keep', gain }
}

/** What is believed of each GPU with a round more, what that round itself shows, and whether the running plan has lost a GPU. */
function learned({ job, plan, slowdowns: before }: ReplanState, reports: readonly GpuReport[], newWeight: number) {
  const { curves } = prepareJob(job)
  const [slowdowns, shown] = [new Map(before), new Map(before)]
  let isBroken = false
  for (const { name, timeS } of reports) {
    const gpu = plan.gpus.find((each) => each.name === name)!
    if (timeS === null) {
      slowdowns.delete(name)
      shown.delete(name)
      isBroken ||= gpu.share > 0
    } else if (timeS === 'back') {
      slowdowns.set(name, 1)
      shown.set(name, 1)
    } else if (gpu.powerLimitW !== null) {
      const own = curves.find((each) => each.name === name)!
      const measured = timeS / own.timeS(settingIndex(own, { ...gpu, powerLimitW: gpu.powerLimitW }), gpu.share)
      shown.set(name, measured)
      slowdowns.set(name, (1 - newWeight) * slowdowns.get(name)! + newWeight * measured)
    }
  }
  return { slowdowns, shown, isBroken }
}

function isFeasible(job: TrainingJob, budgets: Budgets): boolean {
  try {
    findPlan(job, budgets)
    return true
  } catch (error) {
    if (error instanceof InfeasibleBudgetError) return false
    throw error
  }
}

/** The job of the GPUs that are left, as slow as they are believed to be. */
function believedJob(job: TrainingJob, slowdowns: ReadonlyMap<string, number>): TrainingJob {
  const gpus = job.gpus.flatMap((gpu) => {
    const slowdown = slowdowns.get(gpu.profile.name)
    if (slowdown === undefined) return []
    const rows = gpu.profile.rows.map((row) => ({
      ...row,
      timeS: slowdown * row.timeS,
      energyJ: slowdown * row.energyJ,
    }))
    return [{ ...gpu, profile: { ...gpu.profile, rows } }]
  })
  return { ...job, gpus }
}

function asBelieved(job: TrainingJob, plan: TrainingPlan): TrainingPlan {
  const assignments = job.gpus.map(({ profile }): Assignment => {
    const { share, powerLimitW, smClockMhz } = plan.gpus.find(({ name }) => name === profile.name)!
    return { share, powerLimitW, smClockMhz }
  })
  return evaluateAssignments(prepareJob(job), assignments)
}

function isSame(best: TrainingPlan, plan: TrainingPlan): boolean {
  return best.gpus.every(({ name, share, powerLimitW, smClockMhz }) => {
    const running = plan.gpus.find((gpu) => gpu.name === name)!
    return running.share === share && running.powerLimitW === powerLimitW && (running.smClockMhz ?? null) === smClockMhz
  })
}

/** With those that dropped out, which have no share. */
function withAll(job: TrainingJob, plan: TrainingPlan): TrainingPlan {
  const gone = {
    share: 0,
    powerLimitW: null,
    smClockMhz: null,
    timeS: 0,
    waitS: 0,
    powerW: 0,
    energyJ: 0,
    microBatches: 1,
    extrapolated: false,
  }
  return {
    ...plan,
    gpus: job.gpus.map(({ profile: { name } }) => plan.gpus.find((gpu) => gpu.name === name) ?? { ...gone, name }),
  }
}

function assertOptions(minGain: number, rounds: number, newWeight: number): void {
  if (!(minGain >= 0 && minGain < 1)) throw new InvalidInputError('minGain', minGain, 'at least 0 and below 1')
  if (!Number.isInteger(rounds) || rounds < 1) throw new InvalidInputError('rounds', rounds, 'an integer of at least 1')
  if (!(newWeight > 0 && newWeight <= 1)) throw new InvalidInputError('newWeight', newWeight, 'above 0 and at most 1')
}

function assertReports({ plan, slowdowns }: ReplanState, reports: readonly GpuReport[]): void {
  const twice = reports.find(({ name }, i) => reports.findIndex((other) => other.name === name) < i)
  if (twice !== undefined) throw new InvalidInputError('reports', `${twice.name} twice`, 'one of each GPU')
  for (const { name, timeS } of reports) {
    const gpu = plan.gpus.find((each) => each.name === name)
    if (gpu !== undefined && gpu.share === 0 && timeS === 'back') continue
    if (!slowdowns.has(name)) {
      throw new InvalidInputError('reports', name, `GPUs that take part: ${[...slowdowns.keys()].join(', ')}`)
    }
    if (timeS === 'back') {
      throw new InvalidInputError(
        `reports: ${name}`,
        timeS,
        `its time: it has a share of ${gpu!.share}, so that it was measured`,
      )
    }
    if (timeS !== null && !(timeS > 0 && Number.isFinite(timeS))) {
      throw new InvalidInputError(
        `reports: ${name}`,
        timeS,
        'a positive number of seconds, or null where it dropped out',
      )
    }
  }
  const missing = plan.gpus.find(({ name, share }) => share > 0 && !reports.some((report) => report.name === name))
  if (missing !== undefined) {
    throw new InvalidInputError('reports', `none of ${missing.name}`, 'one of each GPU that has a share')
  }
}
