import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleEngine } from '../engine/schedule-engine.js'
import type { Job } from '../trace/job.js'
import type { Incident } from './simulation-options.js'

/** Events of a trace (job arrivals and incidents), which are taken when they are due. */
export class DueEvents {
  readonly #jobs: readonly Job[]
  readonly #incidents: readonly Incident[]
  #arrived = 0
  #happened = 0

  constructor(jobs: readonly Job[], incidents: readonly Incident[]) {
    this.#jobs = jobs
    this.#incidents = incidents
  }

  /** Whether every job has been taken; incidents may remain. */
  get allArrived(): boolean {
    return this.#arrived === this.#jobs.length
  }

  /** Time of the next event, s; Infinity if none is left. */
  get nextAtS(): number {
    return Math.min(
      this.#jobs[this.#arrived]?.arrivalS ?? Number.POSITIVE_INFINITY,
      this.#incidents[this.#happened]?.atS ?? Number.POSITIVE_INFINITY,
    )
  }

  /** Append events due by `nowS` to `events`: incidents first, then arrivals. */
  takeUntil(nowS: number, events: EngineEvent[]): void {
    while (this.#happened < this.#incidents.length && this.#incidents[this.#happened]!.atS <= nowS) {
      events.push(this.#incidents[this.#happened++]!.event)
    }
    while (this.#arrived < this.#jobs.length && this.#jobs[this.#arrived]!.arrivalS <= nowS) {
      events.push({ type: 'submitted', job: this.#jobs[this.#arrived++]! })
    }
  }
}

/** Returns the error for jobs that wait for servers or watts that never return. */
export function whoNeverRuns({ waiting }: ScheduleEngine): InvalidInputError {
  return new InvalidInputError(
    'incidents',
    `servers or watts that never return while jobs ${waiting.slice(0, 5).join(', ')} wait for them`,
    'servers and watts that return, or fewer that fail',
  )
}
