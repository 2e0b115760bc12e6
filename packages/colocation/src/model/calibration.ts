import { conformalQuantile, factorise, inverseFromFactor } from '@pctodl/numerics'
import type { FittedSlowdown } from './fitted-slowdown.js'
import type { Interval } from './prediction.js'

/**
 * How far measured values were from predictions that had not seen them, in units of the predicted spread. An interval is as
 * many spreads wide as its share of the training colocations needed, each predicted without itself.
 */
export class Calibration {
  /** Ascending. */
  readonly #members: Float64Array
  readonly #sums: Float64Array

  private constructor(members: readonly number[], sums: readonly number[]) {
    this.#members = Float64Array.from(members).sort()
    this.#sums = Float64Array.from(sums).sort()
  }

  /**
   * Leave out one colocation at a time. With the inverse covariance A and its product w with the observations, the residuals
   * of rows R predicted by all others are `inverse(A_RR) w_R`, and their covariance is `inverse(A_RR)`; nothing is fitted anew.
   */
  static leaveOneOut({ rows, workloads }: FittedSlowdown, inverse: Float64Array, weights: Float64Array): Calibration {
    const n = rows.length
    const members: number[] = []
    const sums: number[] = []
    for (let begin = 0; begin < n; ) {
      let end = begin + 1
      while (end < n && rows[end]!.colocation === rows[begin]!.colocation) end++
      const size = end - begin
      const block = new Float64Array(size * size)
      for (let i = 0; i < size; i++) {
        for (let j = 0; j < size; j++) block[i * size + j] = inverse[(begin + i) * n + begin + j]!
      }
      factorise(block, size)
      const covariance = inverseFromFactor(block, size)
      const residuals = Array.from({ length: size }, (_, i) => {
        let residual = 0
        for (let j = 0; j < size; j++) residual += covariance[i * size + j]! * weights[begin + j]!
        return residual
      })
      residuals.forEach((residual, i) => {
        members.push(Math.abs(residual) / Math.sqrt(covariance[i * size + i]!))
      })
      const company = Math.log2(rows[begin]!.others.length + 1)
      const measured = residuals.map((_, i) => {
        const { own, count, exponent } = rows[begin + i]!
        return count * workloads[own]!.exclusiveThroughput * Math.exp(company * exponent)
      })
      const predicted = measured.map((throughput, i) => throughput * Math.exp(-company * residuals[i]!))
      const sum = predicted.reduce((total, value) => total + value, 0)
      const spread = spreadOf(
        predicted.map((throughput) => throughput / sum),
        residuals.map((_, i) => Array.from(covariance.subarray(i * size, (i + 1) * size))),
      )
      const error = Math.log(measured.reduce((total, value) => total + value, 0) / sum)
      sums.push(Math.abs(error) / (company * spread))
      begin = end
    }
    return new Calibration(members, sums)
  }

  /** @param spread standard deviation of the logarithm */
  memberInterval(value: number, spread: number, level: number): Interval {
    return around(value, spread * conformalQuantile(this.#members, level))
  }

  sumInterval(value: number, spread: number, level: number): Interval {
    return around(value, spread * conformalQuantile(this.#sums, level))
  }
}

function around(value: number, logWidth: number): Interval {
  return { low: value * Math.exp(-logWidth), high: value * Math.exp(logWidth) }
}

/** Standard deviation of the logarithm of a sum, to first order, from the shares of its terms and their covariance. */
export function spreadOf(shares: readonly number[], covariance: readonly (readonly number[])[]): number {
  let variance = 0
  shares.forEach((a, i) => {
    shares.forEach((b, j) => {
      variance += a * b * covariance[i]![j]!
    })
  })
  // Rounding may leave a little less than nothing of the variance of what was measured.
  return Math.sqrt(Math.max(0, variance))
}
