import { randomBytes } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import type { Job, JobExecutor, JobOutcome, RunJobsOptions } from './job-array.js'
import { ownFolder, readOwnFile } from './own-folder.js'
import { idOfComment, parsedJobId, slurm } from './slurm-command.js'
import { SlurmPatience, type SlurmPatienceOptions } from './slurm-patience.js'
import { arrayScript, compactIndices, outputPath } from './slurm-script.js'

export interface SlurmExecutorOptions extends SlurmPatienceOptions {
  /** A folder that this machine and the nodes both see: scripts, logs and exit codes go there. Only this user may write there. */
  readonly workDir: string
  /** Name of the job array in the queue. Default `pctodl`. */
  readonly name?: string
  /** Array elements that may run at the same time; the cluster decides where absent. */
  readonly concurrency?: number
  /** Generic resources of each element, as `sbatch --gres` takes them, e.g. `gpu:1` or `gpu:a100:1`. */
  readonly gres?: string
  readonly partition?: string
  readonly account?: string
  /** Time limit of each element, ms; rounded up to minutes, since Slurm counts in them. */
  readonly timeoutMs?: number
  /** Anything else that the site needs, one argument each, e.g. `--constraint=a100`. */
  readonly sbatchArguments?: readonly string[]
  /** How often an element that failed or was lost (node failure, preemption) is submitted again. Default 1. */
  readonly resubmissions?: number
}

/**
 * Runs jobs as elements of a Slurm job array. The exit code of each element is a file that the element itself writes in
 * `workDir`, so it works without Slurm's accounting database.
 */
export class SlurmExecutor implements JobExecutor {
  readonly #options: SlurmExecutorOptions

  /** @throws InvalidInputError for a concurrency below 1 or negative resubmissions */
  constructor(options: SlurmExecutorOptions) {
    const { concurrency, resubmissions = 1 } = options
    if (concurrency !== undefined && (!Number.isInteger(concurrency) || concurrency < 1)) {
      throw new InvalidInputError('concurrency', concurrency, 'an integer of at least 1')
    }
    if (!Number.isInteger(resubmissions) || resubmissions < 0) {
      throw new InvalidInputError('resubmissions', resubmissions, 'an integer of at least 0')
    }
    this.#options = options
  }

