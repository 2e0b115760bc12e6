import {
  type Arrivals,
  assertServices,
  InvalidInputError,
  LatencyHistogram,
  PctodlError,
  type Service,
  type ServiceCounters,
} from '@pctodl/platform'
import { RequestQueue } from './request-queue.js'

/** A service with its arrivals. */
export interface ServedService {
  readonly service: Service
  /**
   * Arrival times, counted from when the service was added, ms. `start` of any arrival process of `@pctodl/traffic`
   * returns them.
   */
  readonly arrivals: Arrivals
  /** Maximum queue length. Requests that arrive at a full queue are shed. Default 4096. */
  readonly maxQueued?: number
  /**
   * Maximum wait, ms. If a request has waited longer when a process becomes free, it is shed. Default Infinity:
   * requests are answered even if they are late.
   */
  readonly shedAfterMs?: number
}

/** @throws InvalidInputError naming the field */
export function assertServed(served: readonly ServedService[]): void {
  assertServices(served.map(({ service }) => service))
  served.forEach(({ arrivals, maxQueued = 1, shedAfterMs = 1 }, i) => {
    if (typeof arrivals?.nextMs !== 'function') {
      throw new InvalidInputError(`services[${i}].arrivals`, arrivals, 'an object with nextMs()')
    }
    if (!Number.isInteger(maxQueued) || maxQueued < 1) {
      throw new InvalidInputError(`services[${i}].maxQueued`, maxQueued, 'an integer of at least 1')
    }
    if (!(shedAfterMs > 0)) throw new InvalidInputError(`services[${i}].shedAfterMs`, shedAfterMs, 'ms above 0')
  })
}

/** State of one service: its waiting requests, and counts of the finished ones. */
export class ServiceState {
  service: Service
  readonly queue: RequestQueue = new RequestQueue()
  readonly latencies: LatencyHistogram = new LatencyHistogram()
  readonly maxQueued: number
  readonly shedAfterMs: number
  arrived = 0
  completed = 0
  late = 0
  shed = 0
  failed = 0
  running = 0
  failure: string | undefined
  /** Arrival time of the next request on the board's clock, ms. */
  nextArrivalMs: number
  /** Time at which the wait for a full batch ends, ms; Infinity if there is no such wait. */
  timerMs: number = Number.POSITIVE_INFINITY
  /** Fraction of the arriving requests that is admitted, 0..1. */
  admitted = 1
  readonly #arrivals: Arrivals
  readonly #startMs: number
  /**
   * Admission credit. Each arrival adds the admitted fraction; when the credit reaches 1, the arriving request is
   * admitted.
   */
  #owed = 0

  constructor({ service, arrivals, maxQueued = 4096, shedAfterMs = Infinity }: ServedService, startMs: number) {
    this.service = service
    this.maxQueued = maxQueued
    this.shedAfterMs = shedAfterMs
    this.#arrivals = arrivals
    this.#startMs = startMs
    this.nextArrivalMs = this.#nextMs()
  }

  /**
   * Processes the next arrival.
   *
   * @returns whether the request now waits; false if it was shed
   */
  arrive(): boolean {
    const arrivedMs = this.nextArrivalMs
    this.nextArrivalMs = this.#nextMs()
    this.arrived++
    if (this.admitted < 1) {
      this.#owed += this.admitted
      if (this.#owed < 1) {
        this.shed++
        return false
      }
      this.#owed -= 1
    }
    if (this.queue.length >= this.maxQueued) {
      this.shed++
      return false
    }
    this.queue.push(arrivedMs)
    return true
  }

  /** @throws PctodlError `ARRIVALS_FAILED` naming the service if its arrivals, which are user code, throw */
  #nextMs(): number {
    try {
      return this.#startMs + this.#arrivals.nextMs()
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new PctodlError('ARRIVALS_FAILED', `service ${this.service.name}: its arrivals threw: ${why}`, { cause })
    }
  }

  answer(latencyMs: number): void {
    this.completed++
    if (latencyMs > this.service.objective.p99Ms) this.late++
    this.latencies.record(latencyMs)
  }

  counters(timeMs: number): ServiceCounters {
    const { arrived, completed, late, shed, failed, running, failure } = this
    return {
      service: this.service.name,
      timeMs,
      arrived,
      completed,
      late,
      shed,
      failed,
      queued: this.queue.length,
      running,
      latencies: this.latencies.snapshot(),
      ...(failure === undefined ? {} : { failure }),
    }
  }
}
