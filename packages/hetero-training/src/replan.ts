import { type Budgets, findPlan, InfeasibleBudgetError, keepsBudgets, planOrReason } from './find-plan.js'
import { assertInput, assertPositiveInteger, repeated } from './input-checks.js'
import type { ProfileRow } from './profile/gpu-profile.js'
import { prepareJob, type TrainingJob } from './training-job.js'
import { evaluateAssignments, settingIndex, type TrainingPlan } from './training-plan.js'

export interface ReplanOptions {
  /** Minimum relative cost saving that justifies new shares. Default 0.05. */
  readonly minGain?: number
  /** Number of consecutive rounds that must predict this saving. Default 3. */
  readonly rounds?: number
  /** Weight of a new round in the estimate of a GPU's speed, above 0, at most 1. Default 0.5. */
  readonly newWeight?: number
}

export interface GpuReport {
  readonly name: string
  /**
   * Mean compute time per step, without waiting, s; null for a GPU that has dropped out. `back` means that a GPU
   * without a share (dropped out or too slow) is available again. It is assumed to be as fast as its profile, since an
   * idle GPU cannot be measured.
   */
  readonly timeS: number | null | 'back'
}

/** Immutable state of replanning: estimates and the current plan. Created by `startReplanning`. */
export interface ReplanState {
  readonly job: TrainingJob
  readonly budgets: Budgets
  readonly plan: TrainingPlan
  /** Measured time over profiled time, by GPU name: above 1 for a GPU that throttles. Absent after a drop-out. */
  readonly slowdowns: ReadonlyMap<string, number>
  /** Consecutive rounds in which another plan predicted enough savings. */
  readonly promising: number
}

export interface ReplanAnswer {
  readonly state: ReplanState
  /** `change`: carry out `state.plan` from the next step on. */
  readonly action: 'keep' | 'change'
  /** Relative cost saving of the best plan over the previous one; infinite if one of its GPUs has dropped out. */
  readonly gain: number
}

/** @throws InvalidInputError for an invalid job; InfeasibleBudgetError if no plan meets the budgets */
export function startReplanning(job: TrainingJob, budgets: Budgets = {}): ReplanState {
  const slowdowns = new Map(job.gpus.map(({ profile }) => [profile.name, 1]))
  return { job, budgets, plan: findPlan(job, budgets), slowdowns, promising: 0 }
}

/**
 * Decides what to do after a round of steps. A GPU that computes slower than its profile (heat, co-runners, a lower
 * clock) is assumed slower by the same factor at all shares and limits, at the same power.
 *
 * A new split is adopted once it has predicted enough savings for several consecutive rounds, by the running estimate
 * and, to at least half that amount, by each round alone. So neither noise nor a single slow step triggers a change.
 * The same rule applies if the current plan no longer meets the budgets. A drop-out is replanned around at once.
 *
 * @param reports one for each GPU with a share; optional for GPUs the plan leaves out
 * @throws InvalidInputError for invalid or missing reports; InfeasibleBudgetError if the remaining GPUs cannot meet the
 *   budgets (at once after a drop-out, otherwise after `rounds` consecutive rounds), or if no GPU is left
 */
