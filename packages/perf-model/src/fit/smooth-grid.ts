import { CORRECTION_NODES, correctionGrid, correctionNodesOf } from '../corrections.js'
import { factorise, inverseOf, solveFactorised } from './cholesky.js'

/** A remainder measured at one kind of tenant and number of tenants; weights count rows. */
export interface GridObservation {
  readonly mpsPercent: number
  readonly batchSize: number
  readonly tenants: number
  readonly value: number
  readonly weight: number
}

/** Distance, in the logarithm of share, batch or number of tenants, over which the remainder changes. */
const CORRELATION_LENGTH = 0.7
/** Noise of one row in parts of the size of what is smooth. */
const NOISE = 0.5

/**
 * The most likely values at the nodes, given rows that interpolate between them, a Gaussian prior that holds neighbours
 * together, and independent noise: kriging (C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006,
 * chapter 2 and section 8.3) with the grid's nodes as inducing points. Far from any row the values return to the median.
 */
export function smoothGrid(observations: readonly GridObservation[]): number[] {
  const n = CORRECTION_NODES
  const level = median(observations.map((entry) => entry.value))
  const matrix = Float64Array.from(priorPrecision())
  const values = new Float64Array(n)
  for (const { mpsPercent, batchSize, tenants, value, weight } of observations) {
    const nodes = correctionNodesOf(mpsPercent, batchSize, tenants)
    const certainty = weight / NOISE ** 2
    for (const a of nodes) {
      values[a.index]! += certainty * a.weight * (value - level)
      for (const b of nodes) matrix[a.index * n + b.index]! += certainty * a.weight * b.weight
    }
  }
  factorise(matrix, n)
  solveFactorised(matrix, n, values)
  return Array.from(values, (value) => level + value)
}

let precision: Float64Array | undefined

function priorPrecision(): Float64Array {
  if (precision) return precision
  const { mpsPercent, batchSize, tenants } = correctionGrid
  const points = mpsPercent.flatMap((p) =>
    batchSize.flatMap((b) => tenants.map((t) => [Math.log(p), Math.log(b), Math.log(t)] as const)),
  )
  const n = points.length
  const covariance = new Float64Array(n * n)
  points.forEach((a, i) => {
    points.forEach((b, j) => {
      const square = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2
      covariance[i * n + j] = Math.exp((-0.5 * square) / CORRELATION_LENGTH ** 2) + (i === j ? 1e-6 : 0)
    })
  })
  factorise(covariance, n)
  precision = inverseOf(covariance, n)
  return precision
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1]!
}
