import { factorise, solveFactorised } from '@pctodl/numerics'
import type { LinearLaw } from '../src/operators/operator-law.js'

export interface RidgeRow {
  readonly traits: readonly number[]
  readonly target: number
  /** The target is a lower bound. */
  readonly atLeast?: boolean
}

/** Between least squares and least absolute errors: errors beyond this size count linearly. */
const small = 0.15
const penalty = 1e-4
const boundWeight = 0.1

/** A robust ridge regression by reweighted least squares. */
export function ridge(rows: readonly RidgeRow[]): LinearLaw {
  const n = rows[0]!.traits.length + 1
  const mean = new Float64Array(n)
  const deviation = new Float64Array(n).fill(1)
  for (let j = 1; j < n; j++) {
    const values = rows.map(({ traits }) => traits[j - 1]!)
    mean[j] = values.reduce((sum, value) => sum + value, 0) / rows.length
    deviation[j] = Math.sqrt(values.reduce((sum, value) => sum + (value - mean[j]!) ** 2, 0) / rows.length)
  }
  // A trait that does not vary gets no weight.
  const design = rows.map(({ traits }) =>
    Float64Array.from({ length: n }, (_, j) =>
      j === 0 ? 1 : deviation[j]! < 1e-9 ? 0 : (traits[j - 1]! - mean[j]!) / deviation[j]!,
    ),
  )
  let weights = new Float64Array(n)
  for (let round = 0; round < 12; round++) {
    const matrix = new Float64Array(n * n)
    const right = new Float64Array(n)
    for (const [i, row] of design.entries()) {
      const { target, atLeast } = rows[i]!
      const error = round === 0 ? 0 : row.reduce((sum, value, j) => sum + value * weights[j]!, -target)
      if (atLeast && error > 0) continue
      const weight = (atLeast ? boundWeight : 1) / Math.max(Math.abs(error), small)
      for (let j = 0; j < n; j++) {
        const scaled = weight * row[j]!
        if (scaled === 0) continue
        right[j]! += scaled * target
        for (let k = 0; k <= j; k++) matrix[j * n + k]! += scaled * row[k]!
      }
    }
    for (let j = 0; j < n; j++) matrix[j * n + j]! += penalty * rows.length + 1e-9
    factorise(matrix, n)
    solveFactorised(matrix, n, right)
    weights = right
  }
  const raw = Array.from(weights, (weight, j) => (j === 0 || deviation[j]! < 1e-9 ? 0 : weight / deviation[j]!))
  raw[0] = weights[0]! - raw.reduce((sum, weight, j) => sum + weight * mean[j]!, 0)
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { target } of rows) {
    lowest = Math.min(lowest, target)
    highest = Math.max(highest, target)
  }
  return {
    weights: raw.map((weight) => Number(weight.toPrecision(5))),
    range: [Number(lowest.toFixed(3)), Number(highest.toFixed(3))],
  }
}
