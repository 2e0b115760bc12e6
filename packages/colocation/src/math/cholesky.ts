import { InvalidInputError } from '@pctodl/platform'

/**
 * Cholesky factor of a symmetric positive definite matrix.
 *
 * @param matrix n x n by rows
 * @returns the lower factor by rows; what is above the diagonal is 0
 * @throws InvalidInputError where the matrix is not positive definite
 */
export function choleskyFactor(matrix: Float64Array, n: number): Float64Array {
  const lower = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i * n + j]!
      for (let k = 0; k < j; k++) rest -= lower[i * n + k]! * lower[j * n + k]!
      if (i !== j) lower[i * n + j] = rest / lower[j * n + j]!
      else if (rest > 0) lower[i * n + i] = Math.sqrt(rest)
      else throw new InvalidInputError('covariance matrix', `pivot ${rest} in row ${i}`, 'a positive definite matrix')
    }
  }
  return lower
}

/** Inverse of the matrix whose Cholesky factor is given, n x n by rows. */
export function inverseFromFactor(lower: Float64Array, n: number): Float64Array {
  // Row j holds column j of the inverse factor, so that both loops run along rows.
  const columns = new Float64Array(n * n)
  for (let j = 0; j < n; j++) {
    columns[j * n + j] = 1 / lower[j * n + j]!
    for (let i = j + 1; i < n; i++) {
      let sum = 0
      for (let k = j; k < i; k++) sum += lower[i * n + k]! * columns[j * n + k]!
      columns[j * n + i] = -sum / lower[i * n + i]!
    }
  }
  const inverse = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0
      for (let k = i; k < n; k++) sum += columns[i * n + k]! * columns[j * n + k]!
      inverse[i * n + j] = sum
      inverse[j * n + i] = sum
    }
  }
  return inverse
}
