/** One command with everything it needs to run anywhere. No shell, no expansion. */
export interface Job {
  readonly id: string
  readonly command: readonly [program: string, ...args: string[]]
}

/** How a job ended. */
export interface JobOutcome {
  readonly id: string
  /** Exit code of the command; null if a signal or timeout ended it or the cluster lost it. */
  readonly exitCode: number | null
  /** Why there is no exit code, or why the last attempt failed. */
  readonly reason?: string
  /** How often the job was started. */
  readonly attempts: number
}

export interface RunJobsOptions {
  /** Aborting ends all running jobs and starts no more. */
  readonly signal?: AbortSignal
  /** Called with each line a job prints, if the executor sees output live. */
  readonly onLine?: (id: string, line: string, stream: 'stdout' | 'stderr') => void
  /** Called once per job, in the order they end. */
  readonly onOutcome?: (outcome: JobOutcome) => void
}

/** Runs independent jobs. */
export interface JobExecutor {
  /**
   * Run all jobs. A failed job is an outcome, not an error.
   *
   * @returns one outcome per job, in the order of the jobs
   * @throws the signal's reason if aborted, after all started jobs have ended
   */
  run(jobs: readonly Job[], options?: RunJobsOptions): Promise<JobOutcome[]>
}
