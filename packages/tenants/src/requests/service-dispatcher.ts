import {
  type Clock,
  LatencyHistogram,
  type RequestOutcome,
  type Service,
  type ServiceCounters,
  type Tenant,
} from '@pctodl/platform'
import { sizeFor } from './batch-sizes.js'
import type { Answer, PendingRequest } from './pending-request.js'
import { WaitingLine } from './waiting-line.js'

/** Limits of a service's queue. */
export interface QueueLimits {
  /** Maximum number of waiting requests; further arrivals are shed. */
  readonly maxQueued: number
  /** A request that has waited this long is shed, ms. With Infinity, requests are answered even if they are late. */
  readonly shedAfterMs: number
}

/** A request that arrives: its arrival time, its deadline, and a function to call with its outcome. */
export interface ArrivingRequest {
  /** Time at which the request arrived or was due, on the dispatcher's clock, ms. Latency counts from this time. */
  readonly arrivedMs: number
  /** Maximum waiting time after the arrival, ms. Default: the queue's `shedAfterMs`. */
  readonly deadlineMs?: number | undefined
  readonly decided?: (answer: Answer) => void
}

/** Something that answers requests, one batch at a time, such as a process. */
export interface Instance {
  readonly tenant: Tenant
  /** Whether a batch is running. */
  readonly busy: boolean
  /** Runs a batch of `batchSize` for these requests. Must not be called while the instance is busy. */
  begin(requests: readonly PendingRequest[], batchSize: number): void
}

/**
 * The queue and counters of one service, and the rules by which instances get its requests.
 *
 * A free instance takes requests from the head of the queue as soon as they fill its batch, or as soon as the first of
 * them has waited for `maxQueueDelayMs`. If several instances are free, the one with the largest share is first. The
 * rules are those of the simulated board's queues (`ServingEngine` of `@pctodl/gpu-sim`), in real time.
 */
export class ServiceDispatcher {
  service: Service
  /** Fraction of the arriving requests that is admitted, 0..1. */
  admitted = 1
  readonly #clock: Clock
  readonly #limits: QueueLimits
  readonly #line = new WaitingLine()
  readonly #instances = new Set<Instance>()
  readonly #latencies = new LatencyHistogram()
  #arrived = 0
  #late = 0
  #running = 0
  readonly #decided: Record<RequestOutcome, number> = { completed: 0, shed: 0, failed: 0 }
  #failure: string | undefined
  #closed = false
  /**
   * Admission credit: the sum of `admitted` over the arrivals, less the number of admitted requests, 0..1. When it
   * reaches 1, the arriving request is admitted.
   */
  #owed = 0
  /** No waiting request has a deadline before this time, ms. */
  #deadlineMs = Number.POSITIVE_INFINITY
  #timer: { readonly atMs: number; readonly cancel: AbortController } | undefined

  constructor(service: Service, limits: QueueLimits, clock: Clock) {
    this.service = service
    this.#limits = limits
    this.#clock = clock
  }

