import { InvalidInputError } from '@pctodl/platform'
import type { JobState, Plan, RunningJobState, ScheduleAction } from '../engine/actions.js'
import type { EngineEvent } from '../engine/engine-event.js'
import {
  assertJob,
  type CheckedEngineOptions,
  checkEngineOptions,
  type EngineOptions,
  type MechanismName,
  type PolicyName,
  possibleJobs,
} from '../engine/scheduling-options.js'
import type { MeanUsage } from '../engine/usage-record.js'
import type { ImpossibleJobError } from '../errors.js'
import type { Job } from '../trace/job.js'

export interface SimulationOptions extends EngineOptions {
  readonly jobs: readonly Job[]
  /** What befalls the cluster meanwhile: servers that fail, drain and return, other watts. Each happens at its time, those of one time in this order. */
  readonly incidents?: readonly Incident[]
  /** Leave out jobs that no schedule could run and tell them in the result, instead of ending with the first. Default false. */
  readonly skipImpossible?: boolean
  /** Where GPUs have types: how long a run that was told to stop keeps drawing until it has left, s. Default 0. */
  readonly stopS?: number
  /** Told of every change of who runs where with what. */
  readonly onPlan?: (plan: Plan) => void
  /** Told of what the engine wants done, whenever that is anything. */
  readonly onActions?: (timeS: number, actions: readonly ScheduleAction[]) => void
}

/** Something that an engine is told at a time, on the clock of the arrivals. */
export interface Incident {
  readonly atS: number
  readonly event: EngineEvent
}

export interface PlanOptions
  extends Omit<SimulationOptions, 'onPlan' | 'onActions' | 'incidents' | 'roundS' | 'startCostS'> {
  /** The moment of the decision, on the clock of the jobs' arrivals; jobs that arrive later take no part. */
  readonly nowS?: number
  /** Who runs, where, with what: the `running` of the plan before serves. Default: nobody. */
  readonly running?: readonly RunningJobState[]
  /** Of jobs that wait and have run before. */
  readonly waiting?: readonly JobState[]
}

/** What checked options are, with every default in its place. */
export interface CheckedOptions extends CheckedEngineOptions {
  /** Without those that are skipped, in the order of their arrival. */
  readonly jobs: readonly Job[]
  readonly skipped: readonly ImpossibleJobError[]
  readonly incidents: readonly Incident[]
}

/** @throws InvalidInputError, UnknownNameError, ImpossibleJobError */
export function checkOptions(options: SimulationOptions): CheckedOptions {
  const { cluster, jobs, profiles, incidents = [] } = options
  const checked = checkEngineOptions(options)
  const models = new Set(profiles.map(({ model }) => model))
  const ids = new Set<number>()
  for (const job of jobs) {
    if (ids.has(job.id)) throw new InvalidInputError('jobs', job.id, 'ids of their own')
    ids.add(job.id)
    assertJob(job, models)
  }
  if (jobs.length === 0) throw new InvalidInputError('jobs', 'none', 'at least one job')
  const { possible, skipped } = possibleJobs(jobs, cluster)
  if (skipped.length > 0 && options.skipImpossible !== true) throw skipped[0]!
  if (possible.length === 0) {
    throw new InvalidInputError('jobs', `${jobs.length} that can never run`, 'at least one that the cluster can run')
  }
  incidents.forEach(({ atS }, i) => {
    if (!(atS >= 0 && Number.isFinite(atS))) {
      throw new InvalidInputError(`incidents[${i}].atS`, atS, 'seconds of at least 0')
    }
  })
  return {
    ...checked,
    jobs: [...possible].sort((a, b) => a.arrivalS - b.arrivalS || a.id - b.id),
    skipped,
    incidents: [...incidents].sort((a, b) => a.atS - b.atS),
  }
}

export interface JobResult {
  readonly job: Job
  readonly firstStartS: number
  readonly finishS: number
  readonly completionS: number
  readonly waitedS: number
  readonly attainedGpuS: number
  /** How often it went on after being preempted or moved. */
  readonly restarts: number
  /** Completion time over the time that its work takes alone on the cluster with its fair share: Themis' rho. */
  readonly rho: number
}

export interface SimulationResult {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  /** Every job of the trace that could run, in its order. */
  readonly jobs: readonly JobResult[]
  /** Jobs that no schedule could run; empty unless `skipImpossible` asked for that. */
  readonly skipped: readonly ImpossibleJobError[]
  readonly firstArrivalS: number
  readonly lastFinishS: number
  /** Moments at which the policy decided anew who runs. */
  readonly rounds: number
  readonly events: number
  /** Over the run. */
  readonly usage: MeanUsage
  /** Mean part of the GPUs idle while at least one job waited, 0..1 of the whole run. */
  readonly idleWhileWaiting: number
  /** Part of the held GPU time that belonged to jobs on more than one server, 0..1. */
  readonly spreadShare: number
  /** Where GPUs have types: drawn from each moment on, and what was allowed, W. */
  readonly power?: readonly { readonly fromS: number; readonly powerW: number; readonly powerBudgetW: number }[]
  /** Where GPUs have types: of all GPUs from the first arrival on, idle ones included, J. */
  readonly energyJ?: number
}
