/** Replace the lower triangle of a positive definite n x n matrix (row by row) by its Cholesky factor. */
export function factorise(matrix: Float64Array, n: number): void {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i * n + j]!
      for (let k = 0; k < j; k++) sum -= matrix[i * n + k]! * matrix[j * n + k]!
      matrix[i * n + j] = i === j ? Math.sqrt(sum) : sum / matrix[j * n + j]!
    }
  }
}

/** Solve for `vector` in place, given the factor. */
export function solveFactorised(factor: Float64Array, n: number, vector: Float64Array): void {
  for (let i = 0; i < n; i++) {
    let sum = vector[i]!
    for (let k = 0; k < i; k++) sum -= factor[i * n + k]! * vector[k]!
    vector[i] = sum / factor[i * n + i]!
  }
  for (let i = n - 1; i >= 0; i--) {
    let sum = vector[i]!
    for (let k = i + 1; k < n; k++) sum -= factor[k * n + i]! * vector[k]!
    vector[i] = sum / factor[i * n + i]!
  }
}

/** The inverse of a positive definite matrix, given the factor. */
export function inverseOf(factor: Float64Array, n: number): Float64Array {
  const inverse = new Float64Array(n * n)
  const column = new Float64Array(n)
  for (let j = 0; j < n; j++) {
    column.fill(0)
    column[j] = 1
    solveFactorised(factor, n, column)
    for (let i = 0; i < n; i++) inverse[i * n + j] = column[i]!
  }
  return inverse
}
