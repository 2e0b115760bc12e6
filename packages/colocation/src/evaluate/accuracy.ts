import { mean, sampleVariance, sum } from '@pctodl/numerics'
import { assertInput } from '../input-checks.js'

export interface Accuracy {
  /** Mean squared error over the variance of the measured sums (n - 1), as in the published study. */
  readonly mse: number
  /** Mean absolute error, samples/s. */
  readonly maePerS: number
  readonly mapePercent: number
  /** Rank correlation of predicted and measured sums. */
  readonly spearman: number
}

/**
 * @param measured sums of throughputs, samples/s, at least two
 * @param predicted in the same order
 * @throws InvalidInputError
 */
export function accuracy(measured: readonly number[], predicted: readonly number[]): Accuracy {
  const n = measured.length
  const lengths = [n, predicted.length]
  assertInput(n >= 2 && n === lengths[1], 'measured and predicted', lengths, 'two lists of one length, at least 2')
  const errors = predicted.map((value, i) => Math.abs(value - measured[i]!))
  return {
    mse: mean(errors.map((error) => error ** 2)) / sampleVariance(measured),
    maePerS: mean(errors),
    mapePercent: 100 * mean(errors.map((error, i) => error / measured[i]!)),
    spearman: correlation(ranks(measured), ranks(predicted)),
  }
}

/** Ranks from 0; ties share their mean rank. */
function ranks(values: readonly number[]): number[] {
  const count = (isBefore: (other: number) => boolean) => values.filter(isBefore).length
  return values.map((value) => (count((other) => other < value) + count((other) => other <= value) - 1) / 2)
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [mean(a), mean(b)]
  const products = a.map((value, i) => (value - meanA) * (b[i]! - meanB))
  return sum(products) / (a.length - 1) / Math.sqrt(sampleVariance(a) * sampleVariance(b))
}
