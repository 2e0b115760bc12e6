import { InvalidInputError, PctodlError } from '@pctodl/platform'
import type { EngineEvent, ScheduleAction } from '../engine/actions.js'
import { ScheduleEngine } from '../engine/schedule-engine.js'
import { assertRunnable } from '../engine/scheduling-options.js'
import { type CheckedOptions, checkOptions, DueEvents, type SimulationOptions, whoNeverRuns } from '../simulate.js'
import type { Job } from '../trace.js'
import { forgetRequest, readRequests, type ScheduleRequest } from './requests.js'
import { type JournalEntry, ScheduleJournal } from './schedule-journal.js'

export interface ExecuteOptions extends Omit<SimulationOptions, 'onPlan' | 'stopS' | 'limitsChange'> {
  /** Journal file. A later call with the same options resumes where the journal ends. Default: none. */
  readonly journal?: string
  /** Folder for submit and cancel requests while the schedule runs (`requestOfSchedule`). Default: none. */
  readonly requests?: string
  readonly signal?: AbortSignal
  /** Called with the events of each plan. */
  readonly onEvents?: (timeS: number, events: readonly EngineEvent[]) => void
  /** Called for an invalid request. The request has no effect on the schedule. */
  readonly onRefused?: (file: string, error: Error) => void
}

export interface ExecutedJob {
  readonly job: Job
  readonly outcome: 'finished' | 'cancelled'
  /** Time of its first placement; null if it never had one. */
  readonly firstPlacedS: number | null
  readonly finishS: number
  /** Finish minus arrival. */
  readonly completionS: number
  readonly runs: number
}

/** Interval at which requests are read, s. */
const LOOK_S = 0.5

/**
 * Runs a trace on an executor, with the engine of the simulation. Real finish times replace the estimated ones, and
 * jobs are submitted at the times of the trace by the executor's clock. With a journal, a call after a killed one
 * resumes with the jobs in their present state.
 *
 * @returns one entry per job that the cluster can run, in order of arrival
 * @throws as `simulate`; PctodlError `JOURNAL`; the signal's reason if aborted; errors of the executor. In every case
 * all running jobs are ended
 */
export async function executeSchedule(options: ExecuteOptions, executor: ScheduleExecutor): Promise<ExecutedJob[]> {
  let journal: ScheduleJournal | null = null
  try {
    const checked = checkOptions(options)
    const execution = new Execution(options, checked, executor)
    if (options.journal !== undefined) {
      journal = new ScheduleJournal(options.journal, { ...checked, solver: null, nodes: executor.nodes }, Date.now())
    }
    return await execution.run(journal)
  } finally {
    // The executor is closed even for invalid options, because it locks its folder as soon as it is created.
    await executor.close()
  }
}

interface KnownJob {
  readonly job: Job
  end?: { readonly finishS: number; readonly outcome: ExecutedJob['outcome'] }
}

class Execution {
  readonly #options: ExecuteOptions
  readonly #executor: ScheduleExecutor
  readonly #engine: ScheduleEngine
  readonly #due: DueEvents
  /** Each job of the trace and each job submitted since. */
  readonly #known = new Map<number, KnownJob>()
  readonly #jobOf = (jobId: number): Job => this.#known.get(jobId)!.job

  constructor(options: ExecuteOptions, { jobs, incidents }: CheckedOptions, executor: ScheduleExecutor) {
    this.#options = options
    this.#executor = executor
    this.#engine = new ScheduleEngine({ ...options, limitsChange: executor.changesLimits })
    this.#due = new DueEvents(jobs, incidents)
    for (const job of jobs) this.#known.set(job.id, { job })
  }

