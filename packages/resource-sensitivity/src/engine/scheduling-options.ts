import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { assertCluster, type Cluster, countGpus } from '../cluster/cluster.js'
import { ImpossibleJobError } from '../errors.js'
import type { AllocationSolver } from '../mechanisms/allocation-solver.js'
import { assertJobProfile, type JobProfile } from '../profile/job-profile.js'
import type { Job } from '../trace/job.js'

/** In which order jobs are served. */
export const policyNames = ['fifo', 'srtf', 'las', 'ftf', 'drf', 'tetris'] as const
export type PolicyName = (typeof policyNames)[number]

/** How CPU cores and memory are given out beside the GPUs. */
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
  /** Of all GPUs together, W, until an event `budget` says otherwise; needs types of GPUs. Default: no limit. */
  readonly powerBudgetW?: number
  /** A fall of the budget that is known is heeded so long before its time: as long as a job may take to leave. Default 0 s. */
  readonly budgetLeadS?: number
  /** Whether the power limit of a running job can be changed; else only who starts is given one. Default true. */
  readonly limitsChange?: boolean
  /** While jobs wait, the policy decides anew who runs every so many seconds. Default 300. */
  readonly roundS?: number
  /** Seconds without progress when a job starts for the first time. Default 0. */
  readonly startCostS?: number
  /** Seconds without progress whenever a job goes on after it was preempted or moved (checkpoint, restore). Default 0. */
  readonly restartCostS?: number
  /**
   * Seconds without progress whenever a running job is given more or less beside its GPUs. Where it costs, `tune` resizes only where that is
   * needed for others' fair shares or saves more GPU time than it costs. Default 0: shares of running jobs change at no cost.
   */
  readonly resizeCostS?: number
  /** Least factor by which a job on more than one server is slower; a model's own penalty holds where it is larger. Default 1. */
  readonly spreadPenalty?: number
  /** A job that has not run for so long goes first, whatever the policy (FIFO needs no such rule). Default 3 600 000 s. */
  readonly starvationAfterS?: number
}

/** What checked options are, with every default in its place. */
export interface CheckedEngineOptions extends Omit<Required<EngineOptions>, 'solver' | 'powerBudgetW'> {
  readonly solver: AllocationSolver | null
  /** Infinity where there is no limit; null where the cluster does not say what its GPUs are. */
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
    throw new InvalidInputError('profiles', twice.model, 'one profile for each model')
  }
  return {
    powerBudgetW: checkPower(options),
    budgetLeadS: atLeast('budgetLeadS', options.budgetLeadS ?? 0, 0),
    limitsChange: options.limitsChange ?? true,
    cluster,
    profiles,
    policy,
    mechanism,
    solver: options.solver ?? null,
    roundS: atLeast('roundS', options.roundS ?? 300, 0, true),
    startCostS: atLeast('startCostS', options.startCostS ?? 0, 0),
    restartCostS: atLeast('restartCostS', options.restartCostS ?? 0, 0),
    resizeCostS: atLeast('resizeCostS', options.resizeCostS ?? 0, 0),
    spreadPenalty: atLeast('spreadPenalty', options.spreadPenalty ?? 1, 1),
    starvationAfterS: atLeast('starvationAfterS', options.starvationAfterS ?? 1000 * 3600, 0, true),
  }
}

/** @returns the budget, see `CheckedEngineOptions` */
function checkPower({ cluster, profiles, mechanism, powerBudgetW }: EngineOptions): number | null {
  const types = new Set(cluster.servers.flatMap(({ gpuType }) => gpuType ?? []))
  if (types.size === 0) {
    if (powerBudgetW === undefined) return null
    throw new InvalidInputError('powerBudgetW', powerBudgetW, 'a cluster whose servers have a gpuType, or no budget')
  }
  if (mechanism !== 'fair' && mechanism !== 'tune') {
    throw new InvalidInputError('mechanism', mechanism, 'fair or tune: the others know neither types of GPUs nor watts')
  }
  for (const { model, gpus = [] } of profiles) {
    for (const type of types) {
      if (!gpus.some(({ gpuType }) => gpuType === type)) {
        throw new InvalidInputError(`${model}.gpus`, `nothing of ${type}`, 'points of each type of GPU in the cluster')
      }
    }
  }
  return powerBudgetW ?? Number.POSITIVE_INFINITY
}

/** @throws InvalidInputError, UnknownNameError for a job that is none, whatever the cluster */
export function assertJob(job: Job, models: ReadonlySet<string> | ReadonlyMap<string, unknown>): void {
  if (!models.has(job.model)) throw new UnknownNameError('model', job.model, [...models.keys()])
  if (!(job.arrivalS >= 0 && Number.isFinite(job.arrivalS))) {
    throw new InvalidInputError(`job ${job.id}: arrivalS`, job.arrivalS, 'seconds of at least 0')
  }
  if (!(job.iterations > 0 && Number.isFinite(job.iterations))) {
    throw new InvalidInputError(`job ${job.id}: iterations`, job.iterations, 'a positive number')
  }
  if (!(Number.isInteger(job.gpus) && job.gpus >= 1)) {
    throw new InvalidInputError(`job ${job.id}: gpus`, job.gpus, 'an integer of at least 1')
  }
}

/** Jobs that the cluster could run, and an error for each that it never can. */
export function possibleJobs(
  jobs: readonly Job[],
  cluster: Cluster,
): { readonly possible: readonly Job[]; readonly skipped: readonly ImpossibleJobError[] } {
  const gpus = countGpus(cluster)
  const skipped = jobs
    .filter((job) => job.gpus > gpus)
    .map(
      (job) =>
        new ImpossibleJobError(
          job.id,
          `it needs ${job.gpus} GPUs and the cluster has ${gpus}`,
          'remove it from the trace, enlarge the cluster or skip such jobs (skipImpossible, --skip-impossible)',
        ),
    )
  return { possible: skipped.length === 0 ? jobs : jobs.filter((job) => job.gpus <= gpus), skipped }
}

function atLeast(field: string, value: number, least: number, above = false): number {
  if (!Number.isFinite(value) || value < least || (above && value === least)) {
    throw new InvalidInputError(field, value, `a number ${above ? 'above' : 'of at least'} ${least}`)
  }
  return value
}
