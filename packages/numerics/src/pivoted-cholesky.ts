/**
 * Approximation of a symmetric positive semidefinite matrix by `factor factor' + diag(residual)`. Off-diagonal
 * remainders are dropped.
 */
export interface PivotedFactor {
  /** Indices of the pivot rows, in order of selection. */
  readonly pivots: Int32Array
  /** n x rank by rows; the row of the k-th pivot is zero after column k. */
  readonly factor: Float64Array
  readonly rank: number
  /** Part of each diagonal element that the factor does not represent, at least 0. */
  readonly residual: Float64Array
}

/**
 * Computes a pivoted Cholesky factor. It stops at the maximum rank, or when all diagonal remainders are negligible.
 * Each step selects the largest remaining diagonal element. Only `rank` columns of the matrix are read.
 *
 * @param diagonal of the matrix, n values
 * @param column writes column `index` of the matrix to `out`
 * @param most maximum rank
 * @param tolerance largest diagonal remainder that may be dropped, as a fraction of the largest diagonal element
 */
export function pivotedCholesky(
  diagonal: Float64Array,
  column: (index: number, out: Float64Array) => void,
  most: number,
  tolerance: number,
): PivotedFactor {
  const n = diagonal.length
  const residual = Float64Array.from(diagonal)
  const least = tolerance * diagonal.reduce((largest, value) => Math.max(largest, value), 0)
  const stride = Math.min(n, most)
  const factor = new Float64Array(n * stride)
  const pivots: number[] = []
  const out = new Float64Array(n)
  while (pivots.length < stride) {
    let pivot = 0
    for (let i = 1; i < n; i++) if (residual[i]! > residual[pivot]!) pivot = i
    if (!(residual[pivot]! > least)) break
    column(pivot, out)
    const rank = pivots.length
    const root = Math.sqrt(residual[pivot]!)
    const pivotRow = factor.subarray(pivot * stride, pivot * stride + rank)
    for (let i = 0; i < n; i++) {
      let rest = out[i]!
      const at = i * stride
      for (let k = 0; k < rank; k++) rest -= factor[at + k]! * pivotRow[k]!
      factor[at + rank] = rest / root
      residual[i] = Math.max(0, residual[i]! - factor[at + rank]! ** 2)
    }
    // Remove rounding errors in the pivot rows.
    factor[pivot * stride + rank] = root
    for (const taken of pivots) factor[taken * stride + rank] = 0
    residual[pivot] = 0
    pivots.push(pivot)
  }
  return {
    pivots: Int32Array.from(pivots),
    rank: pivots.length,
    residual,
    factor: leading(factor, stride, pivots.length),
  }
}

/** The first `columns` columns of a matrix with `stride` columns. */
export function leading(matrix: Float64Array, stride: number, columns: number): Float64Array {
  if (columns === stride) return matrix
  const rows = matrix.length / stride
  const result = new Float64Array(rows * columns)
  for (let i = 0; i < rows; i++) result.set(matrix.subarray(i * stride, i * stride + columns), i * columns)
  return result
}