  async run(journal: ScheduleJournal | null): Promise<ExecutedJob[]> {
    const [engine, due, executor] = [this.#engine, this.#due, this.#executor]
    const { signal, requests, onEvents, onActions } = this.#options
    /** Whether the journal records everything that the engine knows. */
    let isNoted = true
    try {
      if (journal !== null) await this.#resume(journal)
      for (;;) {
        const isOver = due.allArrived && engine.unfinished === 0
        // A request may come as the last job ends, or between two calls.
        if (isOver && (requests === undefined || readRequests(requests).length === 0)) break
        const untilS = Math.min(due.nextAtS, engine.wakeAtS)
        if (!isOver && untilS === Number.POSITIVE_INFINITY && engine.isIdle && !executor.awaitsServers) {
          throw whoNeverRuns(engine)
        }
        const lookAtS = requests === undefined ? untilS : Math.min(untilS, executor.nowS() + LOOK_S)
        const events = [...(await executor.next(lookAtS, signal))]
        const nowS = Math.max(engine.nowS, executor.nowS())
        isNoted = false
        events.push(...due.takeUntil(nowS))
        const asked = this.#takeRequests(nowS, events)
        let actions: ScheduleAction[] = []
        if (events.length > 0 || nowS >= engine.wakeAtS) {
          onEvents?.(nowS, events)
          actions = this.#plan(nowS, events)
          const facts = executor.takeFacts()
          journal?.append({ timeS: nowS, events, facts, actions })
        }
        isNoted = true
        if (actions.length > 0) onActions?.(nowS, actions)
        await executor.apply(actions, this.#jobOf, signal)
        for (const file of asked) forgetRequest(file)
      }
    } catch (error) {
      const events = await executor.close(error)
      // Ended jobs wait again: the next call with this journal starts them from their checkpoints.
      if (journal !== null && events.length > 0 && isNoted) {
        const timeS = Math.max(engine.nowS, executor.nowS())
        const all = [...events, ...due.takeUntil(timeS)]
        journal.append({ timeS, events: all, facts: executor.takeFacts(), actions: this.#plan(timeS, all) })
      }
      throw error
    }
    return [...this.#known.values()].map(({ job, end }): ExecutedJob => {
      const { finishS, outcome } = end!
      const { firstStartS: firstPlacedS, runs } = engine.running.find(job.id)!
      return { job, outcome, firstPlacedS, finishS, completionS: finishS - job.arrivalS, runs }
    })
  }

  async #resume({ startedUnixMs, entries }: ScheduleJournal): Promise<void> {
    for (const entry of entries) {
      this.#due.takeUntil(entry.timeS)
      assertSameActions(this.#plan(entry.timeS, entry.events), entry)
    }
    await this.#executor.resume({ startedUnixMs, entries }, this.#jobOf, this.#options.signal)
  }

  /** Appends the requested events. @returns the request files, to be removed once the events are in the journal */
  #takeRequests(nowS: number, events: EngineEvent[]): string[] {
    const { requests, onRefused } = this.#options
    if (requests === undefined) return []
    return readRequests(requests).map(({ file, request }) => {
      try {
        if (request instanceof Error) throw request
        events.push(...this.#eventsOf(request, nowS))
      } catch (error) {
        onRefused?.(file, error as Error)
      }
      return file
    })
  }

  /**
   * Returns the events of a request, or throws and returns none. A submitted job that is already known is skipped: an
   * earlier process had read the same request before it was killed.
   */
  #eventsOf({ submit = [], cancel = [] }: ScheduleRequest, nowS: number): EngineEvent[] {
    for (const jobId of cancel) {
      if ((this.#known.get(jobId)?.job.arrivalS ?? Infinity) > nowS) {
        throw new InvalidInputError('cancel', `job ${jobId}`, 'a job that has arrived')
      }
    }
    const { profiles, options } = this.#engine.running
    const fresh = new Map<number, Job>()
    for (const each of submit) {
      const job = { ...each, arrivalS: nowS }
      assertRunnable(job, profiles, options.cluster)
      const known = this.#known.get(job.id)?.job ?? fresh.get(job.id)
      if (known === undefined) fresh.set(job.id, job)
      else if (known.model !== job.model || known.iterations !== job.iterations || known.gpus !== job.gpus) {
        throw new InvalidInputError('submit', `job ${job.id}`, 'an id that no other job has')
      }
    }
    for (const job of fresh.values()) this.#known.set(job.id, { job })
    return [
      ...[...fresh.values()].map((job): EngineEvent => ({ type: 'submitted', job })),
      ...cancel.map((jobId): EngineEvent => ({ type: 'cancelled', jobId })),
    ]
  }

  #plan(nowS: number, events: readonly EngineEvent[]): ScheduleAction[] {
    for (const event of events) {
      if (event.type === 'submitted' && !this.#known.has(event.job.id))
        this.#known.set(event.job.id, { job: event.job })
      if (event.type !== 'finished' && event.type !== 'cancelled') continue
      const known = this.#known.get(event.jobId)!
      known.end ??= { finishS: Math.max(known.job.arrivalS, event.atS ?? nowS), outcome: event.type }
    }
    return this.#engine.plan(nowS, events)
  }
}

/** Checks that a replayed plan has the same actions as the journal. @throws PctodlError `JOURNAL` */
function assertSameActions(actions: readonly ScheduleAction[], { timeS, actions: before }: JournalEntry): void {
  if (JSON.stringify(actions) === JSON.stringify(before)) return
  throw new PctodlError(
    'JOURNAL',
    `the plan at ${timeS} s differs from the journal, which another version has written; finish the schedule with that version, or use a new work folder`,
  )
}

/** What earlier processes of a schedule have journalled. */
export interface ResumedJournal {
  readonly startedUnixMs: number
  readonly entries: readonly JournalEntry[]
}

/** Carries out the engine's actions and reports events. */
export interface ScheduleExecutor {
  /** Names of the servers, in order. A schedule is resumed only with the same ones. Default: not known. */
  readonly nodes?: readonly string[]
  /** Whether it can change the power limit of a running job. */
  readonly changesLimits: boolean
  /** Whether an unavailable server may come back. If so, the schedule waits although no job runs. */
  readonly awaitsServers: boolean
  /** Seconds since the start of the schedule, on the clock of the arrivals. */
  nowS(): number
  /** Carries out a plan. Actions already carried out have no effect. @throws the signal's reason if aborted */
  apply(actions: readonly ScheduleAction[], jobOf: (jobId: number) => Job, signal?: AbortSignal): Promise<void>
  /**
   * Wait for events.
   *
   * @returns events as soon as there are any; an empty list at `untilS`
   * @throws the signal's reason if aborted
   */
  next(untilS: number, signal?: AbortSignal): Promise<readonly EngineEvent[]>
  /** Observations since the last call, stored in the next journal entry. */
  takeFacts(): readonly unknown[]
  /** Resumes a schedule where its journal ends. Called before any other method. */
  resume(journal: ResumedJournal, jobOf: (jobId: number) => Job, signal?: AbortSignal): Promise<void>
  /** Ends everything that still runs, if the cause does not prevent it. @returns the resulting events */
  close(cause?: unknown): Promise<readonly EngineEvent[]>
}
