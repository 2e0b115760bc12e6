import type { ScheduleAction } from '../engine/actions.js'
import type { EngineEvent } from '../engine/engine-event.js'
import type { Job } from '../trace/job.js'
import type { JournalEntry } from './schedule-journal.js'

/** What earlier processes of a schedule have journalled. */
export interface ResumedJournal {
  readonly startedUnixMs: number
  readonly entries: readonly JournalEntry[]
}

/** Carries out the engine's actions and reports events. */
export interface ScheduleExecutor {
  /** Whether it can change the power limit of a running job. Default false. */
  readonly changesLimits?: boolean
  /** Whether an unavailable server may come back. If so, the schedule waits although no job runs. Default false. */
  readonly awaitsServers?: boolean
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
  /** Observations since the last call, stored in the next journal entry. Required for a journal. */
  takeFacts?(): readonly unknown[]
  /** Resumes a schedule where its journal ends. Called before any other method. Required for a journal. */
  resume?(journal: ResumedJournal, jobOf: (jobId: number) => Job, signal?: AbortSignal): Promise<void>
  /** End everything that still runs. @returns the resulting events */
  close(): Promise<readonly EngineEvent[]>
}
