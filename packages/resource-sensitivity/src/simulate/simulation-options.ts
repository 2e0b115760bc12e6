import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { assertCluster, type Cluster, countGpus } from '../cluster/cluster.js'
import { ImpossibleJobError } from '../errors.js'
import { assertJobProfile, type JobProfile } from '../matrix/job-profile.js'
import type { AllocationSolver, AllocationWeight } from '../optimal/allocation-problem.js'
import type { Job } from '../trace/job.js'
import { type MechanismName, mechanismNames, type PolicyName, policyNames } from './policy.js'

export interface SchedulingOptions {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  /** What `tune` and `optimal` maximise. Default `job`. */
  readonly weight?: AllocationWeight
  /** Required by the mechanism `optimal`: `await loadAllocationSolver()`. */
  readonly solver?: AllocationSolver
}

export interface SimulationOptions extends SchedulingOptions {
  readonly cluster: Cluster
  readonly jobs: readonly Job[]
  readonly profiles: readonly JobProfile[]
  /** While jobs wait, the policy decides anew who runs every so many seconds. Default 300. */
  readonly roundS?: number
  /** Seconds without progress whenever a job goes on after it was preempted or moved (checkpoint, restore). Default 0. */
  readonly restartCostS?: number
  /** Least factor by which a job on more than one server is slower; a model's own penalty holds where it is larger. Default 1. */
  readonly spreadPenalty?: number
  /** A job that has not run for so long goes first, whatever the policy (FIFO needs no such rule). Default 3 600 000 s. */
  readonly starvationAfterS?: number
  /** Leave out jobs that no schedule could run and tell them in the result, instead of ending with the first. Default false. */
  readonly skipImpossible?: boolean
  /** Told of every change of who runs where with what. */
  readonly onPlan?: (plan: Plan) => void
}

/** Who runs where, with what, at one moment. */
export interface Plan {
  readonly timeS: number
  readonly running: readonly PlannedJob[]
  /** Ids of the jobs that wait. */
  readonly waiting: readonly number[]
}

export interface PlannedJob {
  readonly jobId: number
  readonly placement: readonly { readonly server: number; readonly gpus: number }[]
  readonly cpusPerGpu: number
  readonly memoryGbPerGpu: number
  /** Relative to the model's base point; without the penalty for being spread. */
  readonly throughput: number
}

/** What has become of a job so far. */
export interface JobState {
  readonly jobId: number
  /** Of the job's iterations. Default 0. */
  readonly doneIterations?: number
  /** GPU-seconds that it has had. Default 0. */
  readonly attainedGpuS?: number
  /** When it last ran; where it waits. Default: its arrival. */
  readonly lastRunS?: number
}

/** A job that runs: as a plan says it, and what has become of it. */
export interface RunningJobState extends PlannedJob, JobState {}

/** One decision of a scheduler, see `planNow`. */
export interface PlanOptions extends Omit<SimulationOptions, 'onPlan' | 'roundS' | 'restartCostS'> {
  /** The moment of the decision, on the clock of the jobs' arrivals; jobs that arrive later take no part. */
  readonly nowS?: number
  /** Who runs, where, with what: the `running` of the plan before serves. Default: nobody. */
  readonly running?: readonly RunningJobState[]
  /** Of jobs that wait and have run before. */
  readonly waiting?: readonly JobState[]
}

/** What checked options are, with every default in its place. */
export interface CheckedOptions {
  readonly cluster: Cluster
  /** Without those that are skipped. */
  readonly jobs: readonly Job[]
  readonly skipped: readonly ImpossibleJobError[]
  readonly profiles: readonly JobProfile[]
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  readonly weight: AllocationWeight
  readonly solver: AllocationSolver | null
  readonly roundS: number
  readonly restartCostS: number
  readonly spreadPenalty: number
  readonly starvationAfterS: number
  readonly onPlan: ((plan: Plan) => void) | null
}

/** @throws InvalidInputError, UnknownNameError, ImpossibleJobError */
export function checkOptions(options: SimulationOptions): CheckedOptions {
  const { cluster, jobs, profiles, policy, mechanism, weight = 'job' } = options
  assertCluster(cluster)
  if (!policyNames.includes(policy)) throw new UnknownNameError('policy', policy, policyNames)
  if (!mechanismNames.includes(mechanism)) throw new UnknownNameError('mechanism', mechanism, mechanismNames)
  if (weight !== 'job' && weight !== 'gpu') throw new UnknownNameError('weight', weight, ['job', 'gpu'])
  if (mechanism === 'optimal' && options.solver === undefined) {
    throw new InvalidInputError('solver', undefined, 'a solver for the mechanism optimal: await loadAllocationSolver()')
  }
  for (const profile of profiles) assertJobProfile(profile)
  const names = new Set(profiles.map(({ model }) => model))
  if (names.size < profiles.length) {
    const twice = profiles.find(({ model }, i) => profiles.findIndex((other) => other.model === model) < i)!
    throw new InvalidInputError('profiles', twice.model, 'one profile for each model')
  }
  const ids = new Set<number>()
  for (const job of jobs) {
    if (ids.has(job.id)) throw new InvalidInputError('jobs', job.id, 'ids of their own')
    ids.add(job.id)
    if (!names.has(job.model)) throw new UnknownNameError('model', job.model, [...names])
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
  const { possible, skipped } = possibleJobs(jobs, cluster)
  if (skipped.length > 0 && options.skipImpossible !== true) throw skipped[0]!
  if (possible.length === 0 && jobs.length > 0) {
    throw new InvalidInputError('jobs', `${jobs.length} that can never run`, 'at least one that the cluster can run')
  }
  return {
    cluster,
    jobs: possible,
    skipped,
    profiles,
    policy,
    mechanism,
    weight,
    solver: options.solver ?? null,
    roundS: atLeast('roundS', options.roundS ?? 300, 0, true),
    restartCostS: atLeast('restartCostS', options.restartCostS ?? 0, 0),
    spreadPenalty: atLeast('spreadPenalty', options.spreadPenalty ?? 1, 1),
    starvationAfterS: atLeast('starvationAfterS', options.starvationAfterS ?? 1000 * 3600, 0, true),
    onPlan: options.onPlan ?? null,
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
