import { InvalidInputError } from '@pctodl/platform'

/**
 * Replaces the lower triangle of a symmetric positive definite matrix by its Cholesky factor. Elements above the
 * diagonal are neither read nor written.
 *
 * No library is used, because libraries load too slowly (ml-matrix: 45 ms, 18 kB gzipped) for a predictor that other
 * programs and pages embed. The order of the sums is part of the contract, because fitted parameters depend on it.
 *
 * @param matrix n x n by rows
 * @param minPivots lower bound of each pivot before its root is taken, for matrices that rounding may have made
 * slightly indefinite; without it such a matrix is an error
 * @throws InvalidInputError if the matrix is not positive definite and no lower bound is given
 */
export function factorise(matrix: Float64Array, n: number, minPivots?: ArrayLike<number>): void {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i * n + j]!
      for (let k = 0; k < j; k++) rest -= matrix[i * n + k]! * matrix[j * n + k]!
      if (i !== j) matrix[i * n + j] = rest / matrix[j * n + j]!
      else if (minPivots !== undefined) matrix[i * n + i] = Math.sqrt(Math.max(rest, minPivots[i]!))
      else if (rest > 0) matrix[i * n + i] = Math.sqrt(rest)
      else throw new InvalidInputError('matrix', `pivot ${rest} in row ${i}`, 'a positive definite matrix')
    }
  }
}

/** Replace `vector` by the solution x of L x = vector, for an n x n lower factor L. */
export function solveLower(lower: Float64Array, n: number, vector: Float64Array): void {
  for (let i = 0; i < n; i++) {
    let rest = vector[i]!
    for (let k = 0; k < i; k++) rest -= lower[i * n + k]! * vector[k]!
    vector[i] = rest / lower[i * n + i]!
  }
}

/** Replace `vector` by the solution x of L' x = vector, for an n x n lower factor L. */
export function solveTransposed(lower: Float64Array, n: number, vector: Float64Array): void {
  for (let i = n - 1; i >= 0; i--) {
    let rest = vector[i]!
    for (let k = i + 1; k < n; k++) rest -= lower[k * n + i]! * vector[k]!
    vector[i] = rest / lower[i * n + i]!
  }
}

/** Replace `vector` by the solution x of L L' x = vector, for an n x n lower factor L. */
export function solveFactorised(lower: Float64Array, n: number, vector: Float64Array): void {
  solveLower(lower, n, vector)
  solveTransposed(lower, n, vector)
}

/**
 * Returns the inverse, n x n by rows, of the matrix with this Cholesky factor. It takes a third of the time of solving
 * for each column.
 */
export function inverseFromFactor(lower: Float64Array, n: number): Float64Array {
  // Row j holds column j of the factor's inverse, so that both loops run along rows.
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
