import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleEngine } from '../engine/schedule-engine.js'
import type { Job } from '../trace/job.js'
import type { Incident } from './simulation-options.js'

/** Events of a trace: job arrivals and incidents, which are taken when they are due. */
export class DueEvents {
  readonly #events: readonly Incident[]
  /** Number of events up to the last arrival. */
  readonly #untilLastArrival: number
  #taken = 0

  constructor(jobs: readonly Job[], incidents: readonly Incident[]) {
    const arrivals = jobs.map((job): Incident => ({ atS: job.arrivalS, event: { type: 'submitted', job } }))
    // At the same moment, incidents come first.
    this.#events = [...incidents, ...arrivals].sort((a, b) => a.atS - b.atS)
    this.#untilLastArrival = this.#events.findLastIndex(({ event }) => event.type === 'submitted') + 1
  }

  /** Whether every job has been taken; incidents may remain. */
  get allArrived(): boolean {
    return this.#taken >= this.#untilLastArrival
  }

  /** Time of the next event, s; Infinity if none is left. */
  get nextAtS(): number {
    return this.#events[this.#taken]?.atS ?? Number.POSITIVE_INFINITY
  }

  /** Takes the events that are due. */
  takeUntil(nowS: number): EngineEvent[] {
    const due: EngineEvent[] = []
    while (this.nextAtS <= nowS) due.push(this.#events[this.#taken++]!.event)
    return due
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
