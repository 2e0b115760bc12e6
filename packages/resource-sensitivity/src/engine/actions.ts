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
 * An action the engine requests. `run` counts the starts of a job from 1: an executor that has seen run 2 of a job
 * ignores a request to start run 2, or end run 1, again. The actions of one plan belong together: leaving jobs must
 * exit before arriving jobs find room, and watts are given back before others get them.
 */
export type ScheduleAction = PlaceAction | ResizeAction | PreemptAction | MigrateAction

export interface PlaceAction extends Grant {
  readonly type: 'place'
  readonly jobId: number
  readonly run: number
  readonly placement: readonly Seat[]
}

/** Keep a job where it is with more or less CPU, memory or power. */
export interface ResizeAction extends Grant {
  readonly type: 'resize'
  readonly jobId: number
  readonly run: number
}

/** Stop a job: it saves its progress and releases all resources. */
export interface PreemptAction {
  readonly type: 'preempt'
  readonly jobId: number
  readonly run: number
  readonly reason: PreemptReason
}

/** Stop run `run - 1` of a job and start the next run elsewhere. */
export interface MigrateAction extends Grant {
  readonly type: 'migrate'
  readonly jobId: number
  readonly run: number
  readonly from: readonly Seat[]
  readonly placement: readonly Seat[]
}

/**
 * Reasons: another job has priority; the server failed or drains; the job was cancelled; the power budget is too small.
 */
export type PreemptReason = 'policy' | 'server-failed' | 'server-draining' | 'cancelled' | 'budget'

export interface Plan {
  readonly timeS: number
  readonly running: readonly PlannedJob[]
  readonly waiting: readonly number[]
}

export interface PlannedJob extends Grant {
  readonly jobId: number
  readonly placement: readonly Seat[]
  /** Relative to the model's base point; excludes the spread penalty. */
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

/** A running job: its entry in a plan plus its progress. */
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
