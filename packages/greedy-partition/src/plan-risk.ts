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
 * Power that a configuration exceeds with a given probability, W.
 *
 * @throws InvalidInputError if the predictor does not know its error
 */
export function upperPowerW(
  predictor: Predictor,
  configuration: Configuration,
  { powerW, powerSdW }: Prediction,
  probability: number,
): number {
  if (predictor.upperPowerW !== undefined) return predictor.upperPowerW(configuration, probability)
  if (powerSdW !== undefined) return powerW + normalQuantileOfTail(probability) * powerSdW
  const expected = 'a predictor that knows the standard deviation of its power (powerSdW), or powerMarginW in its place'
  throw new InvalidInputError('capExceedanceProbability', probability, expected)
}

/**
 * Probability that the power of a configuration exceeds the cap; undefined if the predictor does not know its error.
 */
export function exceedanceOf(
  predictor: Predictor,
  configuration: Configuration,
  prediction: Prediction,
  powerCapW: number,
): number | undefined {
  const { powerW, powerSdW } = prediction
  if (powerSdW === undefined) return undefined
  if (predictor.upperPowerW === undefined) return normalTail((powerCapW - powerW) / powerSdW)
  let low = 1e-9
  let high = 1 - 1e-9
  for (let i = 0; i < STEPS; i++) {
    const middle = Math.sqrt(low * high)
    if (predictor.upperPowerW(configuration, middle) > powerCapW) low = middle
    else high = middle
  }
  return high
}
