import type { EngineEvent } from './engine-event.js'
import type { ScheduleAction } from './schedule-action.js'

/** What plans a cluster, seen by who drives it: a simulation, a dry run or a real cluster. */
export interface Scheduler {
  /** Time of the last plan. */
  readonly nowS: number
  /** When a running job would be done next as its profile says; Infinity where none runs. */
  readonly nextFinishS: number
  /** When to plan again at the latest, events or not. */
  readonly wakeAtS: number
  /** How many jobs that were submitted are not finished. */
  readonly unfinished: number
  /** Ids of the jobs that wait. */
  readonly waiting: readonly number[]
  /** Whether nothing runs, so that nothing will happen by itself. */
  readonly isIdle: boolean
  /** Ids of the running jobs that would be done by then, in the order in which they would be. */
  expectedToFinishBy(untilS: number): number[]
  /** Decide what to do now, given what happened since the last plan. */
  plan(nowS: number, events: readonly EngineEvent[]): ScheduleAction[]
}
