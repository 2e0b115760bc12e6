import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleEngine } from '../engine/schedule-engine.js'
import type { Job } from '../trace/job.js'
import type { Incident } from './simulation-options.js'

/** What a trace says will happen, jobs that arrive and incidents of servers, taken as its time comes. */
export class DueEvents {
  readonly #jobs: readonly Job[]
  readonly #incidents: readonly Incident[]
  #arrived = 0
  #happened = 0

  constructor(jobs: readonly Job[], incidents: readonly Incident[]) {
    this.#jobs = jobs
    this.#incidents = incidents
  }

  /** Every job has been taken; incidents may be left. */
  get allArrived(): boolean {
    return this.#arrived === this.#jobs.length
  }

  /** When the next of them is due, s; infinite where none is left. */
  get nextAtS(): number {
    return Math.min(
      this.#jobs[this.#arrived]?.arrivalS ?? Number.POSITIVE_INFINITY,
      this.#incidents[this.#happened]?.atS ?? Number.POSITIVE_INFINITY,
    )
  }

  /** Add what is due by `nowS` to `events`: incidents first, then arrivals. */
  takeUntil(nowS: number, events: EngineEvent[]): void {
    while (this.#happened < this.#incidents.length && this.#incidents[this.#happened]!.atS <= nowS) {
      events.push(this.#incidents[this.#happened++]!.event)
    }
    while (this.#arrived < this.#jobs.length && this.#jobs[this.#arrived]!.arrivalS <= nowS) {
      events.push({ type: 'submitted', job: this.#jobs[this.#arrived++]! })
    }
  }
}

/** Jobs wait, and nothing will ever happen again. */
export function whoNeverRuns({ waiting }: ScheduleEngine): InvalidInputError {
  return new InvalidInputError(
    'incidents',
    `servers or watts that stay away while jobs ${waiting.slice(0, 5).join(', ')} wait for them`,
    'servers and watts that return, or fewer that fail',
  )
}