export function replan(state: ReplanState, reports: readonly GpuReport[], options: ReplanOptions = {}): ReplanAnswer {
  const { minGain = 0.05, rounds = 3, newWeight = 0.5 } = options
  assertInput(minGain >= 0 && minGain < 1, 'minGain', minGain, 'at least 0 and below 1')
  assertPositiveInteger('rounds', rounds)
  assertInput(newWeight > 0 && newWeight <= 1, 'newWeight', newWeight, 'above 0 and at most 1')
  const { plan, budgets } = state
  assertReports(state, reports)
  const { slowdowns, shown, isBroken } = learned(state, reports, newWeight)
  if (slowdowns.size === 0) throw new InfeasibleBudgetError('no GPU is left to train on: all have dropped out')
  const believed = believedJob(state.job, slowdowns)
  const best = planOrReason(believed, budgets)
  if (best instanceof InfeasibleBudgetError) {
    // The estimates meet no budget. An error is thrown only after as many consecutive rounds as a change requires.
    const isShown = planOrReason(believedJob(state.job, shown), budgets) instanceof InfeasibleBudgetError
    const promising = isShown ? state.promising + 1 : 0
    if (isBroken || promising >= rounds) throw best
    return { state: { ...state, slowdowns, promising }, action: 'keep', gain: 0 }
  }
  const running = isBroken ? null : asBelieved(believed, plan)
  const gain = running === null ? Infinity : 1 - best.cost / running.cost
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

/** Returns the updated estimates, the values of this round alone, and whether the current plan has lost a GPU. */
function learned({ job, plan, slowdowns: before }: ReplanState, reports: readonly GpuReport[], newWeight: number) {
  const { curves } = prepareJob(job)
  const [slowdowns, shown] = [new Map(before), new Map(before)]
  let isBroken = false
  for (const { name, timeS } of reports) {
    const { share, powerLimitW, smClockMhz } = plan.gpus.find((gpu) => gpu.name === name)!
    if (timeS === null) {
      for (const estimates of [slowdowns, shown]) estimates.delete(name)
      isBroken ||= share > 0
    } else if (timeS === 'back') {
      for (const estimates of [slowdowns, shown]) estimates.set(name, 1)
    } else if (powerLimitW !== null) {
      const own = curves.find((gpu) => gpu.name === name)!
      const measured = timeS / own.timeS(settingIndex(own, { powerLimitW, smClockMhz }), share)
      shown.set(name, measured)
      slowdowns.set(name, (1 - newWeight) * slowdowns.get(name)! + newWeight * measured)
    }
  }
  return { slowdowns, shown, isBroken }
}

function believedJob(job: TrainingJob, slowdowns: ReadonlyMap<string, number>): TrainingJob {
  const gpus = job.gpus.flatMap((gpu) => {
    const slowdown = slowdowns.get(gpu.profile.name)
    if (slowdown === undefined) return []
    const slowed = ({ timeS, energyJ }: ProfileRow) => ({ timeS: slowdown * timeS, energyJ: slowdown * energyJ })
    const rows = gpu.profile.rows.map((row) => ({ ...row, ...slowed(row) }))
    return [{ ...gpu, profile: { ...gpu.profile, rows } }]
  })
  return { ...job, gpus }
}

function asBelieved(job: TrainingJob, plan: TrainingPlan): TrainingPlan {
  const assignments = job.gpus.map(({ profile }) => plan.gpus.find(({ name }) => name === profile.name)!)
  return evaluateAssignments(prepareJob(job), assignments)
}

function isSame(best: TrainingPlan, plan: TrainingPlan): boolean {
  return best.gpus.every(({ name, share, powerLimitW, smClockMhz }) => {
    const running = plan.gpus.find((gpu) => gpu.name === name)!
    return running.share === share && running.powerLimitW === powerLimitW && running.smClockMhz === smClockMhz
  })
}

/** Adds the GPUs that dropped out to a plan, without a share. */
function withAll(job: TrainingJob, plan: TrainingPlan): TrainingPlan {
  const nothing = { share: 0, powerLimitW: null, smClockMhz: null, microBatches: 1, extrapolated: false }
  const gone = { ...nothing, timeS: 0, waitS: 0, powerW: 0, energyJ: 0 }
  const gpus = job.gpus.map(({ profile: { name } }) => plan.gpus.find((gpu) => gpu.name === name) ?? { ...gone, name })
  return { ...plan, gpus }
}

function assertReports({ plan, slowdowns }: ReplanState, reports: readonly GpuReport[]): void {
  const twice = repeated(reports.map(({ name }) => name))
  assertInput(twice === undefined, 'reports', `${twice} twice`, 'one per GPU')
  for (const { name, timeS } of reports) {
    const share = plan.gpus.find((gpu) => gpu.name === name)?.share
    if (share === 0 && timeS === 'back') continue
    const known = [...slowdowns.keys()]
    assertInput(known.includes(name), 'reports', name, `participating GPUs: ${known.join(', ')}`)
    const field = `reports: ${name}`
    assertInput(timeS !== 'back', field, timeS, `its time: it has a share of ${share}, so it was measured`)
    const isTime = timeS === null || (timeS > 0 && Number.isFinite(timeS))
    assertInput(isTime, field, timeS, 'a positive number of seconds, or null if it dropped out')
  }
  const missing = plan.gpus.find(({ name, share }) => share > 0 && !reports.some((report) => report.name === name))
  assertInput(missing === undefined, 'reports', `none of ${missing?.name}`, 'one per GPU with a share')
}