  /**
   * @throws PctodlError `SLURM` with what Slurm's own command said; `SLURM_UNREACHABLE` where it stays silent: its jobs are left as they are;
   * InvalidInputError for a `workDir` in which others may write
   */
  async run(jobs: readonly Job[], options: RunJobsOptions = {}): Promise<JobOutcome[]> {
    options.signal?.throwIfAborted()
    const { resubmissions = 1 } = this.#options
    const outcomes = new Map<string, JobOutcome>()
    let pending = jobs.map((_, index) => index)
    for (let attempt = 1; pending.length > 0 && attempt <= resubmissions + 1; attempt++) {
      const last = attempt === resubmissions + 1
      const failed: number[] = []
      await this.#runArray(jobs, pending, attempt, options, (index, exitCode, reason) => {
        const id = jobs[index]!.id
        const outcome = { id, exitCode, attempts: attempt, ...(reason === undefined ? {} : { reason }) }
        outcomes.set(id, outcome)
        if (exitCode === 0 || last) options.onOutcome?.(outcome)
        else failed.push(index)
      })
      pending = failed
    }
    return jobs.map(({ id }) => outcomes.get(id)!)
  }

  async #runArray(
    jobs: readonly Job[],
    indices: readonly number[],
    attempt: number,
    { signal }: RunJobsOptions,
    onEnd: (index: number, exitCode: number | null, reason?: string) => void,
  ): Promise<void> {
    const { clock = systemClock, pollMs = 1000 } = this.#options
    const workDir = ownFolder(this.#options.workDir)
    for (const folder of ['exit', 'log']) ownFolder(path.join(workDir, folder))
    const exitFile = (index: number) => path.join(workDir, 'exit', String(index))
    for (const index of indices) rmSync(exitFile(index), { force: true })
    let arrayId = ''
    const patience = new SlurmPatience(this.#options, () => (arrayId ? [arrayId] : []))
    arrayId = await this.#submit(jobs, indices, attempt, patience, signal)
    const running = new Set(indices)
    let isLeft = false
    try {
      while (running.size > 0) {
        await clock.sleep(pollMs, signal)
        // The queue is asked before the files are read: an element that leaves it in between has written its file.
        const queued = await patience.ask(() => queuedElements(arrayId, signal))
        for (const index of [...running]) {
          const exit = readOwnFile(exitFile(index))
          if (exit !== undefined) {
            running.delete(index)
            const exitCode = Number(exit)
            if (exitCode === 0) onEnd(index, 0)
            else onEnd(index, exitCode, `see ${this.#logFile(index)}`)
          } else if (queued !== null && !queued.has(index)) {
            running.delete(index)
            onEnd(
              index,
              null,
              `left the queue without an exit code (time limit or node failure); see ${this.#logFile(index)}`,
            )
          }
        }
      }
    } catch (error) {
      isLeft = error instanceof PctodlError && error.code === 'SLURM_UNREACHABLE'
      throw error
    } finally {
      // What cannot be reached cannot be ended: the error says what is left.
      if (running.size > 0 && !isLeft) await slurm('scancel', [arrayId])
    }
  }

  async #submit(
    jobs: readonly Job[],
    indices: readonly number[],
    attempt: number,
    patience: SlurmPatience,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const {
      workDir,
      name = 'pctodl',
      concurrency,
      gres,
      partition,
      account,
      timeoutMs,
      sbatchArguments = [],
    } = this.#options
    const script = path.join(workDir, `array-${attempt}.sh`)
    // Of a name that nobody can guess, and new: what others plant in a shared folder is not followed.
    const unfinished = `${script}.${randomBytes(8).toString('hex')}.unfinished`
    writeFileSync(unfinished, arrayScript(jobs, indices, path.resolve(workDir)), { flag: 'wx' })
    renameSync(unfinished, script)
    const limit = concurrency === undefined ? '' : `%${concurrency}`
    const mark = `pctodl-${randomBytes(8).toString('hex')}`
    const words = [
      '--parsable',
      `--job-name=${name}`,
      `--array=${compactIndices(indices)}${limit}`,
      `--output=${path.join(outputPath(path.resolve(workDir)), 'log', '%a.log')}`,
      ...(gres === undefined ? [] : [`--gres=${gres}`]),
      ...(partition === undefined ? [] : [`--partition=${partition}`]),
      ...(account === undefined ? [] : [`--account=${account}`]),
      ...(timeoutMs === undefined ? [] : [`--time=${Math.max(1, Math.ceil(timeoutMs / 60_000))}`]),
      ...sbatchArguments,
      // Last, so that it is not overruled: by it the array is found again.
      `--comment=${mark}`,
      script,
    ]
    return await patience.untilReached(async (tried) => {
      // What was not answered may have been done.
      const found = tried === 1 ? undefined : await idOfComment(mark)
      return found ?? parsedJobId(await slurm('sbatch', words))
    }, signal)
  }

  #logFile(index: number): string {
    return path.join(this.#options.workDir, 'log', `${index}.log`)
  }
}

/** Array indices that Slurm still knows as waiting, running or completing. */
async function queuedElements(arrayId: string, signal: AbortSignal | undefined): Promise<Set<number>> {
  let stdout: string
  try {
    stdout = await slurm('squeue', ['--noheader', '--array', `--job=${arrayId}`, '--format=%K'], signal)
  } catch (error) {
    // A finished array is forgotten after a while, and squeue then calls its id invalid.
    if (error instanceof PctodlError && /Invalid job id/i.test(error.message)) return new Set()
    throw error
  }
  return new Set(stdout.split('\n').filter(Boolean).map(Number))
}
