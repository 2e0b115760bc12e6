import { type Calibrated, freeParameters, fromVector } from './free-parameters.js'

/**
 * Rows of one network are neighbours of each other and wrong together, so they say less than as many independent ones: the
 * variance is that of a tenth of them.
 */
const ROWS_PER_INDEPENDENT_ONE = 10
/** What is known of a coefficient without any row: the range that it was given, as a deviation of its logit. */
const PRIOR_DEVIATION = 1

/**
 * The posterior of a fit around its optimum, linearised: what the free coefficients are called, their relative standard
 * errors, and the lower triangle that turns independent normal numbers into relative changes.
 */
export function posterior(
  residuals: (vector: Float64Array) => Float64Array,
  optimum: Float64Array,
  start: Calibrated,
): { paths: string[]; relativeErrors: number[]; spread: number[][] } {
  const n = optimum.length
  const base = residuals(optimum)
  const step = 1e-3
  const jacobian = Array.from({ length: n }, (_, j) => {
    const moved = Float64Array.from(optimum)
    moved[j]! += step
    return residuals(moved).map((value, i) => (value - base[i]!) / step)
  })
  const weights = base.map((r) => 1 / Math.sqrt(1 + r * r))
  let variance = 0
  base.forEach((r, i) => {
    variance += weights[i]! * r * r
  })
  variance *= ROWS_PER_INDEPENDENT_ONE / (base.length - n)
  const information = Array.from({ length: n }, (_, a) =>
    Array.from({ length: n }, (_, b) => {
      let sum = 0
      for (let i = 0; i < base.length; i++) sum += weights[i]! * jacobian[a]![i]! * jacobian[b]![i]!
      return sum / variance + (a === b ? PRIOR_DEVIATION ** -2 : 0)
    }),
  )
  const covariance = inverse(information)
  // From logits to logarithms of the coefficients themselves.
  const values = (vector: Float64Array) =>
    freeParameters.map(({ path }) => valueAt(fromVector(start, vector, 12), path))
  const at = values(optimum)
  const scale = at.map((value, j) => {
    const moved = Float64Array.from(optimum)
    moved[j]! += step
    return Math.log(values(moved)[j]! / value) / step
  })
  const scaled = covariance.map((row, a) => row.map((value, b) => value * scale[a]! * scale[b]!))
  return {
    paths: freeParameters.map(({ path }) => path.join('.')),
    relativeErrors: scaled.map((row, a) => Math.sqrt(row[a]!)),
    spread: cholesky(scaled).map((row, a) => row.slice(0, a + 1).map((value) => Number(value.toPrecision(3)))),
  }
}

export function valueAt(calibrated: Calibrated, path: readonly string[]): number {
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], calibrated) as number
}

function inverse(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length
  const lower = cholesky(matrix)
  const columns = Array.from({ length: n }, (_, column) => {
    const x = new Array<number>(n).fill(0)
    for (let i = 0; i < n; i++) {
      let sum = i === column ? 1 : 0
      for (let k = 0; k < i; k++) sum -= lower[i]![k]! * x[k]!
      x[i] = sum / lower[i]![i]!
    }
    for (let i = n - 1; i >= 0; i--) {
      let sum = x[i]!
      for (let k = i + 1; k < n; k++) sum -= lower[k]![i]! * x[k]!
      x[i] = sum / lower[i]![i]!
    }
    return x
  })
  return matrix.map((_, row) => columns.map((column) => column[row]!))
}

function cholesky(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length
  const lower = Array.from({ length: n }, () => new Array<number>(n).fill(0))
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i]![j]!
      for (let k = 0; k < j; k++) sum -= lower[i]![k]! * lower[j]![k]!
      lower[i]![j] = i === j ? Math.sqrt(Math.max(sum, 1e-14)) : sum / lower[j]![j]!
    }
  }
  return lower
}
