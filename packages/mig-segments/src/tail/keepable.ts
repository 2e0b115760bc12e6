import { PctodlError } from '@pctodl/platform'
import type { ServiceObjective } from '../profile.js'
import { minHolding } from './least-holding.js'

/** Largest factor by which the search lengthens the objective. */
const MAX_TIMES_LONGER = 1e6

/**
 * Maximum number of plans for one service. Each lengthens the objective by twice as many steps of 5 % as the one
 * before.
 */
const MAX_PLANS = 6

/**
 * Error codes of plans that fail because one service alone needs too many boards or iterations. Nothing is then known
 * about its objective.
 */
const NOTHING_KNOWN = ['NO_PLAN', 'INVALID_INPUT']

/**
 * Finds the shortest latency objective, to a few percent, that a service could meet: first by an estimate, then
 * confirmed by a plan.
 *
 * @param fromMs an objective that is not met, ms
 * @param estimated whether an objective is met by the estimate
 * @param kept whether a plan for the objective meets it
 * @returns the objective, ms; null if even a very long objective is not met, or if no plan can be made
 */
export async function minKept(
  service: ServiceObjective,
  fromMs: number,
  estimated: (objective: ServiceObjective) => boolean,
  kept: (objective: ServiceObjective) => Promise<boolean>,
): Promise<number | null> {
  const within = (latencyMs: number): ServiceObjective => ({
    model: service.model,
    ratePerS: service.ratePerS,
    latencyMs,
  })
  let low = fromMs
  let high = fromMs
  do {
    low = high
    high *= 1.25
    if (high > MAX_TIMES_LONGER * fromMs) return null
  } while (!estimated(within(high)))
  let could = rounded(1.0005 * minHolding(low, high, 0.02, (latencyMs) => estimated(within(latencyMs))))
  try {
    for (let plans = 1; !(await kept(within(could)).catch(tooFewBoards)); plans++) {
      if (plans === MAX_PLANS) return null
      could = rounded(1.05 ** (2 ** (plans - 1)) * could)
    }
  } catch (error) {
    if (error instanceof PctodlError && NOTHING_KNOWN.includes(error.code)) return null
    throw error
  }
  return could
}

function rounded(ms: number): number {
  return Number(ms.toPrecision(4))
}

/** With a longer objective fewer boards may suffice, so the search goes on. */
function tooFewBoards(error: unknown): false {
  if (error instanceof PctodlError && error.code === 'TOO_FEW_GPUS') return false
  throw error
}
