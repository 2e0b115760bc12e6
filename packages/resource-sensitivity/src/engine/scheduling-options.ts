import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { assertCluster, type Cluster, totals } from '../cluster.js'
import { assertAtLeast, assertInteger, assertPositive, ImpossibleJobError } from '../errors.js'
import type { AllocationSolver } from '../mechanisms/allocation-solver.js'
import { assertJobProfile, type JobProfile } from '../profile/job-profile.js'
import type { Job } from '../trace.js'

/** Names of the policies, which determine the order in which jobs are served. */
export const policyNames = ['fifo', 'srtf', 'las', 'ftf', 'drf', 'tetris'] as const
export type PolicyName = (typeof policyNames)[number]

/** Names of the mechanisms, which allocate CPU cores and memory to jobs. */
export const mechanismNames = ['fair', 'greedy', 'tune', 'optimal'] as const
export type MechanismName = (typeof mechanismNames)[number]

export interface SchedulingOptions {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  /** Required by the mechanism `optimal`: `await loadAllocationSolver()`. */
  readonly solver?: AllocationSolver
}

export interface EngineOptions extends SchedulingOptions {
  readonly cluster: Cluster
  readonly profiles: readonly JobProfile[]
  /** Power budget of all GPUs, W, until a `budget` event changes it; requires GPU types. Default: no limit. */
  readonly powerBudgetW?: number
  /** Lead time with which an announced budget fall is applied: the time a job may take to exit, s. Default 0. */
  readonly budgetLeadS?: number
  /** Whether the power limit of a running job can change; otherwise it is set at start only. Default true. */
  readonly limitsChange?: boolean
  /** While jobs wait, the policy decides afresh which jobs run at this interval, s; at least 0.1. Default 300. */
  readonly roundS?: number
  /** Time without progress at the first start of a job, s. Default 0. */
  readonly startCostS?: number
  /** Time without progress when a job resumes after preemption or a move (checkpoint, restore), s. Default 0. */
  readonly restartCostS?: number
  /**
   * Time without progress when the CPU, memory or power of a running job changes, s. If above 0, `tune` keeps a job on
   * several servers at the share that is always available. Default 0: resizing is free.
   */
  readonly resizeCostS?: number
  /** Minimum slowdown factor of a job on several servers; a model's own penalty applies if larger. Default 1. */
  readonly spreadPenalty?: number
}

export interface CheckedEngineOptions extends Omit<Required<EngineOptions>, 'solver' | 'powerBudgetW'> {
  readonly solver: AllocationSolver | null
  /** Infinity if there is no limit; null if the cluster names no GPU types. */
  readonly powerBudgetW: number | null
}

/** @throws InvalidInputError, UnknownNameError */
export function checkEngineOptions(options: EngineOptions): CheckedEngineOptions {
  const { cluster, profiles, policy, mechanism } = options
  assertCluster(cluster)
  if (!policyNames.includes(policy)) throw new UnknownNameError('policy', policy, policyNames)
  if (!mechanismNames.includes(mechanism)) throw new UnknownNameError('mechanism', mechanism, mechanismNames)
  if (mechanism === 'optimal' && options.solver === undefined) {
    throw new InvalidInputError('solver', undefined, 'a solver for the mechanism optimal: await loadAllocationSolver()')
  }
  for (const profile of profiles) assertJobProfile(profile)
  const names = new Set(profiles.map(({ model }) => model))
  if (names.size < profiles.length) {
    const twice = profiles.find(({ model }, i) => profiles.findIndex((other) => other.model === model) < i)!
    throw new InvalidInputError('profiles', twice.model, 'one profile per model')
  }
  const powerBudgetW = checkPower(options)
  const { limitsChange = true, solver = null, roundS = 300, spreadPenalty = 1 } = options
  const { budgetLeadS = 0, startCostS = 0, restartCostS = 0, resizeCostS = 0 } = options
  for (const [field, value] of Object.entries({ budgetLeadS, startCostS, restartCostS, resizeCostS })) {
    assertAtLeast(field, value)
  }
  assertAtLeast('spreadPenalty', spreadPenalty, 1)
  // With shorter rounds, a simulation would take too long.
  assertAtLeast('roundS', roundS, 0.1, 'seconds')
  // The journal of a schedule keeps a digest of these fields in this order.
  const power = { powerBudgetW, budgetLeadS, limitsChange }
  const times = { roundS, startCostS, restartCostS, resizeCostS, spreadPenalty }
  return { ...power, cluster, profiles, policy, mechanism, solver, ...times }
}

/** @returns the budget; see `CheckedEngineOptions` */
function checkPower({ cluster, profiles, mechanism, powerBudgetW }: EngineOptions): number | null {
  const types = new Set(cluster.servers.flatMap(({ gpuType }) => gpuType ?? []))
  if (types.size === 0) {
    if (powerBudgetW === undefined) return null
    throw new InvalidInputError('powerBudgetW', powerBudgetW, 'a cluster whose servers have a gpuType, or no budget')
  }
  if (mechanism !== 'fair' && mechanism !== 'tune') {
    throw new InvalidInputError('mechanism', mechanism, 'fair or tune: the others support neither GPU types nor power')
  }
  for (const { model, gpus = [] } of profiles) {
    for (const type of types) {
      if (!gpus.some(({ gpuType }) => gpuType === type)) {
        throw new InvalidInputError(`${model}.gpus`, `none for ${type}`, 'points for each GPU type in the cluster')
      }
    }
  }
  return powerBudgetW ?? Number.POSITIVE_INFINITY
}

/** About 300 years. Much later, durations would be lost to rounding. */
const MAX_ARRIVAL_S = 1e10

/** @throws InvalidInputError, UnknownNameError; ImpossibleJobError if the cluster can never run the job */
export function assertRunnable(job: Job, models: ReadonlyMap<string, unknown>, cluster: Cluster): void {
  if (!models.has(job.model)) throw new UnknownNameError('model', job.model, [...models.keys()])
  if (!(job.arrivalS >= 0 && job.arrivalS <= MAX_ARRIVAL_S)) {
    throw new InvalidInputError(`job ${job.id}: arrivalS`, job.arrivalS, `seconds from 0 to ${MAX_ARRIVAL_S}`)
  }
  assertPositive(`job ${job.id}: iterations`, job.iterations)
  assertInteger(`job ${job.id}: gpus`, job.gpus)
  const { gpus } = totals(cluster)
  if (job.gpus > gpus) throw new ImpossibleJobError(job.id, job.gpus, gpus)
}
