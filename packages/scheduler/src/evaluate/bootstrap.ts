import { SeededRandom } from '@pctodl/platform'

/** A figure with the interval that holds it with 95 % confidence. */
export interface Estimate {
  readonly value: number
  readonly low: number
  readonly high: number
}

const RESAMPLES = 400

/** The median of independent figures with its percentile bootstrap interval. Seeded: the same figures give the same interval. */
export function medianEstimate(values: readonly number[]): Estimate | null {
  if (values.length === 0) return null
  const random = new SeededRandom(values.length)
  const medians = Array.from({ length: RESAMPLES }, () =>
    quantile(
      values.map(() => values[random.integer(values.length)]!),
      0.5,
    ),
  )
  return { value: quantile(values, 0.5), low: quantile(medians, 0.025), high: quantile(medians, 0.975) }
}

/**
 * A ratio of sums over blocks of time with its block bootstrap interval: blocks are drawn, not samples, for neighbouring
 * samples of power are not independent.
 *
 * @param value the ratio over the whole time, where it is known more exactly than the blocks tell; default the blocks' own
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

/** The q-quantile (0..1) by linear interpolation. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const position = q * (sorted.length - 1)
  const low = sorted[Math.floor(position)]!
  const high = sorted[Math.ceil(position)]!
  // Two equal infinities must not make a NaN, nor rounding a value beyond the two.
  return low === high ? low : Math.min(high, low + (position - Math.floor(position)) * (high - low))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
