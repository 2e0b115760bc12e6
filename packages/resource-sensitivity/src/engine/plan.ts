/** GPUs of a job on one server. */
export interface Seat {
  readonly server: number
  readonly gpus: number
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
  readonly placement: readonly Seat[]
  readonly cpusPerGpu: number
  readonly memoryGbPerGpu: number
  /** Relative to the model's base point; without the penalty for being spread. */
  readonly throughput: number
  /** Where GPUs have types: the limit of each, one number for each seat, W. */
  readonly powerLimitsW?: readonly number[]
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
