import { InvalidInputError } from '@pctodl/platform'
import { factorise, inverseFromFactor } from './cholesky.js'

/**
 * A covariance that is a weighted sum of known matrices (its parts), with weights fitted to one vector of observations.
 */
export interface VarianceComponents {
  /** Weight of each part; 0 for a part that was eliminated. */
  readonly variances: Float64Array
  /** Inverse of the fitted covariance, n x n by rows. */
  readonly inverse: Float64Array
  /** Log-likelihood of the observations. */
  readonly logLikelihood: number
}

/**
 * Added to the diagonal, in units of the observations' mean square. It keeps the covariance positive definite if the
 * estimated noise is zero.
 */
const JITTER = 1e-6

/** A part whose weight falls below this multiple of the observations' mean square is eliminated. */
const NEGLIGIBLE = 1e-9

/**
 * Fits the weights of a covariance by maximum likelihood. Each step multiplies the weight of part K_c by `sqrt(y' P K_c
 * P y / trace(P K_c))`, where y are the observations and P is the inverse covariance. A step never lowers the
 * likelihood (the MM algorithm of Zhou, Hu, Qiao, Cho and Zhou, "MM Algorithms for Variance Components Models", 2019).
 *
 * @param parts symmetric n x n matrices by rows; include noise, so that their sum is positive definite
 * @param observations with mean 0
 */
export function fitVarianceComponents(
  parts: readonly Float64Array[],
  observations: Float64Array,
  steps: number,
): VarianceComponents {
  const n = observations.length
  const meanSquare = observations.reduce((sum, value) => sum + value * value, 0) / n
  if (!(meanSquare > 0)) throw new InvalidInputError('observations', 'all alike', 'values that vary')
  const variances = new Float64Array(parts.length).fill(meanSquare / parts.length)
  for (let step = 0; ; step++) {
    const lower = weightedSum(parts, variances, n, JITTER * meanSquare)
    factorise(lower, n)
    const inverse = inverseFromFactor(lower, n)
    const weights = multiply(inverse, observations)
    if (step === steps) return { variances, inverse, logLikelihood: logLikelihood(lower, observations, weights) }
    parts.forEach((part, c) => {
      if (variances[c] === 0) return
      let quadratic = 0
      let trace = 0
      for (let i = 0, at = 0; i < n; i++) {
        let row = 0
        for (let j = 0; j < n; j++, at++) {
          row += part[at]! * weights[j]!
          trace += part[at]! * inverse[at]!
        }
        quadratic += weights[i]! * row
      }
      variances[c]! *= Math.sqrt(Math.max(0, quadratic) / trace)
      if (variances[c]! < NEGLIGIBLE * meanSquare) variances[c] = 0
    })
  }
}

function weightedSum(parts: readonly Float64Array[], variances: Float64Array, n: number, jitter: number): Float64Array {
  const sum = new Float64Array(n * n)
  parts.forEach((part, c) => {
    const variance = variances[c]!
    if (variance > 0) for (let at = 0; at < sum.length; at++) sum[at]! += variance * part[at]!
  })
  for (let i = 0; i < n; i++) sum[i * n + i]! += jitter
  return sum
}

export function multiply(matrix: Float64Array, vector: Float64Array): Float64Array {
  const n = vector.length
  const product = new Float64Array(n)
  for (let i = 0, at = 0; i < n; i++) {
    let sum = 0
    for (let j = 0; j < n; j++, at++) sum += matrix[at]! * vector[j]!
    product[i] = sum
  }
  return product
}

function logLikelihood(lower: Float64Array, observations: Float64Array, weights: Float64Array): number {
  const n = observations.length
  let sum = n * Math.log(2 * Math.PI)
  for (let i = 0; i < n; i++) sum += 2 * Math.log(lower[i * n + i]!) + observations[i]! * weights[i]!
  return -sum / 2
}
