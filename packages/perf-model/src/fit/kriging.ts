import { factorise, inverseFromFactor, solveFactorised } from '@pctodl/numerics'
import { correctionGrid } from '../correction-grid.js'
import type { WeightedNode } from '../corrections.js'

/** A residual, modelled as a weighted sum of node values. */
export interface NodeObservation {
  readonly nodes: readonly WeightedNode[]
  readonly value: number
  /** Number of rows for which the observation counts. */
  readonly weight: number
}

export interface KrigedNodes {
  readonly values: Float64Array
  /** Variance of each value given the observations. */
  readonly variances: Float64Array
}

/** Correlation length of the residual, in the logarithm of share, batch size or number of tenants. */
const CORRELATION_LENGTH = 0.7
/** Variance of the level that all nodes of a grid share, relative to the variance of the smooth part. */
const LEVEL = 1
/** Correlation between the grids of two memory clocks. */
const AMONG_CLOCKS = 0.8
/** Noise variance of one row, relative to the variance of the smooth part. */
const NOISE = 0.2

/**
 * Kriging with the nodes as inducing points: finds the most likely node values and their variances. An observation is a
 * weighted sum of node values plus independent noise. A Gaussian prior correlates neighbouring nodes (C. Rasmussen and
 * C. Williams, Gaussian Processes for Machine Learning, 2006, chapter 2 and section 8.3). Far from any row, the values
 * return to the level that all nodes share.
 *
 * @param precision inverse covariance of the prior, n x n, row-major, for a smooth part of variance 1; the variance is
 * estimated here
 */
export function krige(precision: Float64Array, n: number, observations: readonly NodeObservation[]): KrigedNodes {
  const matrix = Float64Array.from(precision)
  const values = new Float64Array(n)
  let squares = 0
  let count = 0
  for (const { nodes, value, weight } of observations) {
    const certainty = weight / NOISE
    squares += certainty * value * value
    count += weight
    for (const a of nodes) {
      values[a.index]! += certainty * a.weight * value
      for (const b of nodes) matrix[a.index * n + b.index]! += certainty * a.weight * b.weight
    }
  }
  const drawn = Float64Array.from(values)
  factorise(matrix, n)
  solveFactorised(matrix, n, values)
  // `squares - explained` is the sum of the squared observations in units of their prior standard deviation. It
  // estimates the variance of the smooth part.
  const explained = values.reduce((sum, value, i) => sum + value * drawn[i]!, 0)
  const size = Math.max(0, squares - explained) / Math.max(1, count)
  const inverse = inverseFromFactor(matrix, n)
  return { values, variances: Float64Array.from({ length: n }, (_, i) => size * inverse[i * n + i]!) }
}

const known = new Map<number, Float64Array>()

/**
 * Prior precision of the nodes of one device grid per memory clock (share, batch, tenants) and of one host grid (batch,
 * tenants).
 */
export function gridPrecision(memClocks: number): Float64Array {
  const found = known.get(memClocks)
  if (found !== undefined) return found
  const { mpsPercent, batchSize, tenants } = correctionGrid
  const host = batchSize.flatMap((b) => tenants.map((t) => [Math.log(b), Math.log(t)]))
  const device = mpsPercent.flatMap((p) => host.map((point) => [Math.log(p), ...point]))
  const ofDevice = inverseOfKernel(device)
  const ofHost = inverseOfKernel(host)
  const nodes = device.length
  const n = memClocks * nodes + host.length
  const precision = new Float64Array(n * n)
  // Inverse of (1 - c) I + c 11' with c = AMONG_CLOCKS, which correlates the grids of the memory clocks.
  const own = 1 / (1 - AMONG_CLOCKS)
  const shared = (own * AMONG_CLOCKS) / (1 - AMONG_CLOCKS + memClocks * AMONG_CLOCKS)
  for (let a = 0; a < memClocks; a++) {
    for (let b = 0; b < memClocks; b++) {
      const factor = (a === b ? own : 0) - shared
      for (let i = 0; i < nodes; i++)
        for (let j = 0; j < nodes; j++)
          precision[(a * nodes + i) * n + b * nodes + j] = factor * ofDevice[i * nodes + j]!
    }
  }
  const from = memClocks * nodes
  for (let i = 0; i < host.length; i++)
    for (let j = 0; j < host.length; j++) precision[(from + i) * n + from + j] = ofHost[i * host.length + j]!
  known.set(memClocks, precision)
  return precision
}

function inverseOfKernel(points: readonly (readonly number[])[]): Float64Array {
  const n = points.length
  const covariance = new Float64Array(n * n)
  points.forEach((a, i) => {
    points.forEach((b, j) => {
      const square = a.reduce((sum, value, axis) => sum + (value - b[axis]!) ** 2, 0)
      covariance[i * n + j] = LEVEL + Math.exp((-0.5 * square) / CORRELATION_LENGTH ** 2) + (i === j ? 1e-4 : 0)
    })
  })
  factorise(covariance, n)
  return inverseFromFactor(covariance, n)
}
