import type { QueueOutcome } from './simulate-queue.js'
import { LATE_SHARE } from './ways.js'

/**
 * Fraction of late requests in the check above which a service gets a larger margin: 0.01 minus four standard
 * deviations for 40 000 requests.
 */
const CHECKED_LATE = 0.008
/** Number of times that a service gets a larger margin before it counts as not served. */
export const MAX_TIMES = 11
/** Factor on the fraction of late requests that the estimate may allow, applied each time a service was late. */
const TIGHTER = 0.4
/**
 * Base of the factor on a service's rate. The factor grows each time the service was late, because real traffic may be
 * far from the estimate.
 */
const MARGIN = 1.03
/** Seed of the check. It differs from the seed that judges a plan later. */
export const CHECK_SEED = 7919

/** Number of times that each service was late in the check; Infinity for services that are no longer served. */
export type TimesLate = ReadonlyMap<string, number>

/** Margins for a service that was late in the check. */
export interface Room {
  /** Fraction of its requests that the estimate may allow to be late. */
  readonly maxLate: number
  /** Factor by which the service's rate is raised for planning. */
  readonly margin: number
}

/**
 * Returns the margins of a service.
 * @returns null if it is no longer served
 */
export function roomOf(times: TimesLate | undefined, model: string): Room | null {
  const late = times?.get(model) ?? 0
  return late === Number.POSITIVE_INFINITY
    ? null
    : { maxLate: LATE_SHARE * TIGHTER ** late, margin: MARGIN ** ((late * (late + 1)) / 2) }
}

export function isLate({ late, requests }: QueueOutcome): boolean {
  return late > CHECKED_LATE * requests
}
