import { InvalidInputError } from '@pctodl/platform'
import { factorise, solveFactorised, solveLower } from './cholesky.js'
import { mean } from './mean.js'

/**
 * Lower bound of the Cholesky pivots. A pivot vanishes if, for example, two points are equal and there is no noise.
 */
const MIN_PIVOT = 1e-18

export interface GaussianProcessOptions {
  /** Prior standard deviation about the prior mean. */
  readonly amplitude: number
  /** Standard deviation of the measurement noise. */
  readonly noise: number
}

/**
 * Gaussian process regression with a Matern kernel of order 5/2 and unit length scale, so the caller must scale the
 * features. The prior mean is the mean of the measurements. Source: Rasmussen and Williams 2006, algorithm 2.1.
 */
export class GaussianProcess {
  readonly #variance: number
  readonly #noiseVariance: number
  #points: readonly (readonly number[])[] = []
  #mean = 0
  /** Cholesky factor of the covariance, n x n by rows. */
  #factor = new Float64Array(0)
  #weights = new Float64Array(0)

  constructor({ amplitude, noise }: GaussianProcessOptions) {
    this.#variance = amplitude * amplitude
    this.#noiseVariance = noise * noise
  }

  /**
   * Condition the process on measured values at points.
   *
   * @throws InvalidInputError unless there is one value for each point
   */
  fit(points: readonly (readonly number[])[], values: readonly number[]): void {
    const n = points.length
    if (values.length !== n) throw new InvalidInputError('values.length', values.length, `${n}, one for each point`)
    this.#points = points
    this.#mean = n === 0 ? 0 : mean(values)
    const factor = new Float64Array(n * n)
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        factor[i * n + j] = this.#covariance(points[i]!, points[j]!) + (i === j ? this.#noiseVariance : 0)
      }
    }
    factorise(factor, n, new Float64Array(n).fill(MIN_PIVOT))
    this.#factor = factor
    const weights = Float64Array.from(values, (value) => value - this.#mean)
    solveFactorised(factor, n, weights)
    this.#weights = weights
  }

  /** Mean and standard deviation of the value at a point, without measurement noise. */
  predict(point: readonly number[]): { readonly mean: number; readonly sd: number } {
    const n = this.#points.length
    const solved = Float64Array.from(this.#points, (other) => this.#covariance(point, other))
    let expected = this.#mean
    for (let i = 0; i < n; i++) expected += solved[i]! * this.#weights[i]!
    solveLower(this.#factor, n, solved)
    let explained = 0
    for (let i = 0; i < n; i++) explained += solved[i]! * solved[i]!
    return { mean: expected, sd: Math.sqrt(Math.max(0, this.#variance - explained)) }
  }

  #covariance(a: readonly number[], b: readonly number[]): number {
    let square = 0
    for (let i = 0; i < a.length; i++) square += (a[i]! - b[i]!) ** 2
    const scaled = Math.sqrt(5 * square)
    return this.#variance * (1 + scaled + (5 * square) / 3) * Math.exp(-scaled)
  }
}
