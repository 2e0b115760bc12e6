import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { given, InvalidInputError } from '@pctodl/platform'
import type { Job, JobExecutor, JobOutcome, RunJobsOptions } from './job-array.js'

export interface LocalExecutorOptions {
  /** Maximum number of concurrent jobs. */
  readonly concurrency: number
  /** Time limit of a job, ms. Default: none. */
  readonly timeoutMs?: number
  /** Time between SIGTERM and SIGKILL when a job is ended, ms. Default 5000. */
  readonly graceMs?: number
  readonly env?: NodeJS.ProcessEnv
}

/** Runs jobs as processes on this machine, up to `concurrency` at a time. */
export class LocalExecutor implements JobExecutor {
  readonly #options: LocalExecutorOptions

  /** @throws InvalidInputError if concurrency is below 1 or the timeout is not positive */
  constructor(options: LocalExecutorOptions) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
      throw new InvalidInputError('concurrency', options.concurrency, 'an integer of at least 1')
    }
    if (options.timeoutMs !== undefined && !(options.timeoutMs > 0)) {
      throw new InvalidInputError('timeoutMs', options.timeoutMs, 'a positive number of milliseconds')
    }
    this.#options = options
  }

  async run(jobs: readonly Job[], options: RunJobsOptions = {}): Promise<JobOutcome[]> {
    options.signal?.throwIfAborted()
    const outcomes = new Array<JobOutcome>(jobs.length)
    let next = 0
    const work = async () => {
      while (next < jobs.length && !options.signal?.aborted) {
        const index = next++
        const outcome = await this.#runJob(jobs[index]!, options)
        outcomes[index] = outcome
        if (!options.signal?.aborted) options.onOutcome?.(outcome)
      }
    }
    await Promise.all(Array.from({ length: Math.min(this.#options.concurrency, jobs.length) }, work))
    options.signal?.throwIfAborted()
    return outcomes
  }

  #runJob({ id, command }: Job, { signal, onLine }: RunJobsOptions): Promise<JobOutcome> {
    const { timeoutMs, graceMs = 5000, env = process.env } = this.#options
    return new Promise((resolve) => {
      const [program, ...args] = command
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
      let timedOut = false
      const end = () => endPolitely(child, graceMs)
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              timedOut = true
              end()
            }, timeoutMs)
      signal?.addEventListener('abort', end, { once: true })
      for (const stream of ['stdout', 'stderr'] as const) {
        createInterface({ input: child[stream] }).on('line', (line) => onLine?.(id, line, stream))
      }
      const finish = (exitCode: number | null, reason?: string) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve({ id, exitCode, attempts: 1, ...given({ reason }) })
      }
      child.once('error', (error) => finish(null, `could not be started: ${error.message}`))
      child.once('close', (code, endedBy) => {
        if (timedOut) finish(null, `took longer than ${timeoutMs! / 1000} s`)
        else if (code === null) finish(null, `ended by ${endedBy}`)
        else finish(code)
      })
    })
  }
}

function endPolitely(child: ChildProcess, graceMs: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), graceMs)
  child.once('close', () => clearTimeout(force))
}
