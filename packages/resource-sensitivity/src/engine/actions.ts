export interface Seat {
  readonly server: number
  readonly gpus: number
}

export interface Grant {
  readonly cpusPerGpu: number
  readonly memoryGbPerGpu: number
  /** Where watts are shared out: the limit of each GPU, one number for each seat of the placement, W. */
  readonly powerLimitsW?: readonly number[]
}

/**
 * What an engine wants done. `run` counts the starts of a job from 1: an executor that has seen run 2 of a job has nothing to do
 * when it is told to start run 2, or to end run 1, again. The actions of one plan belong together: what leaves must have left
 * before what comes finds its room, and watts are given back before others get them.
 */
export type ScheduleAction = PlaceAction | ResizeAction | PreemptAction | MigrateAction

export interface PlaceAction extends Grant {
  readonly type: 'place'
  readonly jobId: number
  readonly run: number
  readonly placement: readonly Seat[]
}

/** Let a job go on where it is, with more or less beside its GPUs. */
export interface ResizeAction extends Grant {
  readonly type: 'resize'
  readonly jobId: number
  readonly run: number
}

/** Stop a job: it saves what it has done and gives back everything. */
export interface PreemptAction {
  readonly type: 'preempt'
  readonly jobId: number
  readonly run: number
  readonly reason: PreemptReason
}

/** Stop run `run - 1` of a job and start the next elsewhere. */
export interface MigrateAction extends Grant {
  readonly type: 'migrate'
  readonly jobId: number
  readonly run: number
  readonly from: readonly Seat[]
  readonly placement: readonly Seat[]
}

/** Others come first; its server failed, or drains; it was cancelled; the watts do not suffice. */
export type PreemptReason = 'policy' | 'server-failed' | 'server-draining' | 'cancelled' | 'budget'

export interface Plan {
  readonly timeS: number
  readonly running: readonly PlannedJob[]
  readonly waiting: readonly number[]
}

export interface PlannedJob extends Grant {
  readonly jobId: number
  readonly placement: readonly Seat[]
  /** Relative to the model's base point; without the penalty for being spread. */
  readonly throughput: number
}

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
