/** A symmetric positive semidefinite matrix as `factor factor' + diag(residual)`, up to what lies off the diagonal of the rest. */
export interface PivotedFactor {
  /** Rows that were taken as pivots, in the order in which they were. */
  readonly pivots: Int32Array
  /** n x rank by rows; row p of a pivot ends with zeros after the pivot's own place. */
  readonly factor: Float64Array
  readonly rank: number
  /** Part of each diagonal element that the factor leaves out, at least 0. */
  readonly residual: Float64Array
}

/**
 * Cholesky factor by the largest pivot first, ended at a rank or where next to nothing is left. It reads `rank` columns of the
 * matrix, and no other factor of columns has a smaller greatest rest in each step.
 *
 * @param diagonal of the matrix, n values
 * @param column writes column `index` of the matrix to `out`
 * @param most greatest rank
 * @param tolerance the largest diagonal element that may be left out, in units of the largest there is
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
    // Rounding must leave nothing of a pivot, above itself or below.
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

/** The first `columns` of a matrix that has `stride` of them. */
export function leading(matrix: Float64Array, stride: number, columns: number): Float64Array {
  if (columns === stride) return matrix
  const rows = matrix.length / stride
  const result = new Float64Array(rows * columns)
  for (let i = 0; i < rows; i++) result.set(matrix.subarray(i * stride, i * stride + columns), i * columns)
  return result
}
