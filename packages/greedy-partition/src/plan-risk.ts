import { normalQuantileOfTail, normalTail } from '@pctodl/numerics'
import type { Prediction, Predictor } from '@pctodl/perf-model'
import { type Configuration, InvalidInputError } from '@pctodl/platform'

/**
 * Effective number of independent candidates. A search picks the configuration whose power is underestimated most, so
 * its error is like the worst of this many random errors (Z. Sidak, JASA 62, 1967). The number was fitted on simulated
 * boards that appear in no figure of the README (`pnpm params:errors`).
 */
const CHOSEN_AMONG = 6

/** Number of bisection steps for a probability, more than its precision needs. */
const STEPS = 40

/**
 * Risk allowed for each configuration, so that the chosen plan exceeds the cap with a probability of at most `risk`.
 */
export function riskOfEach(risk: number): number {
  return 1 - (1 - risk) ** (1 / CHOSEN_AMONG)
}

/**
 * Power that must stay within the cap, W. It is the predicted power. With a chance constraint, it is the larger of the
 * predicted power and the power that this configuration exceeds with the allowed probability.
 *
 * @param risk allowed probability; undefined without a chance constraint
 * @throws InvalidInputError for a chance constraint if the predictor does not know its error
 */
export function powerToCap(
  predictor: Predictor,
  configuration: Configuration,
  prediction: Prediction,
  risk: number | undefined,
): number {
  const { powerW } = prediction
  if (risk === undefined) return powerW
  if (predictor.upperPowerW !== undefined) return Math.max(powerW, predictor.upperPowerW(configuration, risk))
  // Read only where it is needed, because a predictor may compute it when it is read.
  const { powerSdW } = prediction
  if (powerSdW !== undefined) return powerW + normalQuantileOfTail(risk) * powerSdW
  const expected = 'a predictor that knows the standard deviation of its power (powerSdW), or powerMarginW in its place'
  throw new InvalidInputError('capExceedanceProbability', risk, expected)
}

/**
 * Probability that the power of a configuration exceeds the cap; undefined if the predictor does not know its error.
 */
export function exceedanceOf(
  predictor: Predictor,
  configuration: Configuration,
  { powerW, powerSdW }: Prediction,
  powerCapW: number,
): number | undefined {
  if (predictor.upperPowerW === undefined) {
    return powerSdW === undefined ? undefined : normalTail((powerCapW - powerW) / powerSdW)
  }
  let low = 1e-9
  let high = 1 - 1e-9
  for (let i = 0; i < STEPS; i++) {
    const middle = Math.sqrt(low * high)
    if (predictor.upperPowerW(configuration, middle) > powerCapW) low = middle
    else high = middle
  }
  return high
}