  /**
   * Accepts a request.
   * @returns the waiting request, for `callOff`; undefined if it was shed at once
   */
  arrive({ arrivedMs, deadlineMs = this.#limits.shedAfterMs, decided }: ArrivingRequest): PendingRequest | undefined {
    const request = { arrivedMs, deadlineMs: arrivedMs + deadlineMs, again: false, calledOff: false, decided }
    this.#arrived++
    if (!this.#letsIn()) return this.#shed(request, 'not all requests of the service are let in at present')
    if (this.#line.length >= this.#limits.maxQueued) {
      return this.#shed(request, `${this.#limits.maxQueued} requests wait already`)
    }
    this.#line.push(request)
    this.#deadlineMs = Math.min(this.#deadlineMs, request.deadlineMs)
    this.begin()
    return request
  }

  /**
   * Cancels a request whose caller does not wait any more. If the request is already in a running batch, its answer is
   * dropped.
   */
  callOff(request: PendingRequest): void {
    request.calledOff = true
    if (!this.#line.remove(request)) return
    this.#shed(request, 'it was called off')
    this.#setTimer()
  }

  join(instance: Instance): void {
    this.#instances.add(instance)
    this.begin()
  }

  leave(instance: Instance): void {
    this.#instances.delete(instance)
  }

  /**
   * Starts every batch that can start. Called after an arrival, after the end of a batch, and after a request's longest
   * wait.
   */
  begin(): void {
    const nowMs = this.#clock.now()
    for (let instance = this.#free(); instance; instance = this.#free()) {
      let first = this.#line.first
      for (; first && first.deadlineMs <= nowMs; first = this.#line.first) this.#giveUp(first)
      if (!first) break
      const most = this.#maxOf(instance)
      if (this.#line.length < most && nowMs < first.arrivedMs + this.service.maxQueueDelayMs) break
      const requests: PendingRequest[] = []
      for (const request of this.#line) {
        if (requests.length === most) break
        this.#line.remove(request)
        if (request.deadlineMs <= nowMs) this.#settle(request, 'shed', tooLate(request))
        else requests.push(request)
      }
      this.#running += requests.length
      instance.begin(requests, sizeFor(requests.length, most))
    }
    this.#setTimer()
  }

  /** Counts the requests of a finished batch as completed. */
  answered(requests: readonly PendingRequest[]): void {
    this.#running -= requests.length
    for (const request of requests) {
      const latencyMs = this.#settle(request, 'completed')
      if (latencyMs > this.service.objective.p99Ms) this.#late++
      this.#latencies.record(latencyMs)
    }
  }

  /**
   * Handles requests whose tenant died during their batch. The first time, a request returns to the head of the queue;
   * the second time, it fails.
   */
  lost(requests: readonly PendingRequest[], reason: string): void {
    this.#running -= requests.length
    for (const request of requests.toReversed()) {
      const final = this.#finalBecause(request)
      if (final !== undefined) {
        this.#failure = `${final}: ${reason}`
        this.#settle(request, 'failed', this.#failure)
      } else {
        request.again = true
        this.#line.putFirst(request)
        this.#deadlineMs = Math.min(this.#deadlineMs, request.deadlineMs)
      }
    }
    this.begin()
  }

  /** Sheds all waiting requests, because the service has ended. */
  close(reason: string): void {
    this.#closed = true
    for (const request of this.#line) {
      this.#line.remove(request)
      this.#shed(request, reason)
    }
    this.#setTimer()
  }

  counters(): ServiceCounters {
    const { completed, shed, failed } = this.#decided
    return {
      service: this.service.name,
      timeMs: this.#clock.now(),
      arrived: this.#arrived,
      completed,
      late: this.#late,
      shed,
      failed,
      queued: this.#line.length,
      running: this.#running,
      latencies: this.#latencies.snapshot(),
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    }
  }

  /** Returns why a lost request is not tried again; undefined if it is. */
  #finalBecause({ again, calledOff }: PendingRequest): string | undefined {
    if (again) return 'two tenants were lost with the request, the last one'
    if (calledOff) return 'its tenant was lost and the request cancelled'
    return this.#closed ? 'its tenant was lost, and the service has ended' : undefined
  }

  #letsIn(): boolean {
    if (this.admitted >= 1) return true
    this.#owed += this.admitted
    if (this.#owed < 1) return false
    this.#owed -= 1
    return true
  }

  #free(): Instance | undefined {
    let best: Instance | undefined
    for (const instance of this.#instances) {
      if (instance.busy) continue
      if (!best || instance.tenant.mpsPercent > best.tenant.mpsPercent) best = instance
    }
    return best
  }

  #maxOf(instance: Instance): number {
    return Math.min(instance.tenant.batchSize, this.service.maxBatchSize)
  }

  #giveUp(request: PendingRequest): void {
    this.#line.remove(request)
    this.#shed(request, tooLate(request))
  }

  #shed(request: PendingRequest, reason: string): undefined {
    this.#settle(request, 'shed', reason)
  }

  /**
   * Settles a request with its outcome.
   * @returns the time from its arrival until now, ms
   */
  #settle(request: PendingRequest, outcome: RequestOutcome, reason?: string): number {
    const latencyMs = Math.max(0, this.#clock.now() - request.arrivedMs)
    this.#decided[outcome]++
    request.decided?.({ outcome, latencyMs, ...(reason === undefined ? {} : { reason }) })
    return latencyMs
  }

  /**
   * Sets the timer to the next event: the first request has waited for `maxQueueDelayMs` while an instance is free, or
   * a deadline passes.
   */
  #setTimer(): void {
    const { first } = this.#line
    let atMs = Number.POSITIVE_INFINITY
    if (first) {
      atMs = this.#deadlineMs
      if (this.#free()) atMs = Math.min(atMs, first.arrivedMs + this.service.maxQueueDelayMs)
    }
    if (atMs === this.#timer?.atMs) return
    // Aborts with a string. `abort()` without an argument would create an error, which costs more than the timer.
    this.#timer?.cancel.abort('another time')
    this.#timer = undefined
    if (atMs < Infinity) void this.#wakeAt(atMs)
  }

  async #wakeAt(atMs: number): Promise<void> {
    const timer = { atMs, cancel: new AbortController() }
    this.#timer = timer
    try {
      await this.#clock.sleep(Math.max(0, atMs - this.#clock.now()), timer.cancel.signal)
    } catch {
      return
    }
    if (this.#timer !== timer) return
    this.#timer = undefined
    this.#letGo()
    this.begin()
  }

  /** Sheds all requests whose deadline has passed, wherever in the queue they are. */
  #letGo(): void {
    const nowMs = this.#clock.now()
    if (nowMs < this.#deadlineMs) return
    this.#deadlineMs = Number.POSITIVE_INFINITY
    for (const request of this.#line) {
      if (request.deadlineMs <= nowMs) this.#giveUp(request)
      else this.#deadlineMs = Math.min(this.#deadlineMs, request.deadlineMs)
    }
  }
}

function tooLate({ arrivedMs, deadlineMs }: PendingRequest): string {
  return `its turn had not come after ${deadlineMs - arrivedMs} ms`
}
