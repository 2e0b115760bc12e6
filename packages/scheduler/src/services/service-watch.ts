import type { Service, ServiceReading } from '@pctodl/platform'
import { ArrivalRate } from './arrival-rate.js'

/**
 * Share of late requests that is tolerated; more raises the caution. It is below the 1 % that the p99 objective allows.
 */
const BUDGET = 0.003
/**
 * Caution reaches its maximum at this number of late requests beyond the tolerated ones, as a share of a minute's
 * requests.
 */
const FULL = 0.003
/** At maximum caution, the policy is ready for the last minute's peak rate times this factor. */
const MAX_FACTOR = 1.2
/** A queue must drain within this share of the objective. */
const DRAIN = 0.5

/** Measures one service: its arrival rate, its queue, and a caution (0..1) that rises with late requests. */
export class ServiceWatch {
  readonly service: Service
  readonly rate: ArrivalRate
  #queued = 0
  #caution = 0
  #decided = 0
  #missed = 0

  constructor(service: Service, expectedPerS: number, rate: ArrivalRate = new ArrivalRate(expectedPerS)) {
    this.service = service
    this.rate = rate
  }

  /** Number of waiting requests that do not fit into one batch. */
  get backlog(): number {
    return Math.max(0, this.#queued - this.service.maxBatchSize)
  }

  /**
   * What the tenants must be able to serve now: the rate at which the objective must be met, and the capacity that
   * drains the queue early enough for its last request, requests/s. Caution moves the rate from the present one (none)
   * to the last minute's peak times a factor (maximum). It also counts that part of the largest batch as waiting,
   * because a batch may arrive at once.
   */
  demand(cautious: boolean): { readonly perS: number; readonly drainPerS: number } {
    const { maxBatchSize, objective } = this.service
    const { perS, peakPerS } = this.rate
    const caution = cautious ? this.#caution : 0
    const waiting = Math.max(this.#queued, caution * maxBatchSize)
    return {
      perS: perS + caution * (MAX_FACTOR * peakPerS - perS),
      drainPerS: (1000 * waiting) / (DRAIN * objective.p99Ms),
    }
  }

  /**
   * @param excused whether late requests leave the caution unchanged, because tenants load or no higher clock was
   * available
   */
  update(timeMs: number, reading: ServiceReading, excused: boolean): void {
    const { arrived, completed, late, shed, failed, queued } = reading
    this.rate.update(timeMs, arrived)
    this.#queued = queued
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
