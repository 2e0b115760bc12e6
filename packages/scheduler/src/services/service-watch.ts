import type { Service, ServiceReading } from '@pctodl/platform'
import { ArrivalRate } from './arrival-rate.js'

/** Share of late requests above which caution rises; below the 1 % of the objective. */
const BUDGET = 0.003
/** Late requests beyond the budget, as a share of a minute's requests, at which caution is at its maximum. */
const FULL = 0.006
/** Factor on the last minute's peak at full caution. */
const MAX_FACTOR = 1.4

/** Measurements of one service: its rate, its queue, and the caution that follows from late requests. */
export class ServiceWatch {
  readonly service: Service
  readonly rate: ArrivalRate
  queued = 0
  /** Share admitted last. */
  admitted = 1
  #caution = 0
  #decided = 0
  #missed = 0

  constructor(service: Service, expectedPerS: number, rate: ArrivalRate = new ArrivalRate(expectedPerS)) {
    this.service = service
    this.rate = rate
  }

  /** Requests that wait beyond one batch. */
  get backlog(): number {
    return Math.max(0, this.queued - this.service.maxBatchSize)
  }

  /** Rate to be ready for, requests/s: between the present rate and above the last minute's peak, by caution. */
  get readyPerS(): number {
    const { perS, peakPerS } = this.rate
    return perS + this.#caution * (MAX_FACTOR * peakPerS - perS)
  }

  /** @param excused whether a higher clock would not have helped: tenants load, or there was none */
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
