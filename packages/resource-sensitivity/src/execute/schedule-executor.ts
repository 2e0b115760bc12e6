import type { ScheduleAction } from '../engine/actions.js'
import type { EngineEvent } from '../engine/engine-event.js'
import type { Job } from '../trace/job.js'
import type { JournalEntry } from './schedule-journal.js'

/** What carries out the actions of an engine, and tells it what happens. */
export interface ScheduleExecutor {
  /** Whether it can change the power limit of a running job. Default false. */
  readonly changesLimits?: boolean
  /** Whether servers are away that may come back, so that something may happen though nothing runs. Default false. */
  readonly awaitsServers?: boolean
  /** Seconds since the schedule began, on the clock of the arrivals. */
  nowS(): number
  /** Carry out the actions of one plan. What was carried out before changes nothing. @throws the signal's reason when aborted */
  apply(actions: readonly ScheduleAction[], jobOf: (jobId: number) => Job, signal?: AbortSignal): Promise<void>
  /**
   * Wait for something to happen.
   *
   * @returns what did, at once; nothing when `untilS` has come
   * @throws the signal's reason when aborted
   */
  next(untilS: number, signal?: AbortSignal): Promise<readonly EngineEvent[]>
  /** What it has seen since it was last asked: the next entry of the journal keeps it. Needed for a journal. */
  takeFacts?(): readonly unknown[]
  /** Go on where a journal ends, before anything else is asked. Needed for a journal. */
  resume?(
    journal: { readonly startedUnixMs: number; readonly entries: readonly JournalEntry[] },
    jobOf: (jobId: number) => Job,
    signal?: AbortSignal,
  ): Promise<void>
  /** End everything that still runs. @returns what became of it */
  close(): Promise<readonly EngineEvent[]>
}
