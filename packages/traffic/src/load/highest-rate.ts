import { InvalidInputError } from '@pctodl/platform'
import { positive } from '../arrivals/arrival-process.js'

export interface HighestRateOptions {
  /** Where to begin, requests/s. */
  readonly fromPerS: number
  /** How far apart, relatively, the last rate that holds and the first that does not may be. Default 0.01. */
  readonly precision?: number
  /** Most trials. Default 40. */
  readonly maxTrials?: number
}

export interface HighestRate {
  /** The highest rate that was seen to hold, requests/s; null where none did. */
  readonly ratePerS: number | null
  /** The lowest rate that was seen not to hold, requests/s; null where all did. */
  readonly failsAtPerS: number | null
  readonly trials: number
}

/**
 * The highest rate at which something holds, as LoadGen's FindPeakPerformance looks for it: doubled or halved until it is
 * enclosed, then bisected. A trial may be a run of `serverLoad`, whose result says `valid`.
 *
 * @param holds whether a rate holds; should not hold above a rate at which it does not
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
