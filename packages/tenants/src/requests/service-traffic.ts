import { type Arrivals, type Clock, InvalidInputError } from '@pctodl/platform'
import type { Answer } from './pending-request.js'
import type { ArrivingRequest, QueueLimits } from './service-dispatcher.js'

/** Where a service's requests come from, and the limits of its queue. */
export interface ServiceTraffic {
  /**
   * Arrival times of requests, counted from the start of the service, ms; for example an arrival process of
   * `@pctodl/traffic`. Default: no arrivals.
   */
  readonly arrivals?: Arrivals
  /**
   * Number of requests that are waiting or running at all times, to saturate the tenants: each decided request is
   * replaced by a new one. Default 0.
   */
  readonly saturating?: number
  /** Maximum number of waiting requests; further arrivals are shed. Default 4096. */
  readonly maxQueued?: number
  /**
   * A request that has waited this long is shed, ms. Default Infinity: requests are answered even if they are late.
   */
  readonly shedAfterMs?: number
}

type Arrive = (request: ArrivingRequest) => void

/**
 * Maximum number of due arrivals that are accepted in a row. After them, other work can run and an abort is noticed.
 */
const TAKEN_AT_ONCE = 500
/** Wait before a shed or failed request of the saturating load is replaced, ms. */
const ASK_AGAIN_MS = 10

/**
 * Checks a service's traffic.
 * @throws InvalidInputError naming the field
 */
export function assertTraffic(traffic: ServiceTraffic): void {
  const { arrivals, saturating = 0 } = traffic
  const { maxQueued, shedAfterMs } = limitsOf(traffic)
  if (arrivals !== undefined && typeof arrivals?.nextMs !== 'function') {
    throw new InvalidInputError('arrivals', arrivals, 'an object with nextMs()')
  }
  if (!Number.isInteger(saturating) || saturating < 0) {
    throw new InvalidInputError('saturating', saturating, 'a whole number of requests, 0 for none')
  }
  if (!Number.isInteger(maxQueued) || maxQueued < 1) {
    throw new InvalidInputError('maxQueued', maxQueued, 'an integer of at least 1')
  }
  if (saturating > maxQueued) {
    throw new InvalidInputError('saturating', saturating, `at most maxQueued, which is ${maxQueued}`)
  }
  if (!(shedAfterMs > 0)) throw new InvalidInputError('shedAfterMs', shedAfterMs, 'ms above 0')
}

export function limitsOf({ maxQueued = 4096, shedAfterMs = Number.POSITIVE_INFINITY }: ServiceTraffic): QueueLimits {
  return { maxQueued, shedAfterMs }
}

/**
 * Generates a service's requests until the signal aborts. The loop is open: each request arrives when it is due,
 * whether or not earlier ones have been answered. Latency counts from the due time, even if this process is late (no
 * coordinated omission).
 *
 * @param onFailure called if the arrivals throw an error, after which no further requests come
 */
export function startTraffic(
  traffic: ServiceTraffic,
  arrive: Arrive,
  clock: Clock,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): void {
  if (traffic.arrivals) comeWhenDue(traffic.arrivals, arrive, clock, signal).catch(onFailure)
  for (let user = 0; user < (traffic.saturating ?? 0); user++) void askAgainAndAgain(arrive, clock, signal)
}

async function comeWhenDue(arrivals: Arrivals, arrive: Arrive, clock: Clock, signal: AbortSignal): Promise<void> {
  const startMs = clock.now()
  let taken = 0
  for (let afterMs = arrivals.nextMs(); afterMs < Infinity; afterMs = arrivals.nextMs()) {
    const arrivedMs = startMs + afterMs
    const early = arrivedMs > clock.now()
    if (early || ++taken >= TAKEN_AT_ONCE) {
      taken = 0
      await clock.sleep(early ? arrivedMs - clock.now() : 0, signal).catch(() => {})
    }
    if (signal.aborted) return
    arrive({ arrivedMs })
  }
}

async function askAgainAndAgain(arrive: Arrive, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { outcome } = await new Promise<Answer>((decided) => arrive({ arrivedMs: clock.now(), decided }))
    if (outcome !== 'completed') await clock.sleep(ASK_AGAIN_MS, signal).catch(() => {})
  }
}
