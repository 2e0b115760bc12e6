import type { Service, ServiceReading } from '@pctodl/platform'
import { ArrivalRate } from './arrival-rate.js'

/**
 * Share of late requests that is tolerated; more raises the caution. It is below the 1 % that the p99 objective allows.
 */
const BUDGET = 0.003
/** As many late requests beyond the tolerated ones as arrive in this time, s, raise the caution by 1. */
const LATE_S = 0.36
/** Highest caution. More would keep a high clock for minutes after a single burst. */
const MAX_CAUTION = 0.88
/** Late requests count relative to the mean rate of this time, s. */
const MEAN_S = 30
/** At caution 1, the policy prepares for the last minute's peak rate times this factor. */
const MAX_FACTOR = 1.4

/** Measures one service: its arrival rate, its queue, and a caution that rises with late requests. */
export class ServiceWatch {
  readonly service: Service
  readonly rate: ArrivalRate
  queued = 0
  /** Share of the requests that is admitted now, 0..1. */
  admitted = 1
  /** Rises with late requests, 0..`MAX_CAUTION`. */
  caution = 0
  /** The last update. The first one only begins the count, because the service may have been served before. */
  #before: { readonly timeMs: number; readonly decided: number; readonly missed: number } | undefined

  constructor(service: Service, expectedPerS: number, rate: ArrivalRate = new ArrivalRate(expectedPerS)) {
    this.service = service
    this.rate = rate
  }

  /** Number of waiting requests that do not fit into one batch. */
  get backlog(): number {
    return Math.max(0, this.queued - this.service.maxBatchSize)
  }

  /**
   * Rate to prepare for, requests/s. Without caution it is the present rate; at caution 1 it is the last minute's peak
   * times a factor.
   */
  get readyPerS(): number {
    const { perS, peakPerS } = this.rate
    return perS + this.caution * (MAX_FACTOR * peakPerS - perS)
  }

  /**
   * @param excused whether late requests do not raise the caution, because tenants load or no higher clock was
   * available
   */
  update(timeMs: number, reading: ServiceReading, excused: boolean): void {
    const { arrived, completed, late, shed, failed, queued } = reading
    this.rate.update(timeMs, arrived)
    this.queued = queued
    const perS = this.rate.meanPerS(MEAN_S)
    const now = { timeMs, decided: completed + shed + failed, missed: late + shed + failed }
    const before = this.#before ?? now
    this.#before = now
    // A service with less than a request per second counts as one with a request per second, so its caution falls, too.
    const more = perS < 1 && timeMs > 1000 * MEAN_S ? (timeMs - before.timeMs) / 1000 : now.decided - before.decided
    const excess = (excused ? 0 : now.missed - before.missed) - BUDGET * more
    this.caution = Math.min(MAX_CAUTION, Math.max(0, this.caution + excess / (LATE_S * Math.max(1, perS))))
  }
}
