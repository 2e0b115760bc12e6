import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleAction } from '../engine/schedule-action.js'
import { ScheduleEngine } from '../engine/schedule-engine.js'
import { DueEvents, whoNeverRuns } from '../simulate/due-events.js'
import { checkOptions, type SimulationOptions } from '../simulate/simulation-options.js'
import type { Job } from '../trace/job.js'
import type { ScheduleExecutor } from './schedule-executor.js'
import { assertSameActions, ScheduleJournal } from './schedule-journal.js'

export interface ExecuteOptions extends Omit<SimulationOptions, 'onPlan' | 'stopS' | 'limitsChange'> {
  /** A file that outlives this process: the same call goes on where it ends. Default: none, and a schedule dies with its process. */
  readonly journal?: string
  readonly signal?: AbortSignal
  /** Told of all that the engine is told. */
  readonly onEvents?: (timeS: number, events: readonly EngineEvent[]) => void
}

/** What became of a job that was really run. */
export interface ExecutedJob {
  readonly job: Job
  readonly outcome: 'finished' | 'cancelled'
  /** When it was first given its place; null where it never was. */
  readonly firstPlacedS: number | null
  readonly finishS: number
  /** Finish minus arrival. */
  readonly completionS: number
  /** How often it was started. */
  readonly runs: number
}

/**
 * Run a trace by an executor: the engine that simulates, with real ends in place of reckoned ones. Jobs are submitted when the trace
 * says, by the executor's time. With a journal, a call after one that was killed goes on with the jobs as they are.
 *
 * @returns one entry for each job that the cluster can run, in the order of arrival
 * @throws as `simulate`; PctodlError `JOURNAL`; the signal's reason when aborted; what the executor throws. Whatever happens, all that
 *   runs is ended
 */
export async function executeSchedule(options: ExecuteOptions, executor: ScheduleExecutor): Promise<ExecutedJob[]> {
  let journal: ScheduleJournal | null = null
  try {
    const checked = checkOptions(options)
    const { jobs, incidents } = checked
    const rules = { ...options, limitsChange: executor.changesLimits === true }
    const engine = new ScheduleEngine(rules)
    if (options.journal !== undefined) {
      if (executor.resume === undefined || executor.takeFacts === undefined) {
        throw new InvalidInputError('journal', options.journal, 'an executor that can resume')
      }
      journal = new ScheduleJournal(options.journal, { ...checked, solver: null }, Date.now())
    }
    return await new Execution(engine, jobs, new DueEvents(jobs, incidents), executor, journal, options).run()
  } finally {
    journal?.close()
    // Also where the options are wrong: an executor holds its folder from the moment in which it is made.
    await executor.close()
  }
}

class Execution {
  readonly #runs = new Map<number, number>()
  readonly #firstPlacedS = new Map<number, number>()
  readonly #ends = new Map<number, { readonly finishS: number; readonly outcome: ExecutedJob['outcome'] }>()
  readonly #jobOf: (jobId: number) => Job
  readonly engine: ScheduleEngine
  readonly jobs: readonly Job[]
  readonly due: DueEvents
  readonly executor: ScheduleExecutor
  readonly journal: ScheduleJournal | null
  readonly options: ExecuteOptions

  constructor(
    engine: ScheduleEngine,
    jobs: readonly Job[],
    due: DueEvents,
    executor: ScheduleExecutor,
    journal: ScheduleJournal | null,
    options: ExecuteOptions,
  ) {
    this.engine = engine
    this.jobs = jobs
    this.due = due
    this.executor = executor
    this.journal = journal
    this.options = options
    const byId = new Map(jobs.map((job) => [job.id, job]))
    this.#jobOf = (jobId) => byId.get(jobId)!
  }

  async run(): Promise<ExecutedJob[]> {
    const { engine, due, executor, journal } = this
    const { signal, onEvents, onActions } = this.options
    try {
      if (journal !== null) await this.#resume(journal)
      while (!due.allArrived || engine.unfinished > 0) {
        const untilS = Math.min(due.nextAtS, engine.wakeAtS)
        if (untilS === Number.POSITIVE_INFINITY && engine.isIdle && executor.awaitsServers !== true) {
          throw whoNeverRuns(engine)
        }
        const events = [...(await executor.next(untilS, signal))]
        const nowS = Math.max(engine.nowS, executor.nowS())
        due.takeUntil(nowS, events)
        if (events.length === 0 && nowS < engine.wakeAtS) continue
        onEvents?.(nowS, events)
        const actions = this.#plan(nowS, events)
        const facts = executor.takeFacts?.() ?? []
        journal?.append({ timeS: nowS, events, facts, actions })
        if (actions.length > 0) onActions?.(nowS, actions)
        await executor.apply(actions, this.#jobOf, signal)
      }
    } catch (error) {
      const events = await executor.close()
      // Who was ended waits again: the next call with this journal starts it from its checkpoint.
      if (journal !== null && events.length > 0) {
        const timeS = Math.max(engine.nowS, executor.nowS())
        journal.append({ timeS, events, facts: executor.takeFacts!(), actions: engine.plan(timeS, events) })
      }
      throw error
    }
    return this.jobs.map((job): ExecutedJob => {
      const { finishS, outcome } = this.#ends.get(job.id)!
      const firstPlacedS = this.#firstPlacedS.get(job.id) ?? null
      const runs = this.#runs.get(job.id) ?? 0
      return { job, outcome, firstPlacedS, finishS, completionS: finishS - job.arrivalS, runs }
    })
  }

  async #resume({ startedUnixMs, entries }: ScheduleJournal): Promise<void> {
    for (const entry of entries) {
      this.due.takeUntil(entry.timeS, [])
      assertSameActions(this.#plan(entry.timeS, entry.events), entry)
    }
    await this.executor.resume!({ startedUnixMs, entries }, this.#jobOf, this.options.signal)
  }

  #plan(nowS: number, events: readonly EngineEvent[]): ScheduleAction[] {
    for (const event of events) {
      if ((event.type !== 'finished' && event.type !== 'cancelled') || this.#ends.has(event.jobId)) continue
      this.#ends.set(event.jobId, { finishS: event.atS ?? nowS, outcome: event.type })
    }
    const actions = this.engine.plan(nowS, events)
    for (const { type, jobId, run } of actions) {
      if (type !== 'place' && type !== 'migrate') continue
      this.#runs.set(jobId, run)
      if (run === 1) this.#firstPlacedS.set(jobId, nowS)
    }
    return actions
  }
}
