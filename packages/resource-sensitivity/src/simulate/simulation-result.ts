import type { MechanismName, PolicyName } from '../engine/scheduling-options.js'
import type { UsageBin } from '../engine/usage-record.js'
import type { ImpossibleJobError } from '../errors.js'
import type { Job } from '../trace/job.js'

export interface JobResult {
  readonly job: Job
  readonly firstStartS: number
  readonly finishS: number
  /** Finish minus arrival. */
  readonly completionS: number
  /** Time without GPUs between arrival and finish. */
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
  /** Arrivals, finishes and rounds. */
  readonly events: number
  /** Means over the run, 0..1 of the cluster, and the mean number of waiting jobs. */
  readonly usage: { readonly gpu: number; readonly cpu: number; readonly memory: number; readonly waiting: number }
  /** Mean part of the GPUs idle while at least one job waited, 0..1 of the whole run. */
  readonly idleWhileWaiting: number
  /** Part of the held GPU time that belonged to jobs on more than one server, 0..1. */
  readonly spreadShare: number
  readonly timeline: readonly UsageBin[]
  /** Where GPUs have types: drawn from each moment on, and what was allowed, W. */
  readonly power?: readonly { readonly fromS: number; readonly powerW: number; readonly powerBudgetW: number }[]
  /** Where GPUs have types: of all GPUs from the first arrival on, idle ones included, J. */
  readonly energyJ?: number
}
