import { randomBytes } from 'node:crypto'
import { existsSync, type FSWatcher, watch } from 'node:fs'
import path from 'node:path'
import { InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { boundJobScript } from './bound-job-script.js'
import { lockFolder } from './folder-lock.js'
import { cancel, idOfComment, pairs, parsedJobId, type RunSlurm } from './slurm-command.js'
import { SlurmPatience, type SlurmPatienceOptions } from './slurm-patience.js'
import { outputPath } from './slurm-script.js'
import { readNote, workFolder, writeNote } from './work-folder.js'

/** Looks at the queue (`pollMs`) are for jobs that were lost: starts and ends are seen at once on a local folder. */
export interface SlurmJobsOptions extends SlurmPatienceOptions {
  /**
   * A folder that this machine and the nodes both see: scripts, logs, starts and exit codes go there. Only this user may write there.
   */
  readonly workDir: string
  /** Jobs are called `<name>-<id>` in the queue. Default `pctodl`. */
  readonly name?: string
  readonly partition?: string
  readonly account?: string
  /** Anything else that the site needs, one argument each, e.g. `--qos=long`. */
  readonly sbatchArguments?: readonly string[]
}

/** A job with what it needs on each of its nodes. */
export interface SlurmJobRequest {
  /** Of this folder alone, made of letters, digits, `.`, `_` and `-`. */
  readonly id: string
  readonly command: readonly [program: string, ...args: string[]]
  readonly environment?: Readonly<Record<string, string>>
  /** Where to run: all nodes named. Default: one node of Slurm's choice. */
  readonly nodes?: readonly string[]
  readonly cpusPerNode: number
  readonly memoryMbPerNode?: number
  /** Generic resources on each node, e.g. `gpu:2` or `gpu:a100:2`. */
  readonly gres?: string
  /** Start only when this job, an id of ours, has left. */
  readonly after?: string
}

/** What a job said when it began. */
export interface SlurmJobStart {
  readonly id: string
  /** Unix time by the node's clock, seconds. */
  readonly atUnixS: number
  /** CPUs that the job's processes may use: all of the machine's where nothing binds them. */
  readonly cpus: number
  /** The memory limit of the job's cgroup; null where there is none. */
  readonly memoryLimitBytes: number | null
}

export interface SlurmJobEnd {
  readonly id: string
  /** Null where the job left the queue without one: killed, time limit, failed node. */
  readonly exitCode: number | null
  /** Slurm's word for it where there is no exit code, as `NODE_FAIL`, `TIMEOUT` or `CANCELLED`; null where Slurm has forgotten it. */
  readonly state: string | null
  /** Unix time by the node's clock, seconds; null without an exit code. */
  readonly atUnixS: number | null
  readonly logFile: string
}

/**
 * Jobs of a Slurm cluster one by one, each on the nodes and with the CPUs and memory asked for, that can be signalled while they
 * run. Starts and ends come as files that the jobs write in `workDir`, so no accounting database is needed. Submitting an id that
 * was submitted before, by this process or one before it, changes nothing: also where that one ended before it noted Slurm's answer, since each
 * job carries a mark by which it is found again, and does not run twice.
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
  /** Marks the jobs of this folder in the queue. */
  readonly #mark: string

  /**
   * Makes the folders in `workDir`, which is held against others until `close`.
   *
   * @throws InvalidInputError for a folder of others, or in which others may write; PctodlError `FOLDER_IN_USE` where another process
   * that runs, or this one, holds it
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
        // A folder of another machine may tell nothing; the looks at the queue see to it.
        watcher.on('error', () => {})
        this.#watchers.push(watcher)
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * Hand a job to Slurm.
   *
   * @param signal ends the wait for a Slurm that does not answer
   * @throws InvalidInputError; PctodlError `SLURM` with what Slurm's own command said, `SLURM_ANSWER` where that is no id,
   * `SLURM_UNREACHABLE` after too long a silence. What was taken all the same is found again, by `cancel` or another `submit`
   */
  async submit(request: SlurmJobRequest, signal?: AbortSignal): Promise<void> {
    const { id, command, environment = {}, nodes, cpusPerNode, memoryMbPerNode, gres, after } = request
    if (!isId(id)) throw new InvalidInputError('id', id, 'letters, digits, ".", "_" and "-", not dots alone')
    if (!(Number.isInteger(cpusPerNode) && cpusPerNode >= 1)) {
      throw new InvalidInputError(`job ${id}: cpusPerNode`, cpusPerNode, 'an integer of at least 1')
    }
    if (memoryMbPerNode !== undefined && !(Number.isInteger(memoryMbPerNode) && memoryMbPerNode >= 1)) {
      throw new InvalidInputError(`job ${id}: memoryMbPerNode`, memoryMbPerNode, 'an integer of at least 1')
    }
    if (nodes !== undefined && nodes.length === 0) {
      throw new InvalidInputError(`job ${id}: nodes`, 'none', 'at least one node, or nothing')
    }
    if (this.#known(id) !== undefined) return
    const before = after === undefined ? undefined : this.#known(after)
    if (after !== undefined && before === undefined) {
      throw new InvalidInputError(`job ${id}: after`, after, 'the id of a job that was submitted before')
    }
    if (existsSync(this.#file('intent', id))) {
      // Somebody was about to submit it, and did not note whether he did.
      const found = await this.#patience.untilReached((run) => this.#submittedAs(id, run), signal)
      if (found !== undefined) return this.#note(id, found)
    }
    const script = this.#file('script', id)
    const files = { started: this.#file('start', id), exit: this.#file('exit', id), claim: this.#file('claim', id) }
    writeNote(script, boundJobScript(command, environment, files))
    writeNote(this.#file('intent', id), '')
    const { name = 'pctodl', partition, account, sbatchArguments = [] } = this.#options
    const words = [
      '--parsable',
      '--no-requeue',
      `--job-name=${name}-${id}`,
      `--output=${outputPath(this.#file('log', id))}`,
      `--nodes=${nodes?.length ?? 1}`,
      '--ntasks-per-node=1',
      `--cpus-per-task=${cpusPerNode}`,
      ...(nodes === undefined ? [] : [`--nodelist=${nodes.join(',')}`]),
      ...(memoryMbPerNode === undefined ? [] : [`--mem=${memoryMbPerNode}`]),
      ...(gres === undefined ? [] : [`--gres=${gres}`]),
      // Slurm refuses to wait for a job that it has forgotten.
      ...(before === undefined || existsSync(this.#file('exit', after!)) ? [] : [`--dependency=afterany:${before}`]),
      ...(partition === undefined ? [] : [`--partition=${partition}`]),
      ...(account === undefined ? [] : [`--account=${account}`]),
      ...sbatchArguments,
      // Last, so that it is not overruled: by it the job is found again.
      `--comment=${this.#mark}:${id}`,
      script,
    ]
    const slurmId = await this.#patience.untilReached(async (run, attempt) => {
      // What was not answered may have been done.
      const found = attempt === 1 ? undefined : await this.#submittedAs(id, run)
      return found ?? parsedJobId(await run('sbatch', words))
    }, signal)
    this.#note(id, slurmId)
  }

  /** Send a signal to the command of a job and all its children. Nothing happens where it has ended, or not begun. */
  async signal(id: string, name: 'USR1' | 'USR2' | 'TERM', signal?: AbortSignal): Promise<void> {
    await this.#scancel(id, ['--full', `--signal=${name}`], signal)
  }

  /**
   * End a job: out of the queue, or killed. Nothing happens where it has ended.
   *
   * @param longestSilenceMs for which Slurm is waited for, where that is less than the option's
   */
  async cancel(id: string, signal?: AbortSignal, longestSilenceMs?: number): Promise<void> {
    await this.#scancel(id, [], signal, longestSilenceMs)
  }

  /** Whether a submission was at least begun, by this process or one before it. */
  wasSubmitted(id: string): boolean {
    return existsSync(this.#file('intent', id))
  }

  /** That a submitted job has begun is known already: `next` does not tell it. */
  noteStarted(id: string): void {
    this.#started.add(id)
  }

  hasStarted(id: string): boolean {
    return existsSync(this.#file('start', id))
  }

  /**
   * Wait until jobs start or end.
   *
   * @returns every start and end once, as soon as there is one; nothing when `untilMs` on the clock has come
   * @throws the signal's reason when aborted
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

  /** Stop watching, and give the folder back. Jobs go on. */
  close(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#unlock()
  }

  async #look(signal: AbortSignal | undefined): Promise<{ starts: SlurmJobStart[]; ends: SlurmJobEnd[] }> {
    const { clock = systemClock, pollMs = 1000 } = this.#options
    const open = this.#openIds()
    // The queue is asked before the files are read: a job that leaves it in between has written its file.
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
          // It was submitted twice: this is the one that runs.
          this.#note(id, slurmId)
          continue
        }
      }
      const logFile = this.#file('log', id)
      const exit = readNote(this.#file('exit', id))
      if (exit !== undefined) {
        const [atUnixS, exitCode] = exit.trim().split(' ').map(Number) as [number, number]
        ends.push({ id, exitCode, state: null, atUnixS, logFile })
      } else if (states !== null && isOver(states.get(this.#slurmIds.get(id)!))) {
        ends.push({ id, exitCode: null, state: states.get(this.#slurmIds.get(id)!) ?? null, atUnixS: null, logFile })
      } else continue
      this.#ended.add(id)
    }
    return { starts, ends }
  }

  /** What Slurm says of our jobs, by its ids; those that it has forgotten are left out. */
  async #states(ids: readonly string[], run: RunSlurm): Promise<Map<string, string>> {
    const ours = ids.map((id) => this.#slurmIds.get(id)!)
    try {
      // Of many ids squeue leaves out those that are forgotten; of a single one it says that it is invalid.
      const words = ['--noheader', '--states=all', `--job=${ours.join(',')}`, '--format=%A %T']
      return new Map(pairs(await run('squeue', words)))
    } catch (error) {
      if (error instanceof PctodlError && /Invalid job id/i.test(error.message)) return new Map()
      throw error
    }
  }

  /** Slurm's id of a job that has started, or that the queue knows by its mark. */
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

  /** Made once for each folder. */
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
        // Of a submission without an answer it is not known whether Slurm has taken it.
        const slurmId = isKnown ? this.#slurmIds.get(id) : await this.#submittedAs(id, run)
        if (slurmId !== undefined) await cancel([...args, slurmId], run)
      },
      signal,
      maxMs,
    )
  }

  /**
   * Slurm's id of a job that was submitted, also by a process that is gone.
   *
   * @throws InvalidInputError for a note that holds none: it would become an argument of Slurm's commands
   */
  #known(id: string): string | undefined {
    const known = this.#slurmIds.get(id)
    const note = this.#file('job', id)
    if (known !== undefined || !isId(id)) return known
    const slurmId = readNote(note)?.trim()
    if (slurmId === undefined) return undefined
    if (!/^\d+$/.test(slurmId)) {
      throw new InvalidInputError(note, slurmId, 'an id of Slurm; take a folder in which only you write')
    }
    this.#slurmIds.set(id, slurmId)
    return slurmId
  }

  #file(folder: string, id: string): string {
    return path.join(this.#options.workDir, folder, id)
  }
}

/** Names a file of a folder, and nothing else. */
function isId(id: string): boolean {
  return /^[\w.-]+$/.test(id) && !/^\.+$/.test(id)
}

/** Whether a job neither waits nor runs; undefined is one that Slurm has forgotten. */
function isOver(state: string | undefined): boolean {
  return (
    state === undefined ||
    /^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|REVOKED|TIMEOUT)/.test(state)
  )
}
