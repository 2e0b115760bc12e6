import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { given, InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { type ArrayNote, newArray, readArrayNote, workOf, writeArrayNote } from './array-note.js'
import { lockFolder } from './folder-lock.js'
import type { Job, JobExecutor, JobOutcome, RunJobsOptions } from './job-array.js'
import { cancel, parsedJobId, type RunSlurm } from './slurm-command.js'
import { LONGEST_END_MS, SlurmPatience, type SlurmPatienceOptions } from './slurm-patience.js'
import { arrayScript, compactIndices, outputPath, sbatchOptions } from './slurm-script.js'
import { readNote, workFolder, writeNote } from './work-folder.js'

export interface SlurmExecutorOptions extends SlurmPatienceOptions {
  /**
   * Folder visible to this machine and the nodes, for scripts, logs and exit codes. Only this user may be able to write
   * there.
   */
  readonly workDir: string
  /** Name of the job array in the queue. Default `pctodl`. */
  readonly name?: string
  /** Maximum number of concurrent array elements. Default: the cluster decides. */
  readonly concurrency?: number
  /** Generic resources of each element in the syntax of `sbatch --gres`, e.g. `gpu:1` or `gpu:a100:1`. */
  readonly gres?: string
  readonly partition?: string
  readonly account?: string
  /** Time limit of each element, ms; rounded up to Slurm's whole minutes. */
  readonly timeoutMs?: number
  /** Further `sbatch` arguments required by the site, e.g. `--constraint=a100`. */
  readonly sbatchArguments?: readonly string[]
  /** Number of times that an element that failed or was lost (node failure, preemption) is resubmitted. Default 1. */
  readonly resubmissions?: number
}

/** How to run an array and report its elements. */
interface ArrayWatch {
  readonly isNew: boolean
  readonly signal: AbortSignal | undefined
  readonly onEnd: (index: number, exitCode: number | null, reason?: string) => void
}

/**
 * Runs jobs as elements of a Slurm job array. Each element writes its exit code to a file in `workDir`, so no
 * accounting database is needed. If a call leaves an array behind because it crashed or Slurm did not answer, the next
 * call with the same jobs and folder resumes that array.
 */
export class SlurmExecutor implements JobExecutor {
  readonly #options: SlurmExecutorOptions
  readonly #workDir: string
  readonly #note: string
  readonly #patience: SlurmPatience
  /** Slurm IDs of running arrays. */
  #ids: readonly string[] = []
  /** Number of submissions of the array, and of submissions that got no answer. */
  #submitted = { times: 0, unanswered: 0 }

  /** @throws InvalidInputError if concurrency is below 1, resubmissions are negative, or a time is invalid */
  constructor(options: SlurmExecutorOptions) {
    const { concurrency, resubmissions = 1 } = options
    if (concurrency !== undefined && (!Number.isInteger(concurrency) || concurrency < 1)) {
      throw new InvalidInputError('concurrency', concurrency, 'an integer of at least 1')
    }
    if (!Number.isInteger(resubmissions) || resubmissions < 0) {
      throw new InvalidInputError('resubmissions', resubmissions, 'an integer of at least 0')
    }
    this.#options = options
    this.#workDir = path.resolve(options.workDir)
    this.#note = path.join(this.#workDir, 'array.json')
    this.#patience = new SlurmPatience(options, () => this.#ids)
  }

  /**
   * @throws PctodlError `SLURM` with the error text of the Slurm command; `SLURM_ANSWER` if `sbatch` prints no ID;
   *   `SLURM_UNREACHABLE` if Slurm does not answer for too long (its jobs are left running); `FOLDER_IN_USE` if another
   *   call, or an array of other jobs, uses the folder; `NOT_OWN` if `workDir` belongs to another user or others may
   *   write to it; InvalidInputError if it is a symlink
   */
  async run(jobs: readonly Job[], options: RunJobsOptions = {}): Promise<JobOutcome[]> {
    options.signal?.throwIfAborted()
    if (jobs.length === 0) return []
    workFolder(this.#workDir)
    for (const folder of ['claim', 'exit', 'log']) workFolder(path.join(this.#workDir, folder))
    const unlock = lockFolder(this.#workDir)
    try {
      return await this.#run(jobs, options)
    } finally {
      unlock()
    }
  }

  async #run(jobs: readonly Job[], { signal, onOutcome }: RunJobsOptions): Promise<JobOutcome[]> {
    const { resubmissions = 1 } = this.#options
    const left = await this.#leftBehind(jobs, signal)
    let array = left ?? newArray(jobs, { attempt: 1, indices: jobs.map((_, index) => index), outcomes: [] })
    let isNew = left === undefined
    const outcomes = new Map(array.outcomes.map((outcome) => [outcome.id, outcome]))
    for (const outcome of array.outcomes) onOutcome?.(outcome)
    for (;;) {
      const { attempt } = array
      const isLast = attempt > resubmissions
      const failed: number[] = []
      const onEnd: ArrayWatch['onEnd'] = (index, exitCode, reason) => {
        const id = jobs[index]!.id
        const outcome = { id, exitCode, attempts: attempt, ...given({ reason }) }
        if (exitCode !== 0 && !isLast) failed.push(index)
        else {
          outcomes.set(id, outcome)
          onOutcome?.(outcome)
        }
      }
      await this.#runArray(jobs, array, { isNew, signal, onEnd })
      if (failed.length === 0) break
      array = newArray(jobs, {
        attempt: attempt + 1,
        indices: failed.sort((a, b) => a - b),
        outcomes: [...outcomes.values()],
      })
      isNew = true
    }
    rmSync(this.#note, { force: true })
    return jobs.map(({ id }) => outcomes.get(id)!)
  }

  /** The array of an earlier call with these jobs, if that call ended before the array did. */
  async #leftBehind(jobs: readonly Job[], signal: AbortSignal | undefined): Promise<ArrayNote | undefined> {
    const note = readArrayNote(this.#note)
    if (note === undefined || note.work === workOf(jobs)) return note
    await this.#patience.untilReached((run) => this.#queued(note, run), signal)
    if (this.#ids.length === 0) return undefined
    throw new PctodlError(
      'FOLDER_IN_USE',
      `${this.#workDir}: array ${this.#ids.join(', ')} of other jobs has not ended; wait for it, cancel it with scancel, or use another folder`,
    )
  }

  async #runArray(jobs: readonly Job[], array: ArrayNote, { isNew, signal, onEnd }: ArrayWatch): Promise<void> {
    const { clock = systemClock, pollMs = 1000 } = this.#options
    const running = new Set(array.indices)
    // An array left by an earlier call has been submitted once.
    const before = isNew ? 0 : 1
    this.#submitted = { times: before, unanswered: before }
    let isTaken = false
    try {
      await this.#submit(jobs, array, isNew, signal)
      isTaken = true
      while (running.size > 0) {
        await clock.sleep(pollMs, signal)
        // The queue is queried before the files are read: an element that leaves the queue in between has already
        // written its file.
        const queued = await this.#patience.ask((run) => this.#queued(array, run), signal)
        for (const index of [...running]) {
          const exit = readNote(this.#file('exit', array, index))
          const log = path.join(this.#workDir, 'log', `${index}.log`)
          if (exit === undefined && (queued === null || queued.has(index))) continue
          running.delete(index)
          if (exit === undefined) {
            onEnd(index, null, `left the queue without an exit code (time limit or node failure); see ${log}`)
          } else if (Number(exit) === 0) onEnd(index, 0)
          else onEnd(index, Number(exit), `see ${log}`)
        }
      }
    } catch (error) {
      const code = error instanceof PctodlError ? error.code : undefined
      // Cancels the array, unless Slurm is unreachable (scancel would fail, too) or sbatch rejected the array (nothing
      // runs).
      if (code !== 'SLURM_UNREACHABLE' && (isTaken || code !== 'SLURM')) await this.#end(array)
      throw error
    }
  }

  /** Submits an array, unless Slurm already has it. */
  async #submit(
    jobs: readonly Job[],
    array: ArrayNote,
    isNew: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { name = 'pctodl', concurrency, gres, partition, account, timeoutMs, sbatchArguments = [] } = this.#options
    const { indices, mark, attempt } = array
    const script = path.join(this.#workDir, `array-${attempt}.sh`)
    writeNote(script, arrayScript(jobs, indices, this.#workDir, mark))
    if (isNew) writeArrayNote(this.#note, array)
    const time = timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(timeoutMs / 60_000))
    const limit = concurrency === undefined ? '' : `%${concurrency}`
    const words = [
      '--parsable',
      `--job-name=${name}`,
      `--array=${compactIndices(indices)}${limit}`,
      `--output=${path.join(outputPath(this.#workDir), 'log', '%a.log')}`,
      ...sbatchOptions({ gres, partition, account, time }),
      ...sbatchArguments,
      // Placed last, so that user arguments cannot override it; this comment identifies the array in the queue.
      `--comment=${mark}`,
      script,
    ]
    await this.#patience.untilReached(async (run, tried) => {
      // An earlier request without an answer may have taken effect.
      if ((tried > 1 || !isNew) && (await this.#isTaken(array, run))) return
      this.#submitted.times++
      this.#submitted.unanswered++
      this.#ids = [parsedJobId(await run('sbatch', words))]
      this.#submitted.unanswered--
    }, signal)
  }

  async #isTaken(array: ArrayNote, run: RunSlurm): Promise<boolean> {
    return (
      array.indices.some((index) => existsSync(this.#file('exit', array, index))) ||
      (await this.#queued(array, run)).size > 0
    )
  }

  /**
   * Elements that Slurm lists as pending, running or completing. It includes all arrays with the mark, because Slurm
   * may have accepted an earlier submission late.
   */
  async #queued({ mark }: ArrayNote, run: RunSlurm): Promise<ReadonlySet<number>> {
    const words = ['--noheader', '--array', `--user=${process.getuid?.() ?? ''}`, '--format=%K %F %k']
    const lines = (await run('squeue', words)).split('\n').map((line) => line.trim().split(/ +/))
    const ours = lines.filter(([, , comment]) => comment === mark)
    this.#ids = [...new Set(ours.map(([, id]) => id!))]
    return new Set(ours.map(([index]) => Number(index)))
  }

  /**
   * Cancels everything that the queue lists for an array. The note is kept if Slurm may still accept a submission.
   *
   * @throws the errors of `run`
   */
  async #end(array: ArrayNote): Promise<void> {
    let found = 0
    const end = async (run: RunSlurm) => {
      await this.#queued(array, run)
      found = Math.max(found, this.#ids.length)
      if (this.#ids.length > 0) await cancel(this.#ids, run)
    }
    await this.#patience.untilReached(end, undefined, LONGEST_END_MS)
    // Removes the claims, so that the next call can run the cancelled jobs.
    for (const index of array.indices) rmSync(this.#file('claim', array, index), { force: true })
    const { times, unanswered } = this.#submitted
    if (unanswered === 0 || found >= times) rmSync(this.#note, { force: true })
  }

  #file(folder: 'claim' | 'exit', { mark }: ArrayNote, index: number): string {
    return path.join(this.#workDir, folder, `${mark}-${index}`)
  }
}
