import path from 'node:path'
import {
  readNote,
  type SlurmJobEnd,
  type SlurmJobRequest,
  type SlurmJobStart,
  SlurmJobs,
  type SlurmNodeChange,
  SlurmNodes,
  type SlurmPatienceOptions,
  workFolder,
} from '@pctodl/job-array'
import { type Clock, InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { z } from 'zod'
import type { EngineEvent, Grant, ScheduleAction } from '../engine/actions.js'
import type { Seat } from '../engine/engine-job.js'
import { assertAtLeast, assertInteger } from '../errors.js'
import type { Job } from '../trace.js'
import type { ResumedJournal, ScheduleExecutor } from './execute-schedule.js'

export interface SlurmScheduleOptions extends SlurmPatienceOptions {
  /** Folder visible to this machine and the nodes. Use one per schedule: work recorded in it is not repeated. */
  readonly workDir: string
  /** Slurm's node names, in the order of the cluster's servers. */
  readonly nodes: readonly string[]
  /** Command that runs a job; it must follow the checkpoint contract, see README. */
  readonly commandOf: (job: Job) => readonly [program: string, ...args: string[]]
  /** The `gres` request for a number of GPUs. Default `gpu:<n>`. */
  readonly gres?: (gpus: number) => string
  /**
   * Sets the GPUs' power limit for a running job; the limit is in force when the promise resolves. Without this
   * function, limits of running jobs stay fixed, and each run gets its limit at its start.
   */
  readonly limitPower?: (run: SlurmPowerLimit) => Promise<void>
  readonly partition?: string
  readonly account?: string
  readonly sbatchArguments?: readonly string[]
  /** Time to save after the signal; then the job is killed and loses unsaved progress. Default 30 s. */
  readonly graceS?: number
  /** How often a job may fail, or exit without a request and without progress, before it is given up. Default 3. */
  readonly maxFailures?: number
  /** How often a job may lose its node, or be preempted by the site, before it is given up. Default 10. */
  readonly maxNodeFailures?: number
  /** Interval of node state polls, at least 1 ms. Default 10 000. */
  readonly nodePollMs?: number
  readonly onRun?: (run: SlurmRun) => void
  /** Called when a node goes down, drains or is drained, and when it is back. */
  readonly onNode?: (change: SlurmNodeChange) => void
}

/** A start of a job, reported once it has begun. */
export interface SlurmRun {
  readonly jobId: number
  readonly run: number
  /** Time from the engine's action to the first line of the job's script. */
  readonly startUpS: number
  /** Requested number of CPUs, and the limit in force; null if unlimited. */
  readonly cpus: { readonly asked: number; readonly bound: number | null }
  readonly memoryMb: { readonly asked: number | null; readonly bound: number | null }
}

export interface SlurmPowerLimit {
  readonly jobId: number
  readonly run: number
  readonly node: string
  readonly gpus: number
  readonly powerLimitW: number
}

/** Slurm states of runs that ended without a fault of the job. */
const notItsFault = ['NODE_FAIL', 'BOOT_FAIL', 'PREEMPTED']

/** Maximum wait for Slurm to accept a cancellation, ms. If Slurm is already silent, nothing is cancelled. */
const LONGEST_CANCEL_MS = 10_000
/** Maximum wait for cancelled jobs to exit, ms. */
const LONGEST_END_MS = 30_000

interface Submission {
  readonly id: string
  readonly job: Job
  readonly run: number
  readonly placement: readonly Seat[]
  readonly submittedMs: number
  readonly request: SlurmJobRequest
  started: boolean
  stopping: boolean
  ended: boolean
  killAtMs: number
}

/** An action and its effect on a run of a job. */
interface Step {
  readonly action: ScheduleAction
  /** ID of the submission that a start or a resize asks for. */
  readonly id: string
  readonly placement: readonly Seat[]
  /** Whether the run continues with only a new power limit. */
  readonly isLimitOnly: boolean
}

/** Progress and failures of a job over all its runs. */
interface Account {
  doneIterations: number
  failures: number
  nodeFailures: number
}

/** Journal record of a run that has begun or ended, so that it is reported once. */
interface RunFact {
  readonly id: string
  readonly saved: number
  readonly end: SlurmJobEnd | null
}

/** Carries out an engine's actions on a Slurm cluster: one batch job per run of a job. */
export class SlurmScheduleExecutor implements ScheduleExecutor {
  readonly #options: SlurmScheduleOptions &
    Required<Pick<SlurmScheduleOptions, 'graceS' | 'maxFailures' | 'maxNodeFailures'>>
  readonly #clock: Clock
  #startMs: number
  #startedUnixMs: number
  readonly #jobs: SlurmJobs
  readonly #nodes: SlurmNodes
  readonly #checkpoints: string
  readonly #submissions = new Map<string, Submission>()
  readonly #last = new Map<number, Submission>()
  readonly #accounts = new Map<number, Account>()
  readonly #given = new Map<number, SlurmJobEnd>()
  #isClosed = false
  #resizes = 0
  #facts: RunFact[] = []
  /**
   * Events not yet returned. Their facts are in the journal already, so an error of a later call to Slurm must not lose
   * them.
   */
  #events: EngineEvent[] = []
  /** True until the first poll after a resume, and while closing. Ends found then have the time of the node's record. */
  #isBehind = false

  /** Starts the schedule's clock. */
  constructor(options: SlurmScheduleOptions) {
    const { nodes, nodePollMs = 10_000, graceS = 30, maxFailures = 3, maxNodeFailures = 10 } = options
    if (new Set(nodes).size < nodes.length || nodes.length === 0) {
      throw new InvalidInputError('nodes', nodes.join(', ') || 'none', 'one unique name per server')
    }
    assertAtLeast('graceS', graceS, 0, 'seconds')
    assertInteger('maxFailures', maxFailures, 0)
    assertInteger('maxNodeFailures', maxNodeFailures, 0)
    this.#options = { ...options, graceS, maxFailures, maxNodeFailures }
    this.#clock = options.clock ?? systemClock
    this.#nodes = new SlurmNodes({ ...options, pollMs: nodePollMs })
    // The checkpoint folder is created first: `SlurmJobs` locks the work folder, and an error after that would leave it
    // locked.
    workFolder(options.workDir)
    this.#checkpoints = workFolder(path.join(options.workDir, 'checkpoint'))
    this.#jobs = new SlurmJobs(options)
    this.#startMs = this.#clock.now()
    this.#startedUnixMs = this.#clock.date().getTime()
  }

  /** Jobs given up after too many failures, and how their last run ended. */
  get givenUp(): ReadonlyMap<number, SlurmJobEnd> {
    return this.#given
  }

  get nodes(): readonly string[] {
    return this.#options.nodes
  }

  get changesLimits(): boolean {
    return this.#options.limitPower !== undefined
  }

  get awaitsServers(): boolean {
    return this.#nodes.anyUnusable
  }

  nowS(): number {
    return (this.#clock.now() - this.#startMs) / 1000
  }

  takeFacts(): readonly RunFact[] {
    return this.#facts.splice(0)
  }

  /**
   * Restores the runs of an earlier process from its journal. Slurm has continued to execute these runs; `next` reports
   * which ones started or ended since. The last plan in the journal may have been carried out only in part, so it is
   * carried out again.
   */
  async resume(
    { startedUnixMs, entries }: ResumedJournal,
    jobOf: (jobId: number) => Job,
    signal?: AbortSignal,
  ): Promise<void> {
    // If this machine's clock was set back, time resumes from the last time in the journal.
    const nowUnixMs = this.#clock.date().getTime()
    const passedMs = Math.max(nowUnixMs - startedUnixMs, (entries.at(-1)?.timeS ?? 0) * 1000)
    this.#startedUnixMs = nowUnixMs - passedMs
    this.#startMs = this.#clock.now() - passedMs
    this.#isBehind = entries.length > 0
    for (const [i, { events, facts, actions }] of entries.entries()) {
      for (const fact of facts as readonly RunFact[]) this.#absorb(fact)
      for (const event of events) {
        if (!('server' in event)) continue
        const isLost = event.type === 'server-returned' ? null : event.type === 'server-failed'
        this.#nodes.assume(this.#options.nodes[event.server]!, isLost)
      }
      if (i < entries.length - 1) this.#recall(actions, jobOf)
    }
    for (const submission of this.#submissions.values()) {
      if (submission.ended) continue
      await this.#jobs.submit(submission.request, signal)
      if (submission.started) this.#jobs.noteStarted(submission.id)
      if (submission.stopping) await this.#tellToStop(submission, signal)
    }
    await this.apply(entries.at(-1)?.actions ?? [], jobOf, signal)
  }

  /** Restores the runs of a plan that an earlier process carried out. */
  #recall(actions: readonly ScheduleAction[], jobOf: (jobId: number) => Job): void {
    const steps = actions.map((action) => this.#stepOf(action, (id) => !this.#jobs.wasSubmitted(id)))
    for (const submission of this.#leaving(steps)) submission.stopping = true
    for (const step of steps) if (isStart(step)) this.#prepare(step, jobOf)
  }

  async apply(actions: readonly ScheduleAction[], jobOf: (jobId: number) => Job, signal?: AbortSignal): Promise<void> {
    // Decided once, before any call: a run that begins after it was told to stop does not continue under a new limit.
    const steps = actions.map((action) => this.#stepOf(action, () => this.#continues(action)))
    // Stop leaving runs before starting others; Slurm keeps the new ones pending until there is room.
    for (const submission of this.#leaving(steps)) {
      if (submission.stopping) continue
      submission.stopping = true
      await this.#tellToStop(submission, signal)
    }
    for (const step of steps) {
      if (isStart(step)) await this.#submit(step, jobOf, signal)
      else if (step.isLimitOnly) await this.#limitPower(step)
    }
  }

  /**
   * @param continues returns whether a run goes on after a resize. Every resize gets a number, even if its run goes on
   */
  #stepOf(action: ScheduleAction, continues: (id: string) => boolean): Step {
    const { type, jobId, run } = action
    if (type !== 'resize') {
      const placement = type === 'preempt' ? [] : action.placement
      return { action, id: `${jobId}.${run}`, placement, isLimitOnly: false }
    }
    const id = `${jobId}.${run}.${++this.#resizes}`
    return { action, id, placement: this.#last.get(jobId)!.placement, isLimitOnly: continues(id) }
  }

  /** Whether the run of a job goes on under a new limit. A run that has not begun is submitted anew. */
  #continues({ jobId, ...action }: ScheduleAction): boolean {
    const { id, ended } = this.#last.get(jobId)!
    return 'powerLimitsW' in action && !ended && this.#jobs.hasStarted(id)
  }

  /** Runs that a plan ends. */
  #leaving(steps: readonly Step[]): Submission[] {
    const leaving = steps.filter(({ action, isLimitOnly }) => action.type !== 'place' && !isLimitOnly)
    return leaving.flatMap(({ action }) => this.#last.get(action.jobId) ?? []).filter(({ ended }) => !ended)
  }

  async #limitPower({ action, placement }: Step): Promise<void> {
    const { nodes, limitPower } = this.#options
    const { jobId, run, powerLimitsW } = action as Extract<ScheduleAction, { type: 'resize' }>
    for (const [i, { server, gpus }] of placement.entries()) {
      await limitPower!({ jobId, run, node: nodes[server]!, gpus, powerLimitW: powerLimitsW![i]! })
    }
  }

  async next(untilS: number, signal?: AbortSignal): Promise<readonly EngineEvent[]> {
    for (;;) {
      const killAtMs = Math.min(...[...this.#submissions.values()].map((each) => each.killAtMs))
      const untilMs = this.#startMs + untilS * 1000
      await this.#lookAtNodes(signal)
      const lookUntilMs = Math.min(untilMs, killAtMs, this.#nodes.lookAtMs)
      const { starts, ends } = await this.#jobs.next(this.#events.length > 0 ? this.#clock.now() : lookUntilMs, signal)
      for (const start of starts) this.#events.push(...this.#started(start))
      for (const end of ends) this.#events.push(...this.#note(end.id, end).events)
      this.#isBehind = false
      for (const end of ends) {
        // A job that finished before it stopped needs no continuation.
        const last = this.#last.get(this.#submissions.get(end.id)!.job.id)!
        if (end.exitCode === 0 && !last.ended) await this.#jobs.cancel(last.id, signal)
      }
      for (const submission of this.#submissions.values()) {
        if (this.#clock.now() < submission.killAtMs) continue
        submission.killAtMs = Number.POSITIVE_INFINITY
        await this.#jobs.cancel(submission.id, signal)
      }
      if (ends.some(({ state }) => state !== null && notItsFault.includes(state))) {
        this.#nodes.lookSoon()
        await this.#lookAtNodes(signal)
      }
      if (this.#events.length > 0 || this.#clock.now() >= untilMs) return this.#events.splice(0)
    }
  }

  /** Polls the nodes. A job that lost its node must not be sent there again. */
  async #lookAtNodes(signal: AbortSignal | undefined): Promise<void> {
    for (const change of await this.#nodes.look(signal)) {
      const server = this.#options.nodes.indexOf(change.node)
      // Runs on a draining node draw power until they exit.
      const type = change.isUsable ? 'server-returned' : change.isLost ? 'server-failed' : 'server-draining'
      this.#events.push({ type, server })
      this.#options.onNode?.(change)
    }
  }

  /**
   * Ends all runs; if Slurm has been silent for too long, everything is left running. Idempotent.
   *
   * @param cause error for which the schedule ends
   * @throws PctodlError listing all jobs that could not be ended
   */
  async close(cause?: unknown): Promise<readonly EngineEvent[]> {
    if (this.#isClosed) return []
    this.#isClosed = true
    try {
      if (!isSilence(cause)) await this.#endAll()
      return this.#events.splice(0)
    } finally {
      this.#jobs.close()
    }
  }

  async #endAll(): Promise<void> {
    const failures: Error[] = []
    const leaving: Submission[] = []
    for (const submission of this.#submissions.values()) {
      if (submission.ended) continue
      try {
        await this.#jobs.cancel(submission.id, undefined, LONGEST_CANCEL_MS)
        submission.stopping = true
        leaving.push(submission)
      } catch (error) {
        failures.push(error as Error)
        // If Slurm does not answer for one job, it answers for none.
        if (isSilence(error)) throw error
      }
    }
    // Wait until the jobs are really gone, so that nothing writes to the folder when it is removed.
    const untilMs = this.#clock.now() + LONGEST_END_MS
    this.#isBehind = true
    while (leaving.some(({ ended }) => !ended) && this.#clock.now() < untilMs) {
      const { ends } = await this.#jobs.next(untilMs)
      for (const end of ends) {
        const { saved, events } = this.#note(end.id, end)
        const jobId = this.#submissions.get(end.id)!.job.id
        const isDone = end.exitCode === 0
        this.#events.push(...(isDone ? events : [{ type: 'stopped', jobId, doneIterations: saved } as const]))
      }
    }
    if (failures.length === 0) return
    if (failures.length === 1) throw failures[0]!
    const said = `${failures.length} jobs could not be ended: ${failures.map(({ message }) => message).join('; ')}`
    throw new PctodlError('SLURM', said, { cause: new AggregateError(failures) })
  }

  #prepare({ action, id, placement }: Step, jobOf: (jobId: number) => Job): Submission {
    const { nodes, commandOf, gres = (gpus) => `gpu:${gpus}` } = this.#options
    const { run } = action
    const grant = action as ScheduleAction & Grant
    const job = jobOf(action.jobId)
    const asked = requestOf(job.id, placement, grant, nodes, gres)
    const before = this.#last.get(job.id)
    const environment = {
      PCTODL_CHECKPOINT: this.#checkpointOf(job.id),
      PCTODL_ITERATIONS: String(job.iterations),
      PCTODL_JOB: String(job.id),
      PCTODL_RUN: String(run),
      PCTODL_GPUS: String(job.gpus),
      PCTODL_CPUS: String(asked.cpusPerNode * placement.length),
      ...(grant.powerLimitsW && { PCTODL_POWER_LIMIT_W: grant.powerLimitsW.join(',') }),
    }
    const submission: Submission = {
      ...{ id, job, run, placement, started: false, stopping: false, ended: false },
      request: {
        ...{ id, command: commandOf(job), environment, ...asked },
        ...(before !== undefined && !before.ended && { after: before.id }),
      },
      submittedMs: Date.now(),
      killAtMs: Number.POSITIVE_INFINITY,
    }
    this.#submissions.set(id, submission)
    this.#last.set(job.id, submission)
    return submission
  }

  async #submit(step: Step, jobOf: (jobId: number) => Job, signal: AbortSignal | undefined): Promise<void> {
    if (this.#submissions.has(step.id)) return
    const submission = this.#prepare(step, jobOf)
    try {
      await this.#jobs.submit(submission.request, signal)
    } catch (error) {
      // A run without a Slurm ID never reports an end.
      submission.ended = true
      const isAnswered = error instanceof PctodlError && ['SLURM', 'SLURM_UNREACHABLE'].includes(error.code)
      // Slurm may have accepted it without an answer.
      if (!isAnswered) await this.#jobs.cancel(submission.id, undefined, LONGEST_CANCEL_MS)
      throw error
    }
  }

  /** Tell a job to save and exit; a job that has not begun just leaves the queue. */
  async #tellToStop(submission: Submission, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#jobs.hasStarted(submission.id)) {
      await this.#jobs.cancel(submission.id, signal)
      return
    }
    await this.#jobs.signal(submission.id, 'USR1', signal)
    // The grace period begins once the signal has been sent.
    submission.killAtMs = this.#clock.now() + this.#options.graceS * 1000
  }

  /** Progress starts now: until now, the job was queued in Slurm. */
  #started({ id, atUnixS, cpus, memoryLimitBytes }: SlurmJobStart): EngineEvent[] {
    const { job, run, submittedMs, request, stopping } = this.#submissions.get(id)!
    const bound = memoryLimitBytes === null ? null : memoryLimitBytes / 2 ** 20
    this.#options.onRun?.({
      jobId: job.id,
      run,
      startUpS: Math.max(0, atUnixS - submittedMs / 1000),
      cpus: { asked: request.cpusPerNode, bound: cpus === request.cpusPerNode ? cpus : null },
      memoryMb: { asked: request.memoryMbPerNode ?? null, bound },
    })
    const { saved } = this.#note(id, null)
    return stopping ? [] : [{ type: 'progressed', jobId: job.id, doneIterations: saved }]
  }

  /** Records for the journal that a run has begun or ended. Returns the saved iterations and the resulting events. */
  #note(id: string, end: SlurmJobEnd | null): { saved: number; events: EngineEvent[] } {
    const { job } = this.#submissions.get(id)!
    const saved = Math.min(readCheckpoint(this.#checkpointOf(job.id)) ?? 0, job.iterations)
    const fact: RunFact = { id, saved, end }
    this.#facts.push(fact)
    return { saved, events: this.#absorb(fact) }
  }

  /** Apply a fact, now or when a journal is replayed. */
  #absorb({ id, saved: doneIterations, end }: RunFact): EngineEvent[] {
    const submission = this.#submissions.get(id)!
    submission.started = true
    if (end === null) return []
    submission.ended = true
    submission.killAtMs = Number.POSITIVE_INFINITY
    const jobId = submission.job.id
    const last = this.#last.get(jobId)!
    if (end.exitCode === 0) {
      last.stopping = true
      const atS = end.atUnixS === null ? Infinity : (end.atUnixS * 1000 - this.#startedUnixMs) / 1000
      return [{ type: 'finished', jobId, ...(this.#isBehind && { atS: Math.min(atS, this.nowS()) }) }]
    }
    const account = this.#accounts.get(jobId) ?? { doneIterations: 0, failures: 0, nodeFailures: 0 }
    this.#accounts.set(jobId, account)
    const progressed = doneIterations > account.doneIterations
    account.doneIterations = doneIterations
    const left: EngineEvent[] = last === submission ? [{ type: 'left', jobId, run: submission.run }] : []
    if (submission.stopping) return [{ type: 'progressed', jobId, doneIterations, saved: true }, ...left]
    const { maxFailures, maxNodeFailures } = this.#options
    const isLost = end.exitCode === null && end.state !== null && notItsFault.includes(end.state)
    if (isLost) account.nodeFailures++
    // Limits the restarts of a job that exits unasked and makes no progress.
    else if (end.exitCode !== SAVED_EXIT_CODE || !progressed) account.failures++
    if (account.failures <= maxFailures && account.nodeFailures <= maxNodeFailures) {
      return [{ type: 'stopped', jobId, doneIterations }]
    }
    this.#given.set(jobId, end)
    return [{ type: 'cancelled', jobId }, ...left]
  }

  #checkpointOf(jobId: number): string {
    return path.join(this.#checkpoints, `${jobId}.json`)
  }
}

/** Whether Slurm has not answered for too long. No job can be ended then. */
function isSilence(error: unknown): boolean {
  return error instanceof PctodlError && error.code === 'SLURM_UNREACHABLE'
}

/** Whether a new run or a continuation is submitted. */
function isStart({ action, isLimitOnly }: Step): boolean {
  return action.type !== 'preempt' && !isLimitOnly
}

/** Exit code of a job that was told to stop and has saved its progress. (Unused by sysexits.) */
const SAVED_EXIT_CODE = 85

const checkpoint = z.object({ doneIterations: z.number().min(0) })

/** Saved progress of a job, iterations; undefined without a readable checkpoint, since the job then starts afresh. */
function readCheckpoint(file: string): number | undefined {
  try {
    const text = readNote(file)
    return text === undefined ? undefined : checkpoint.parse(JSON.parse(text)).doneIterations
  } catch {
    return undefined
  }
}

/** Slurm's MB per GB. The true factor is 1024; the smaller one keeps the shares within a node's memory. */
const MB_OF_GB = 1000

/**
 * Slurm request for a job's grant: whole CPUs (rounded down), MB of memory and GPUs on each node.
 *
 * @throws InvalidInputError for a placement Slurm cannot provide: unequal numbers of GPUs on its nodes, or less than
 * one CPU
 */
function requestOf(
  jobId: number,
  placement: readonly Seat[],
  { cpusPerGpu, memoryGbPerGpu }: Grant,
  nodes: readonly string[],
  gres: (gpus: number) => string,
) {
  const { gpus } = placement[0]!
  if (placement.some((seat) => seat.gpus !== gpus)) {
    const found = placement.map((seat) => seat.gpus).join(' + ')
    const remedy = 'use jobs that fit on one server or fill whole servers'
    const expected = `equal numbers of GPUs on each node, as Slurm requires; ${remedy}`
    throw new InvalidInputError(`job ${jobId}: placement`, found, expected)
  }
  // Tolerate rounding just below a whole number.
  const cpus = Math.floor(cpusPerGpu * gpus + 1e-6)
  if (cpus < 1) throw new InvalidInputError(`job ${jobId}: CPUs`, cpusPerGpu * gpus, 'at least one CPU per job')
  const memoryMb = Math.floor(memoryGbPerGpu * gpus * MB_OF_GB + 1e-6)
  return {
    nodes: placement.map(({ server }) => nodes[server]!),
    cpusPerNode: cpus,
    ...(memoryMb >= 1 ? { memoryMbPerNode: memoryMb } : {}),
    gres: gres(gpus),
  }
}
