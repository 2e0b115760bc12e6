export interface Seat {
  readonly server: number
  readonly gpus: number
}

export interface Grant {
  readonly cpusPerGpu: number
  readonly memoryGbPerGpu: number
  /** With a power budget: power limit of each GPU, one number per seat of the placement, W. */
  readonly powerLimitsW?: readonly number[]
}

/**
 * An action that the engine requests. `run` counts the starts of a job from 1. An executor that has already started run
 * 2 of a job ignores a repeated request to start run 2 or to end run 1.
 *
 * The actions of one plan belong together. Leaving jobs must exit before arriving jobs have enough free GPUs, and watts
 * must be released before other jobs get them.
 */
export type ScheduleAction = PlaceAction | ResizeAction | PreemptAction | MigrateAction

export interface PlaceAction extends Grant {
  readonly type: 'place'
  readonly jobId: number
  readonly run: number
  readonly placement: readonly Seat[]
}

/** Changes the CPU, memory or power of a job that stays where it is. */
export interface ResizeAction extends Grant {
  readonly type: 'resize'
  readonly jobId: number
  readonly run: number
}

/** Stops a job. It saves its progress and releases all resources. */
export interface PreemptAction {
  readonly type: 'preempt'
  readonly jobId: number
  readonly run: number
  readonly reason: PreemptReason
}

/** Stops run `run - 1` of a job and starts the next run on other servers. */
export interface MigrateAction extends Grant {
  readonly type: 'migrate'
  readonly jobId: number
  readonly run: number
  readonly from: readonly Seat[]
  readonly placement: readonly Seat[]
}

/** Why a job is stopped; `policy`: another job has priority, `budget`: the power budget is too small. */
export type PreemptReason = 'policy' | 'server-failed' | 'server-draining' | 'cancelled' | 'budget'

export interface Plan {
  readonly timeS: number
  readonly running: readonly PlannedJob[]
  readonly waiting: readonly number[]
}

export interface PlannedJob extends Grant {
  readonly jobId: number
  readonly placement: readonly Seat[]
  /** Throughput relative to the model's base point, without the spread penalty. */
  readonly throughput: number
}

export interface JobState {
  readonly jobId: number
  /** Iterations done. Default 0. */
  readonly doneIterations?: number
  /** GPU-seconds received so far. Default 0. */
  readonly attainedGpuS?: number
  /** End of the last run, for a waiting job. Default: its arrival. */
  readonly lastRunS?: number
}

/** State of a running job: its entry in a plan and its progress. */
export interface RunningJobState extends PlannedJob, JobState {}

export function isSameGrant(a: Grant, b: Grant): boolean {
  return (
    a.cpusPerGpu === b.cpusPerGpu &&
    a.memoryGbPerGpu === b.memoryGbPerGpu &&
    a.powerLimitsW?.join() === b.powerLimitsW?.join()
  )
}

export function isSamePlacement(a: readonly Seat[], b: readonly Seat[]): boolean {
  return a.length === b.length && a.every(({ server, gpus }, i) => server === b[i]!.server && gpus === b[i]!.gpus)
}
