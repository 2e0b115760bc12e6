import { normalQuantileOfTail, normalTail } from '@pctodl/numerics'
import type { Prediction, Predictor } from '@pctodl/perf-model'

/** Halvings of the logarithm of a probability: more digits than a calibration has. */
const TAIL_STEPS = 40

/** How many standard deviations of power fit below a limit that is exceeded with a probability: the predictor's tail, or a normal one. */
export function sdsOfTail(predictor: Predictor, probability: number): number {
  return predictor.powerTailSds?.(probability) ?? normalQuantileOfTail(probability)
}

/** P[power > cap] of a prediction, its margin not counted; undefined where the predictor does not know its error. */
export function exceedanceOf(
  predictor: Predictor,
  { powerW, powerSdW }: Prediction,
  powerCapW: number,
): number | undefined {
  if (powerSdW === undefined) return undefined
  const sds = (powerCapW - powerW) / powerSdW
  if (predictor.powerTailSds === undefined) return normalTail(sds)
  let low = 1e-9
  let high = 1 - 1e-9
  for (let i = 0; i < TAIL_STEPS; i++) {
    const middle = Math.sqrt(low * high)
    if (predictor.powerTailSds(middle) > sds) low = middle
    else high = middle
  }
  return high
}
