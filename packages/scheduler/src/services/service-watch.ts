import type { Service, ServiceReading } from '@pctodl/platform'
import { ArrivalRate } from './arrival-rate.js'

/** Share of the requests that may be late before more is asked for: below the 1 % of the objective. */
const BUDGET = 0.003
/** Late requests beyond the budget, as a share of a minute's requests, at which caution reaches its maximum. */
const FULL = 0.006
/** Factor on the peak of the last minute that full caution is ready for. */
const MAX_FACTOR = 1.4

/** What is measured of one service: its rate, its queue, and how cautious what became late makes. */
export class ServiceWatch {
  readonly service: Service
  readonly rate: ArrivalRate
  queued = 0
  /** Share that was last let in. */
  admitted = 1
  #caution = 0
  #decided = 0
  #missed = 0

  constructor(service: Service, expectedPerS: number, rate: ArrivalRate = new ArrivalRate(expectedPerS)) {
    this.service = service
    this.rate = rate
  }

  /** Requests/s to be ready for: from the rate of now to beyond the last minute's peak, as caution asks. */
  get readyPerS(): number {
    const { perS, peakPerS } = this.rate
    return perS + this.#caution * (MAX_FACTOR * peakPerS - perS)
  }

  /** @param excused a higher clock would not have helped: tenants load, or there was none */
  update(timeMs: number, reading: ServiceReading, excused: boolean): void {
    const { arrived, completed, late, shed, failed, queued } = reading
    this.rate.update(timeMs, arrived)
    this.queued = queued
    const decided = completed + shed + failed
    const missed = late + shed + failed
    const more = decided - this.#decided
    if (more > 0 && !excused) {
      const excess = missed - this.#missed - BUDGET * more
      const minute = 60 * Math.max(1, this.rate.meanPerS(30))
      this.#caution = Math.min(1, Math.max(0, this.#caution + excess / (FULL * minute)))
    }
    this.#decided = decided
    this.#missed = missed
  }
}
