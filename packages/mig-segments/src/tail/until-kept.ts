import { InvalidInputError } from '@pctodl/platform'
import type { QueueOutcome } from './simulate-queue.js'
import { LATE_SHARE } from './ways.js'

/** Late share in the check above which a service gets more room: below the hundredth by four times what chance adds to 40 000 requests. */
const CHECKED_LATE = 0.008
/** Times that a service gets more room before it is named as not served. */
const MAX_TIMES = 8
/** Of each time: what the estimate may call late, and what the rate is taken for, more each time: traffic may be far from the estimate's. */
const TIGHTER = 0.4
const MARGIN = 1.03
/** Not that of what judges a plan later. */
export const CHECK_SEED = 7919

/** Times that services were late in the check; infinite for those that stayed so and are served no more. */
export type TimesLate = ReadonlyMap<string, number>

/** What a service is planned for that was late in the check before. */
export interface Room {
  /** Share of its requests that the estimate may call late. */
  readonly maxLate: number
  /** By which its rate is taken to be higher. */
  readonly margin: number
}

/** @returns null for a service that is served no more */
export function roomOf(times: TimesLate | undefined, model: string): Room | null {
  const late = times?.get(model) ?? 0
  return late === Number.POSITIVE_INFINITY
    ? null
    : { maxLate: LATE_SHARE * TIGHTER ** late, margin: MARGIN ** ((late * (late + 1)) / 2) }
}

export function isLate({ late, requests }: QueueOutcome): boolean {
  return late > CHECKED_LATE * requests
}

/**
 * Plan, and plan again with more room for the services that are late in the check, until none is: who still is after eight times is left
 * out, so that whom the plan calls served was in time.
 */
export async function planUntilKept<Plan>(
  planBy: (times: TimesLate) => Promise<Plan>,
  lateIn: (plan: Plan) => Iterable<string>,
): Promise<Plan> {
  const times = new Map<string, number>()
  for (;;) {
    const plan = await planBy(times)
    const late = [...lateIn(plan)]
    if (late.length === 0) return plan
    for (const model of late) {
      const next = (times.get(model) ?? 0) + 1
      times.set(model, next > MAX_TIMES ? Number.POSITIVE_INFINITY : next)
    }
  }
}

/** @throws InvalidInputError for a burstiness or a number of requests out of range */
export function assertCheck(burstiness: number, checkRequests: number): void {
  if (!(burstiness >= 0.1 && burstiness <= 100)) {
    throw new InvalidInputError('burstiness', burstiness, 'a number from 0.1 to 100; 1 is Poisson')
  }
  if (!(Number.isInteger(checkRequests) && checkRequests >= 0)) {
    throw new InvalidInputError('checkRequests', checkRequests, 'an integer of at least 0')
  }
}
