import { sum } from './mean.js'
import { quantile } from './quantile.js'
import { SeededRandom } from './seeded-random.js'

/** A value with its 95 % confidence interval. */
export interface Estimate {
  readonly value: number
  readonly low: number
  readonly high: number
}

const RESAMPLES = 400

/**
 * Returns the ratio of two sums over time blocks with its block bootstrap interval; null unless the denominators have a
 * positive sum. Whole blocks are resampled because neighbouring power samples are correlated.
 *
 * @param value a more exact value of the ratio; the interval is shifted by its difference from the ratio of the two
 *   sums, which is the default
 */
export function ratioEstimate(
  numerators: readonly number[],
  denominators: readonly number[],
  value?: number,
): Estimate | null {
  const total = sum(denominators)
  if (!(total > 0)) return null
  const random = new SeededRandom(numerators.length)
  const ratios: number[] = []
  for (let i = 0; i < RESAMPLES; i++) {
    let above = 0
    let below = 0
    for (let j = 0; j < numerators.length; j++) {
      const block = random.integer(numerators.length)
      above += numerators[block]!
      below += denominators[block]!
    }
    if (below > 0) ratios.push(above / below)
  }
  const own = sum(numerators) / total
  const shift = (value ?? own) - own
  return { value: value ?? own, low: quantile(ratios, 0.025) + shift, high: quantile(ratios, 0.975) + shift }
}
