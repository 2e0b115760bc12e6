import { InvalidInputError } from '@pctodl/platform'
import { assertAtLeast } from '../checks.js'
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
  /**
   * Incidents: servers that fail, drain and return, and changes of the power budget. Each happens at its time;
   * simultaneous ones in this order.
   */
  readonly incidents?: readonly Incident[]
  /** Lists jobs that no schedule could run in the result, instead of throwing for the first. Default false. */
  readonly skipImpossible?: boolean
  /** With GPU types: time for which a stopped run keeps drawing power until it exits, s. Default 0. */
  readonly stopS?: number
  /** Called for every change of placements or shares. */
  readonly onPlan?: (plan: Plan) => void
  /** Called with the engine's actions, if there are any. */
  readonly onActions?: (timeS: number, actions: readonly ScheduleAction[]) => void
}

/** An engine event and its time, on the clock of the arrivals. */
export interface Incident {
  readonly atS: number
  readonly event: EngineEvent
}

export interface PlanOptions
  extends Omit<SimulationOptions, 'onPlan' | 'onActions' | 'incidents' | 'roundS' | 'startCostS'> {
  /** Time of the decision, on the clock of the jobs' arrivals; jobs that arrive later are ignored. */
  readonly nowS?: number
  /** Running jobs with placements and grants, e.g. `running` of the previous plan. Default: none. */
  readonly running?: readonly RunningJobState[]
  /** State of waiting jobs that have run before. */
  readonly waiting?: readonly JobState[]
}

export interface CheckedOptions extends CheckedEngineOptions {
  /** Without skipped jobs, in order of arrival. */
  readonly jobs: readonly Job[]
  readonly skipped: readonly ImpossibleJobError[]
  readonly incidents: readonly Incident[]
}

/** @throws InvalidInputError, UnknownNameError, ImpossibleJobError */
export function checkOptions(options: SimulationOptions): CheckedOptions {
  const { cluster, jobs, profiles, incidents = [] } = options
  const checked = checkEngineOptions(options)
  const models = new Map(profiles.map((profile) => [profile.model, profile]))
  const ids = new Set<number>()
  for (const job of jobs) {
    if (ids.has(job.id)) throw new InvalidInputError('jobs', job.id, 'unique IDs')
    ids.add(job.id)
    assertJob(job, models)
  }
  if (jobs.length === 0) throw new InvalidInputError('jobs', 'none', 'at least one job')
  const { possible, skipped } = possibleJobs(jobs, cluster)
  if (skipped.length > 0 && options.skipImpossible !== true) throw skipped[0]!
  if (possible.length === 0) {
    throw new InvalidInputError('jobs', `${jobs.length} that can never run`, 'at least one the cluster can run')
  }
  incidents.forEach(({ atS }, i) => {
    assertAtLeast(`incidents[${i}].atS`, atS, 0, 'seconds')
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
  /** Number of times it resumed after preemption or a move. */
  readonly restarts: number
  /** Completion time over the time of the same work alone on the cluster with its fair share: Themis' rho. */
  readonly rho: number
}

export interface SimulationResult {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  /** Every runnable job of the trace, in its order. */
  readonly jobs: readonly JobResult[]
  /** Jobs that no schedule could run; empty without `skipImpossible`. */
  readonly skipped: readonly ImpossibleJobError[]
  readonly firstArrivalS: number
  readonly lastFinishS: number
  /** Number of times the policy decided afresh which jobs run. */
  readonly rounds: number
  readonly events: number
  /** Over the run. */
  readonly usage: MeanUsage
  /** Mean fraction of the GPUs idle while at least one job waited, 0..1 over the whole run. */
  readonly idleWhileWaiting: number
  /** Fraction of the held GPU time used by jobs on several servers, 0..1. */
  readonly spreadShare: number
  /**
   * Steps of the power drawn and of the budget, W, each valid from `fromS` on. Absent if the servers have no GPU types.
   */
  readonly power?: readonly { readonly fromS: number; readonly powerW: number; readonly powerBudgetW: number }[]
  /** With GPU types: energy of all GPUs from the first arrival on, idle GPUs included, J. */
  readonly energyJ?: number
}
