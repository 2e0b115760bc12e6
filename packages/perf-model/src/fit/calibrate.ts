import { factorise, quantileOfSorted, solveFactorised } from '@pctodl/numerics'
import { calibrationLevels, FEATURES, feature } from '../calibration-layout.js'
import type { CalibratedQuantity, Calibration } from '../parameters.js'

/** One held-out error beside what it may depend on. */
export interface CalibrationError {
  /** ln(measured / predicted). */
  readonly error: number
  /** As `feature` lays them out. */
  readonly features: Float64Array
}

/** Errors below this are as good as none: their logarithm would say more of luck than of size. */
const LEAST_ERROR = 5e-4
/** Strength of the pull towards the prior weights, in rows. */
const PULL = 8
/** Mean of the logarithm of |z| of a normal variable. */
const MEAN_LOG_NORMAL = -0.635_18
/** Parts in which the weights are made for each other, from so many errors on. */
const PARTS = 5
const LEAST_TO_PART = 50

/** One standard deviation holds about this share of the errors, two about that. */
const WITHIN_ONE = [0.63, 0.72] as const
const WITHIN_TWO = 0.935

/**
 * Which size of error goes with which features: the logarithms of the errors, regressed on them (a variance function: M. Davidian
 * and R. Carroll, JASA 82, 1987; logarithms, because outliers then pull no further), and then the scale at which one and two
 * standard deviations hold what they should, and the quantiles of the errors in standard deviations. A priori an error is as
 * large as what the fit does not know, and rows must say otherwise.
 */
export function calibrate(quantity: CalibratedQuantity, errors: readonly CalibrationError[]): Calibration {
  const weights = weightsOf(errors)
  // Each error in standard deviations of weights that have not seen it: those that have would flatter the scale.
  const parts = errors.length >= LEAST_TO_PART ? PARTS : 1
  const signed = Array.from({ length: parts }, (_, part) => part)
    .flatMap((part) => {
      const own = errors.filter((_, i) => i % parts === part)
      const others = parts === 1 ? weights : weightsOf(errors.filter((_, i) => i % parts !== part))
      return own.map(({ error, features }) => error / sdOf(others, features))
    })
    .sort((a, b) => a - b)
  const sizes = signed.map(Math.abs).sort((a, b) => a - b)
  // Tails are heavier than normal ones: two standard deviations hold a little less, and one a little more. Groups that were held out
  // were predicted from fewer rows than the delivered fit has, so both are rather too wide than too narrow.
  const scale =
    Math.min(
      quantileOfSorted(sizes, WITHIN_ONE[1]),
      Math.max(quantileOfSorted(sizes, WITHIN_ONE[0]), 0.5 * quantileOfSorted(sizes, WITHIN_TWO)),
    ) || 1
  weights[feature.one]! += Math.log(scale)
  return {
    quantity,
    count: errors.length,
    weights: Array.from(weights, (weight) => Number(weight.toFixed(4))),
    quantiles: calibrationLevels.map((level) => Number((conformal(signed, level) / scale).toFixed(3))),
  }
}

/** The most likely weights given the sizes of some errors, and a belief that these are what the fit does not know. */
function weightsOf(errors: readonly CalibrationError[]): Float64Array {
  const n = FEATURES
  const matrix = new Float64Array(n * n)
  const weights = new Float64Array(n)
  for (const { error, features } of errors) {
    const size = Math.log(Math.max(LEAST_ERROR, Math.abs(error))) - MEAN_LOG_NORMAL - features[feature.unknown]!
    for (let a = 0; a < n; a++) {
      weights[a]! += features[a]! * size
      for (let b = 0; b <= a; b++) matrix[a * n + b]! += features[a]! * features[b]!
    }
  }
  for (let a = 0; a < n; a++) matrix[a * n + a]! += a === feature.one ? 1e-6 : PULL
  factorise(matrix, n)
  solveFactorised(matrix, n, weights)
  weights[feature.unknown]! += 1
  return weights
}

function sdOf(weights: Float64Array, features: Float64Array): number {
  return Math.exp(features.reduce((sum, value, j) => sum + weights[j]! * value, 0))
}

/** The order statistic beyond which a further error lies with a probability of at most that asked for, in either tail. */
function conformal(ascending: readonly number[], level: number): number {
  const count = ascending.length
  const outward = level > 0.5 ? Math.ceil(level * (count + 1)) : Math.floor(level * (count + 1))
  return ascending[Math.min(count - 1, Math.max(0, outward - 1))]!
}
