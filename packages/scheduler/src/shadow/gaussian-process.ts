import { InvalidInputError } from '@pctodl/platform'

export interface GaussianProcessOptions {
  /** Prior standard deviation about the mean. */
  readonly amplitude: number
  /** Standard deviation of a measurement. */
  readonly noise: number
}

/**
 * Gaussian process regression with a Matern kernel of order 5/2 and unit length scale, so features come scaled; the mean is the
 * mean of what was measured. (Rasmussen and Williams 2006, algorithm 2.1.)
 */
export class GaussianProcess {
  readonly #variance: number
  readonly #noiseVariance: number
  #points: readonly (readonly number[])[] = []
  #mean = 0
  /** Lower triangle of the Cholesky factor, row by row. */
  #factor = new Float64Array(0)
  #weights = new Float64Array(0)

  constructor({ amplitude, noise }: GaussianProcessOptions) {
    this.#variance = amplitude * amplitude
    this.#noiseVariance = noise * noise
  }

  /** @throws InvalidInputError unless there is one value for each point */
  fit(points: readonly (readonly number[])[], values: readonly number[]): void {
    const n = points.length
    if (values.length !== n) throw new InvalidInputError('values.length', values.length, `${n}, one for each point`)
    this.#points = points
    this.#mean = n === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / n
    const factor = new Float64Array((n * (n + 1)) / 2)
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = this.#covariance(points[i]!, points[j]!) + (i === j ? this.#noiseVariance : 0)
        for (let k = 0; k < j; k++) sum -= factor[row(i) + k]! * factor[row(j) + k]!
        factor[row(i) + j] = i === j ? Math.sqrt(Math.max(sum, 1e-18)) : sum / factor[row(j) + j]!
      }
    }
    this.#factor = factor
    const weights = new Float64Array(n)
    for (let i = 0; i < n; i++) {
      let sum = values[i]! - this.#mean
      for (let k = 0; k < i; k++) sum -= factor[row(i) + k]! * weights[k]!
      weights[i] = sum / factor[row(i) + i]!
    }
    for (let i = n - 1; i >= 0; i--) {
      let sum = weights[i]!
      for (let k = i + 1; k < n; k++) sum -= factor[row(k) + i]! * weights[k]!
      weights[i] = sum / factor[row(i) + i]!
    }
    this.#weights = weights
  }

  /** Mean and standard deviation of the value at a point, without the noise of measuring it. */
  predict(point: readonly number[]): { readonly mean: number; readonly sd: number } {
    const n = this.#points.length
    const solved = new Float64Array(n)
    let mean = this.#mean
    let explained = 0
    for (let i = 0; i < n; i++) {
      const covariance = this.#covariance(point, this.#points[i]!)
      mean += covariance * this.#weights[i]!
      let sum = covariance
      for (let k = 0; k < i; k++) sum -= this.#factor[row(i) + k]! * solved[k]!
      solved[i] = sum / this.#factor[row(i) + i]!
      explained += solved[i]! * solved[i]!
    }
    return { mean, sd: Math.sqrt(Math.max(0, this.#variance - explained)) }
  }

  #covariance(a: readonly number[], b: readonly number[]): number {
    let square = 0
    for (let i = 0; i < a.length; i++) square += (a[i]! - b[i]!) ** 2
    const scaled = Math.sqrt(5 * square)
    return this.#variance * (1 + scaled + (5 * square) / 3) * Math.exp(-scaled)
  }
}

function row(i: number): number {
  return (i * (i + 1)) / 2
}
