import { randomBytes } from 'node:crypto'
import { existsSync, type FSWatcher, watch } from 'node:fs'
import path from 'node:path'
import { InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { boundJobScript } from './bound-job-script.js'
import { lockFolder } from './folder-lock.js'
import { cancel, idOfComment, pairs, parsedJobId, type RunSlurm } from './slurm-command.js'
import { SlurmPatience, type SlurmPatienceOptions } from './slurm-patience.js'
import { outputPath, sbatchOptions } from './slurm-script.js'
import { readNote, workFolder, writeNote } from './work-folder.js'

/**
 * Options for running jobs on Slurm. The queue is polled every `pollMs` to detect lost jobs. Starts and ends are also
 * detected at each poll, or at once if `workDir` is on a local file system.
 */
export interface SlurmJobsOptions extends SlurmPatienceOptions {
  /**
   * Folder visible to this machine and the nodes, for scripts, logs, starts and exit codes. Only this user may be able
   * to write there.
   */
  readonly workDir: string
  /** Prefix of job names: jobs appear in the queue as `<name>-<id>`. Default `pctodl`. */
  readonly name?: string
  readonly partition?: string
  readonly account?: string
  /** Further `sbatch` arguments required by the site, e.g. `--qos=long`. */
  readonly sbatchArguments?: readonly string[]
}

/** A job, with its requirements on each of its nodes. */
export interface SlurmJobRequest {
  /** Unique within the folder; letters, digits, `.`, `_` and `-`. */
  readonly id: string
  readonly command: readonly [program: string, ...args: string[]]
  readonly environment?: Readonly<Record<string, string>>
  /** List of nodes; the job runs on all of them. Default: one node that Slurm chooses. */
  readonly nodes?: readonly string[]
  readonly cpusPerNode: number
  readonly memoryMbPerNode?: number
  /** Generic resources on each node, e.g. `gpu:2` or `gpu:a100:2`. */
  readonly gres?: string
  /**
   * ID of a job after which this one starts, once it has left the queue. It is the `id` of its request, not Slurm's ID.
   */
  readonly after?: string
}

/** What a job reports at its start. */
export interface SlurmJobStart {
  readonly id: string
  /** Unix time of the start by the node's clock, s. */
  readonly atUnixS: number
  /** Number of CPUs that the job's processes may use; all CPUs of the machine if unlimited. */
  readonly cpus: number
  /** Memory limit of the job's cgroup; null if unlimited. */
  readonly memoryLimitBytes: number | null
}

export interface SlurmJobEnd {
  readonly id: string
  /**
   * Null if the job left the queue without an exit code: it was killed, reached its time limit, or its node failed. 0 if
   * the job could not write its exit code, or it is not visible here yet, and Slurm's state is `COMPLETED`.
   */
  readonly exitCode: number | null
  /**
   * Slurm's job state if the job wrote no exit code, e.g. `NODE_FAIL`, `TIMEOUT` or `CANCELLED`; null if Slurm no longer
   * knows the job.
   */
  readonly state: string | null
  /** Unix time by the node's clock, s; null if the job wrote no exit code. */
  readonly atUnixS: number | null
  readonly logFile: string
}

/**
 * Runs individual jobs on a Slurm cluster, each with its own nodes, CPUs and memory. Running jobs can be signalled.
 * Jobs report starts and ends as files in `workDir`, so no accounting database is needed. Submission is idempotent: an
 * ID that this or an earlier process has submitted does not run twice. This holds even if the earlier process died
 * before it recorded Slurm's answer, because each job carries a mark that identifies it in the queue.
 */
export class SlurmJobs {
  readonly #options: SlurmJobsOptions
  readonly #slurmIds = new Map<string, string>()
  readonly #started = new Set<string>()
  readonly #ended = new Set<string>()
  readonly #watchers: FSWatcher[] = []
  readonly #unlock: () => void
  #wake: () => void = () => {}
  #lookedAtMs = Number.NEGATIVE_INFINITY
  readonly #patience: SlurmPatience
  /** Mark that identifies this folder's jobs in the queue. */
  readonly #mark: string

  /**
   * Creates the folders in `workDir`, and locks `workDir` until `close`.
   *
   * @throws PctodlError `NOT_OWN` if the folder belongs to another user or others may write to it, `FOLDER_IN_USE` if a
   *   live process, this one included, holds it; InvalidInputError if the folder is a symlink
   */
  constructor(options: SlurmJobsOptions) {
    this.#options = { ...options, workDir: workFolder(options.workDir) }
    for (const folder of ['job', 'intent', 'script', 'claim', 'start', 'exit', 'log']) {
      workFolder(path.join(this.#options.workDir, folder))
    }
    this.#patience = new SlurmPatience(options, () => this.#openIds().map((id) => this.#slurmIds.get(id)!))
    this.#unlock = lockFolder(this.#options.workDir)
    try {
      this.#mark = this.#ownMark()
      for (const folder of ['start', 'exit']) {
        const watcher = watch(path.join(this.#options.workDir, folder), () => this.#wake())
        // A folder on a network file system may send no events; queue polls cover that case.
        watcher.on('error', () => {})
        this.#watchers.push(watcher)
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * Submits a job to Slurm.
   *
   * @param signal ends the wait for Slurm if it does not answer
   * @throws InvalidInputError; PctodlError `SLURM` with the error text of the Slurm command, `SLURM_ANSWER` if its
   * output is not an ID, `SLURM_UNREACHABLE` if Slurm does not answer for too long. If Slurm has accepted the job
   * nevertheless, `cancel` or another `submit` finds it
   */
  async submit(request: SlurmJobRequest, signal?: AbortSignal): Promise<void> {
    const { id, command, environment = {}, nodes, cpusPerNode, memoryMbPerNode, gres, after } = request
    if (!isId(id)) throw new InvalidInputError('id', id, 'letters, digits, ".", "_" and "-", but not only dots')
    if (!(Number.isInteger(cpusPerNode) && cpusPerNode >= 1)) {
      throw new InvalidInputError(`job ${id}: cpusPerNode`, cpusPerNode, 'an integer of at least 1')
    }
    if (memoryMbPerNode !== undefined && !(Number.isInteger(memoryMbPerNode) && memoryMbPerNode >= 1)) {
      throw new InvalidInputError(`job ${id}: memoryMbPerNode`, memoryMbPerNode, 'an integer of at least 1')
    }
    if (nodes !== undefined && nodes.length === 0) {
      throw new InvalidInputError(`job ${id}: nodes`, 'none', 'at least one node, or no list')
    }
    if (this.#known(id) !== undefined) return
    const before = after === undefined ? undefined : this.#known(after)
    if (after !== undefined && before === undefined) {
      throw new InvalidInputError(`job ${id}: after`, after, 'the ID of a job submitted earlier')
    }
    if (existsSync(this.#file('intent', id))) {
      // An earlier process began to submit the job and did not record the result.
      const found = await this.#patience.untilReached((run) => this.#submittedAs(id, run), signal)
      if (found !== undefined) return this.#note(id, found)
    }
    const script = this.#file('script', id)
    const files = { started: this.#file('start', id), exit: this.#file('exit', id), claim: this.#file('claim', id) }
    writeNote(script, boundJobScript(command, environment, files))
    writeNote(this.#file('intent', id), '')
    const { name = 'pctodl', partition, account, sbatchArguments = [] } = this.#options
    // Slurm rejects a dependency on a job that it no longer knows.
    const isKnown = before !== undefined && !existsSync(this.#file('exit', after!))
    const dependency = isKnown ? `afterany:${before}` : undefined
    const words = [
      '--parsable',
      '--no-requeue',
      `--job-name=${name}-${id}`,
      `--output=${outputPath(this.#file('log', id))}`,
      `--nodes=${nodes?.length ?? 1}`,
      '--ntasks-per-node=1',
      `--cpus-per-task=${cpusPerNode}`,
      ...sbatchOptions({ nodelist: nodes?.join(','), mem: memoryMbPerNode, gres, dependency, partition, account }),
      ...sbatchArguments,
      // Placed last, so that user arguments cannot override it; this comment identifies the job in the queue.
      `--comment=${this.#mark}:${id}`,
      script,
    ]
    const slurmId = await this.#patience.untilReached(async (run, attempt) => {
      // An earlier request without an answer may have taken effect.
      const found = attempt === 1 ? undefined : await this.#submittedAs(id, run)
      return found ?? parsedJobId(await run('sbatch', words))
    }, signal)
    this.#note(id, slurmId)
  }

  /** Sends a signal to a job's command and all its children. Does nothing if the job has ended or not started. */
  async signal(id: string, name: 'USR1' | 'USR2' | 'TERM', signal?: AbortSignal): Promise<void> {
    await this.#scancel(id, ['--full', `--signal=${name}`], signal)
  }

  /**
   * Cancels a job: removes it from the queue or kills it. Does nothing if it has ended.
   *
   * @param longestSilenceMs maximum time to wait for Slurm, ms, if shorter than the option of that name
   */
  async cancel(id: string, signal?: AbortSignal, longestSilenceMs?: number): Promise<void> {
    await this.#scancel(id, [], signal, longestSilenceMs)
  }

  /** Whether this or an earlier process has at least begun to submit the job. */
  wasSubmitted(id: string): boolean {
    return existsSync(this.#file('intent', id))
  }

  /** Marks the start of a job as known, so that `next` does not report it. */
  noteStarted(id: string): void {
    this.#started.add(id)
  }

  hasStarted(id: string): boolean {
    return existsSync(this.#file('start', id))
  }

  /**
   * Waits until jobs start or end.
   *
   * @returns the new starts and ends, each once; an empty list if there are none until `untilMs` on the clock
   * @throws the signal's reason if aborted
   */
  async next(untilMs: number, signal?: AbortSignal): Promise<{ starts: SlurmJobStart[]; ends: SlurmJobEnd[] }> {
    const { clock = systemClock, pollMs = 1000 } = this.#options
    for (;;) {
      signal?.throwIfAborted()
      const changed = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      const found = await this.#look(signal)
      if (found.starts.length > 0 || found.ends.length > 0 || clock.now() >= untilMs) return found
      const done = new AbortController()
      const slept = clock
        .sleep(
          Math.max(0, Math.min(pollMs, untilMs - clock.now())),
          AbortSignal.any([done.signal, ...(signal ? [signal] : [])]),
        )
        .catch(() => {})
      await Promise.race([changed, slept])
      done.abort()
    }
  }

  /** Stops watching, and unlocks the folder. Jobs keep running. */
  close(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#unlock()
  }

  async #look(signal: AbortSignal | undefined): Promise<{ starts: SlurmJobStart[]; ends: SlurmJobEnd[] }> {
    const { clock = systemClock, pollMs = 1000 } = this.#options
    const open = this.#openIds()
    // The queue is queried before the files are read: a job that leaves the queue in between has already written its
    // file.
    let states: ReadonlyMap<string, string> | null = null
    if (open.length > 0 && clock.now() - this.#lookedAtMs >= pollMs) {
      this.#lookedAtMs = clock.now()
      states = await this.#patience.ask((run) => this.#states(open, run), signal)
    }
    const starts: SlurmJobStart[] = []
    const ends: SlurmJobEnd[] = []
    for (const id of open) {
      const started = this.#started.has(id) ? undefined : readNote(this.#file('start', id))
      if (started !== undefined) {
        this.#started.add(id)
        const [atUnixS, cpus, limit, slurmId] = started.trim().split(' ') as [string, string, string, string]
        const memoryLimitBytes = limit === 'none' ? null : Number(limit)
        starts.push({ id, atUnixS: Number(atUnixS), cpus: Number(cpus), memoryLimitBytes })
        if (/^\d+$/.test(slurmId) && slurmId !== this.#slurmIds.get(id)) {
          // The job was submitted twice, and the other submission is the one that runs.
          this.#note(id, slurmId)
          continue
        }
      }
      const logFile = this.#file('log', id)
      const exit = readNote(this.#file('exit', id))
      if (exit !== undefined) {
        const [atUnixS, exitCode] = exit.trim().split(' ').map(Number) as [number, number]
        ends.push({ id, exitCode, state: null, atUnixS, logFile })
      } else {
        const state = states?.get(this.#slurmIds.get(id)!)
        if (states === null || !isOver(state)) continue
        ends.push({ id, exitCode: state === 'COMPLETED' ? 0 : null, state: state ?? null, atUnixS: null, logFile })
      }
      this.#ended.add(id)
    }
    return { starts, ends }
  }

  /** State of each job by Slurm ID. Jobs that Slurm no longer knows are left out. */
  async #states(ids: readonly string[], run: RunSlurm): Promise<Map<string, string>> {
    const ours = ids.map((id) => this.#slurmIds.get(id)!)
    try {
      // For a single unknown ID, squeue fails with "invalid job id"; for several IDs, it omits the unknown ones.
      const words = ['--noheader', '--states=all', `--job=${ours.join(',')}`, '--format=%A %T']
      return new Map(pairs(await run('squeue', words)))
    } catch (error) {
      if (error instanceof PctodlError && /Invalid job id/i.test(error.message)) return new Map()
      throw error
    }
  }

  /** Slurm ID of a job that has started, or that the queue lists under this folder's mark. */
  async #submittedAs(id: string, run: RunSlurm): Promise<string | undefined> {
    const started = readNote(this.#file('start', id))?.trim().split(' ')[3]
    if (started !== undefined && /^\d+$/.test(started)) return started
    return idOfComment(`${this.#mark}:${id}`, run)
  }

  #openIds(): string[] {
    return [...this.#slurmIds.keys()].filter((id) => !this.#ended.has(id))
  }

  #note(id: string, slurmId: string): void {
    this.#slurmIds.set(id, slurmId)
    writeNote(this.#file('job', id), slurmId)
  }

  /**
   * Random id of the work folder, created once. It begins the Slurm comment of each job, by which the jobs are
   * recognised.
   */
  #ownMark(): string {
    const file = path.join(this.#options.workDir, 'mark')
    if (readNote(file) === undefined) writeNote(file, randomBytes(8).toString('hex'))
    return `pctodl-${readNote(file)!.trim()}`
  }

  async #scancel(id: string, args: readonly string[], signal?: AbortSignal, maxMs?: number): Promise<void> {
    if (this.#ended.has(id) || !isId(id)) return
    const isKnown = this.#slurmIds.has(id)
    if (!isKnown && !existsSync(this.#file('intent', id))) return
    await this.#patience.untilReached(
      async (run) => {
        // Without an answer, it is unknown whether Slurm accepted the submission.
        const slurmId = isKnown ? this.#slurmIds.get(id) : await this.#submittedAs(id, run)
        if (slurmId !== undefined) await cancel([...args, slurmId], run)
      },
      signal,
      maxMs,
    )
  }

  /**
   * Slurm ID of a submitted job, also if another process has submitted it.
   *
   * @throws InvalidInputError if the file contains no ID, because its content would become an argument of a Slurm
   * command
   */
  #known(id: string): string | undefined {
    const known = this.#slurmIds.get(id)
    const note = this.#file('job', id)
    if (known !== undefined || !isId(id)) return known
    const slurmId = readNote(note)?.trim()
    if (slurmId === undefined) return undefined
    if (!/^\d+$/.test(slurmId)) {
      throw new InvalidInputError(note, slurmId, 'a Slurm ID; use a folder that only you can write to')
    }
    this.#slurmIds.set(id, slurmId)
    return slurmId
  }

  #file(folder: string, id: string): string {
    return path.join(this.#options.workDir, folder, id)
  }
}

/** Whether an id is a plain file name: no path separators, no `..`. */
function isId(id: string): boolean {
  return /^[\w.-]+$/.test(id) && !/^\.+$/.test(id)
}

/** Whether a job in this state has left the queue. The state is undefined if Slurm no longer knows the job. */
function isOver(state: string | undefined): boolean {
  return (
    state === undefined ||
    /^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|REVOKED|TIMEOUT)/.test(state)
  )
}
