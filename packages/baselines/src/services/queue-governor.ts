import type { Action, SampleObservation } from '@pctodl/scheduler'
import { anyQueueIsLong } from './long-queue.js'
import { ServicesGovernor } from './services-governor.js'
import type { ServicesBaselineOptions } from './services-start.js'

export interface QueueGovernorOptions extends ServicesBaselineOptions {
  /** Share of the time in which the board is to be busy, percent. Default 75. */
  readonly targetUtilPercent?: number
}

/** How often the clock is chosen, ms. */
const PERIOD_MS = 500
/** The clock moves only where utilisation is so many percent from its target. */
const DEAD_BAND = 5

/**
 * A clock governor as operating systems have for processors: every half second the clock that would bring the board's utilisation
 * to a target, and the highest where a queue is long. The board's limit holds the cap behind it. Tenants are planned, once.
 */
export class QueueGovernorPolicy extends ServicesGovernor<QueueGovernorOptions> {
  readonly name = 'queue-governor'
  #utilSum = 0
  #utilCount = 0
  #nextMs = PERIOD_MS

  onSample({ timeMs, telemetry, applied, services = [] }: SampleObservation): Action | undefined {
    if (telemetry.smUtilPercent !== null) {
      this.#utilSum += telemetry.smUtilPercent
      this.#utilCount++
    }
    if (timeMs < this.#nextMs || this.#utilCount === 0) return undefined
    this.#nextMs = timeMs + PERIOD_MS
    const util = this.#utilSum / this.#utilCount
    this.#utilSum = 0
    this.#utilCount = 0
    const present = applied.smClockMhz ?? telemetry.smClockMhz
    if (present === null) return undefined
    const smClockMhz = anyQueueIsLong(this.services, services) ? this.clocksMhz.at(-1)! : this.#clockFor(util, present)
    return smClockMhz === applied.smClockMhz ? undefined : { smClockMhz }
  }

  onWindow(): undefined {}

  #clockFor(util: number, presentMhz: number): number {
    const { targetUtilPercent = 75 } = this.options
    if (Math.abs(util - targetUtilPercent) < DEAD_BAND) return presentMhz
    return this.goTo((presentMhz * util) / targetUtilPercent).smClockMhz
  }
}
