/** One command with all its arguments. It runs without a shell, so nothing is expanded. */
export interface Job {
  readonly id: string
  readonly command: readonly [program: string, ...args: string[]]
}

/** How a job ended. */
export interface JobOutcome {
  readonly id: string
  /** Exit code of the command; null if a signal or a time limit ended it, or the cluster lost it. */
  readonly exitCode: number | null
  /** Why there is no exit code, or why the last attempt failed. */
  readonly reason?: string
  /** Number of times that the job was started. */
  readonly attempts: number
}

export interface RunJobsOptions {
  /** When it aborts, all running jobs are ended and no more are started. */
  readonly signal?: AbortSignal
  /** Called with each line that a job prints, if the executor can read the output of running jobs. */
  readonly onLine?: (id: string, line: string, stream: 'stdout' | 'stderr') => void
  /** Called once per job, in the order in which the jobs end. */
  readonly onOutcome?: (outcome: JobOutcome) => void
}

/** Runs independent jobs. */
export interface JobExecutor {
  /**
   * Runs all jobs. A failed job is reported as an outcome; it does not throw.
   *
   * @returns one outcome per job, in the order of the jobs
   * @throws the signal's reason if aborted, after all started jobs have ended
   */
  run(jobs: readonly Job[], options?: RunJobsOptions): Promise<JobOutcome[]>
}
