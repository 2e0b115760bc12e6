import { InvalidInputError } from '@pctodl/platform'
import { positive } from '../arrivals/arrival-process.js'

export interface HighestRateOptions {
  /** Initial rate, requests/s. */
  readonly fromPerS: number
  /** Maximum relative distance between the highest rate that passes and the lowest that fails. Default 0.01. */
  readonly precision?: number
  /** Maximum number of trials. Default 40. */
  readonly maxTrials?: number
}

export interface HighestRate {
  /** The highest rate found to pass, requests/s; null if none did. */
  readonly ratePerS: number | null
  /** The lowest rate found to fail, requests/s; null if none did. */
  readonly failsAtPerS: number | null
  readonly trials: number
}

/**
 * Searches for the highest rate at which a condition is true, like LoadGen's FindPeakPerformance. It doubles or halves
 * the rate until the limit lies between two rates, then bisects. A trial may be a run of `serverLoad`, with `valid` as
 * its result.
 *
 * @param holds whether the condition is true at a rate; if it is false at one rate, it must be false at all higher
 *   rates
 */
export async function highestRate(
  holds: (ratePerS: number) => Promise<boolean> | boolean,
  { fromPerS, precision = 0.01, maxTrials = 40 }: HighestRateOptions,
): Promise<HighestRate> {
  positive('fromPerS', fromPerS, 'requests/s above 0')
  positive('precision', precision)
  if (!Number.isInteger(maxTrials) || maxTrials < 1) {
    throw new InvalidInputError('maxTrials', maxTrials, 'a whole number of at least 1')
  }
  let low: number | null = null
  let high: number | null = null
  let trials = 0
  let rate = fromPerS
  while (trials < maxTrials) {
    trials++
    if (await holds(rate)) low = rate
    else high = rate
    if (low === null) rate /= 2
    else if (high === null) rate *= 2
    else if (high / low <= 1 + precision) break
    else rate = Math.sqrt(low * high)
  }
  return { ratePerS: low, failsAtPerS: high, trials }
}
