import { InvalidInputError } from '@pctodl/platform'

/**
 * Linear least squares by Householder reflections.
 *
 * @param design one row per observation, at least as many as columns
 * @returns the coefficients that minimise |design x - target|
 * @throws InvalidInputError for dependent columns, or fewer rows than columns
 */
export function leastSquares(
  design: readonly (readonly number[] | Float64Array)[],
  target: ArrayLike<number>,
): Float64Array {
  const rows = design.length
  const columns = design[0]?.length ?? 0
  if (rows < columns) {
    throw new InvalidInputError('observations', rows, `at least ${columns}, one per coefficient`)
  }
  const a = design.map((row) => Float64Array.from(row))
  const b = Float64Array.from(target)
  const scale = Math.max(...a.map((row) => row.reduce((most, value) => Math.max(most, Math.abs(value)), 0)))
  for (let k = 0; k < columns; k++) {
    let norm = 0
    for (let i = k; i < rows; i++) norm = Math.hypot(norm, a[i]![k]!)
    if (!(norm > 1e-12 * scale)) {
      throw new InvalidInputError('features', `column ${k}`, 'columns that are independent of each other')
    }
    const head = a[k]![k]!
    const alpha = head > 0 ? -norm : norm
    // The reflection vector is column k with its head replaced by v0; alpha, the head's new value, is stored
    // separately.
    const v0 = head - alpha
    let squares = v0 * v0
    for (let i = k + 1; i < rows; i++) squares += a[i]![k]! ** 2
    for (let j = k + 1; j < columns; j++) {
      let dot = v0 * a[k]![j]!
      for (let i = k + 1; i < rows; i++) dot += a[i]![k]! * a[i]![j]!
      const factor = (2 * dot) / squares
      a[k]![j]! -= factor * v0
      for (let i = k + 1; i < rows; i++) a[i]![j]! -= factor * a[i]![k]!
    }
    let dot = v0 * b[k]!
    for (let i = k + 1; i < rows; i++) dot += a[i]![k]! * b[i]!
    const factor = (2 * dot) / squares
    b[k]! -= factor * v0
    for (let i = k + 1; i < rows; i++) b[i]! -= factor * a[i]![k]!
    a[k]![k] = alpha
  }
  const x = new Float64Array(columns)
  for (let k = columns - 1; k >= 0; k--) {
    let rest = b[k]!
    for (let j = k + 1; j < columns; j++) rest -= a[k]![j]! * x[j]!
    x[k] = rest / a[k]![k]!
  }
  return x
}
