import { sum } from './mean.js'
import { normalTail } from './normal-distribution.js'
import { quantile } from './quantile.js'
import { SeededRandom } from './seeded-random.js'
import { studentQuantile975 } from './student-distribution.js'

/** A value with its 95 % confidence interval. */
export interface Estimate {
  readonly value: number
  readonly low: number
  readonly high: number
}

const RESAMPLES = 400

/**
 * Returns the median of independent values with its percentile bootstrap interval; null for an empty list. The
 * resampling is seeded by the number of values, so the same values give the same interval.
 */
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
 * Returns the ratio of two sums over time blocks with its block bootstrap interval; null unless the denominators have a
 * positive sum. Whole blocks are resampled because neighbouring power samples are correlated.
 *
 * @param value a more exact ratio for the whole time, to which the interval is shifted; default: the ratio of the two
 * sums
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

/** Number of resamples in `figureEstimate`: enough that single resamples do not move the outer percentiles. */
const FIGURE_RESAMPLES = 2000

/**
 * Returns a statistic of a few independent units (boards, days, sites) with its bootstrap interval by expanded
 * percentiles. For n units, a plain percentile interval is too narrow, by about sqrt((n - 1) / n) and by the ratio of
 * the normal quantile to Student's t. Wider percentiles correct both (Hesterberg, "What Teachers Should Know About the
 * Bootstrap", The American Statistician 69(4), 2015). The resampling is seeded by n.
 *
 * @param unitCount number of units, n
 * @param figure the statistic of a resample; `units` are indices 0..n-1, each as often as it was drawn
 * @returns null for fewer than two units, or if the statistic of any resample is not finite
 */
export function figureEstimate(unitCount: number, figure: (units: readonly number[]) => number): Estimate | null {
  if (unitCount < 2) return null
  const value = figure(Array.from({ length: unitCount }, (_, i) => i))
  const random = new SeededRandom(unitCount)
  const figures = Array.from({ length: FIGURE_RESAMPLES }, () =>
    figure(Array.from({ length: unitCount }, () => random.integer(unitCount))),
  )
  if (!Number.isFinite(value) || !figures.every(Number.isFinite)) return null
  const tail = normalTail(Math.sqrt(unitCount / (unitCount - 1)) * studentQuantile975(unitCount - 1))
  return { value, low: quantile(figures, tail), high: quantile(figures, 1 - tail) }
}
