/** One command with everything it needs to run anywhere: no shell, no expansion. */
export interface Job {
  readonly id: string
  readonly command: readonly [program: string, ...args: string[]]
}

/** How a job ended. */
export interface JobOutcome {
  readonly id: string
  /** The command's exit code; null where it ended by a signal, was timed out, or was lost by the cluster. */
  readonly exitCode: number | null
  /** Why there is no exit code, or why the last attempt failed. */
  readonly reason?: string
  /** How often the job was started. */
  readonly attempts: number
}

export interface RunJobsOptions {
  /** Ends every job that runs and starts no other. */
  readonly signal?: AbortSignal
  /** Called with what a job prints, line by line, where the executor can see it as it happens. */
  readonly onLine?: (id: string, line: string, stream: 'stdout' | 'stderr') => void
  /** Called once per job, in the order in which they end. */
  readonly onOutcome?: (outcome: JobOutcome) => void
}

/** Runs jobs that do not depend on each other. */
export interface JobExecutor {
  /**
   * Run all jobs. A job that fails is an outcome, not an error.
   *
   * @returns one outcome per job, in the order of the jobs
   * @throws the signal's reason when aborted, after every job that was started has ended
   */
  run(jobs: readonly Job[], options?: RunJobsOptions): Promise<JobOutcome[]>
}
