import { InvalidInputError } from '@pctodl/platform'
import { mean, sampleVariance } from './mean.js'
import { studentTwoSided } from './student-distribution.js'

/**
 * Welch's two-sided test that two samples have equal means, without assuming equal variances.
 *
 * @returns the p-value, 0..1; null if a sample has fewer than two values, or if neither sample varies
 */
export function welchTest(a: readonly number[], b: readonly number[]): number | null {
  if (a.length < 2 || b.length < 2) return null
  // Squared standard errors of the means.
  const errorA = sampleVariance(a) / a.length
  const errorB = sampleVariance(b) / b.length
  const error = errorA + errorB
  if (error === 0) return null
  const t = (mean(a) - mean(b)) / Math.sqrt(error)
  const freedom = error ** 2 / (errorA ** 2 / (a.length - 1) + errorB ** 2 / (b.length - 1))
  return studentTwoSided(t, freedom)
}

/**
 * Student's paired two-sided test that the differences `a[i] - b[i]` have mean 0. It suits paired measurements, such as
 * two algorithms run with the same seeds.
 *
 * @returns the p-value, 0..1; null for fewer than two pairs, or if all differences are equal
 * @throws InvalidInputError for samples of different lengths
 */
export function pairedTest(a: readonly number[], b: readonly number[]): number | null {
  if (a.length !== b.length) throw new InvalidInputError('b', b.length, `${a.length} values, one for each of a`)
  if (a.length < 2) return null
  const differences = a.map((value, i) => value - b[i]!)
  const error = sampleVariance(differences) / differences.length
  if (error === 0) return null
  return studentTwoSided(mean(differences) / Math.sqrt(error), differences.length - 1)
}
