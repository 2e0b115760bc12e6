import { factorise, solveFactorised, solveLower, solveTransposed } from './cholesky.js'
import { pivotedCholesky } from './pivoted-cholesky.js'

const RANK_TOLERANCE = 1e-9

/** Added to the noise variances, so that the noise covariance is invertible even if the estimated noise is zero. */
const JITTER = 1e-9

/**
 * Data of a Gaussian process. Consecutive observations form groups; the observations of a group share a noise term.
 */
export interface ProcessObservations {
  /** Observed values, with mean 0. */
  readonly values: Float64Array
  /** Prior covariance of two observations without noise. */
  covariance(a: number, b: number): number
  /** Indices of the first and the past-the-end observation of each group. */
  readonly groups: readonly (readonly [begin: number, end: number])[]
  /** Variance of the noise term that the observations of a group share. */
  readonly groupNoise: number
  /** Variance of each observation's own noise. */
  readonly noise: Float64Array
}

/** Prediction of a group by a process that was not conditioned on the group. */
export interface LeftOutGroup {
  readonly begin: number
  readonly end: number
  /** Observed minus predicted values. */
  readonly errors: Float64Array
  /** Predicted covariance of `errors`, by rows. */
  readonly covariance: Float64Array
}

/**
 * Gaussian-process regression at low rank. A pivoted Cholesky factor L approximates the covariance of the observations
 * as `L L'` plus a diagonal, which counts as noise. The process is then a linear regression on the columns of L, so its
 * time is linear in the number of observations instead of cubic (FITC: Snelson and Ghahramani 2006).
 */
export class LowRankProcess {
  /** Indices of the pivot observations. A prediction depends on a new point only by its covariances with these. */
  readonly pivots: Int32Array
  readonly #rank: number
  /** rank x rank, lower. */
  readonly #pivotFactor: Float64Array
  /** Weights of the pivots' covariances in a predicted mean. */
  readonly #weights: Float64Array
  readonly #groups: ProcessObservations['groups']
  /** Lower Cholesky factor of each group's noise covariance, by rows. */
  readonly #noise: readonly Float64Array[]
  /** Rows of L, whitened by the noise. */
  readonly #whitened: Float64Array
  /** Observed values, whitened by the noise. */
  readonly #targets: Float64Array
  readonly #precision: Float64Array
  readonly #lower: Float64Array
  readonly #moment: Float64Array
  readonly #coefficients: Float64Array

  /** @param maxRank maximum rank; the regression is exact if there are no more observations than this */
  constructor({ values, covariance, groups, groupNoise, noise }: ProcessObservations, maxRank: number) {
    const n = values.length
    const diagonal = Float64Array.from(values, (_, i) => covariance(i, i))
    const column = (index: number, out: Float64Array) => {
      for (let i = 0; i < n; i++) out[i] = covariance(i, index)
    }
    const { pivots, factor, rank, residual } = pivotedCholesky(diagonal, column, maxRank, RANK_TOLERANCE)
    this.pivots = pivots
    this.#rank = rank
    this.#pivotFactor = new Float64Array(rank * rank)
    pivots.forEach((pivot, p) => {
      this.#pivotFactor.set(factor.subarray(pivot * rank, (pivot + 1) * rank), p * rank)
    })
    this.#groups = groups
    this.#noise = groups.map(([begin, end]) => {
      const size = end - begin
      const lower = new Float64Array(size * size).fill(groupNoise)
      for (let i = 0; i < size; i++) lower[i * size + i]! += noise[begin + i]! + residual[begin + i]! + JITTER
      factorise(lower, size)
      return lower
    })
    this.#whitened = factor
    this.#targets = values.slice()
    groups.forEach(([begin, end], g) => {
      whiten(this.#noise[g]!, end - begin, this.#whitened, begin * rank, rank)
      whiten(this.#noise[g]!, end - begin, this.#targets, begin, 1)
    })
    this.#precision = new Float64Array(rank * rank)
    for (let k = 0; k < rank; k++) this.#precision[k * rank + k] = 1
    this.#moment = new Float64Array(rank)
    this.#add(this.#precision, this.#moment, 0, n, 1)
    this.#lower = this.#precision.slice()
    factorise(this.#lower, rank)
    this.#coefficients = this.#moment.slice()
    solveFactorised(this.#lower, rank, this.#coefficients)
    this.#weights = this.#coefficients.slice()
    solveTransposed(this.#pivotFactor, rank, this.#weights)
  }

  /**
   * Posterior mean at a new point.
   *
   * @param toPivots covariances of the new point with the pivots
   */
  mean(toPivots: Float64Array): number {
    return dot(this.#weights, toPivots)
  }

  /**
   * Posterior covariance of new points, without noise. Off-diagonal elements omit the part of the prior covariance that
   * the factor does not represent, as they do for the observations.
   *
   * @param toPivots covariances of each point with the pivots
   * @param variances prior variance of each point
   */
  covariance(toPivots: readonly Float64Array[], variances: readonly number[]): number[][] {
    const written = toPivots.map((columns) => {
      const row = columns.slice()
      solveLower(this.#pivotFactor, this.#rank, row)
      return row
    })
    const uncertain = written.map((row) => this.#spread(row, this.#lower))
    return written.map((a, i) =>
      written.map((_, j) => dot(uncertain[i]!, uncertain[j]!) + (i === j ? Math.max(0, variances[i]! - dot(a, a)) : 0)),
    )
  }

  /** Predicts each group from all other groups, in closed form. */
  leaveEachOut(): LeftOutGroup[] {
    return this.#groups.map(([begin, end], g) => {
      const size = end - begin
      const rows = Array.from({ length: size }, (_, i) => this.#row(begin + i))
      const spreads = rows.map((row) => this.#spread(row, this.#lower))
      // I - H, where the hat matrix H maps the observed values to the fitted ones.
      const free = new Float64Array(size * size)
      const left = new Float64Array(size)
      for (let i = 0; i < size; i++) {
        left[i] = this.#targets[begin + i]! - dot(rows[i]!, this.#coefficients)
        for (let j = 0; j < size; j++) free[i * size + j] = (i === j ? 1 : 0) - dot(spreads[i]!, spreads[j]!)
      }
      factorise(free, size, new Float64Array(size).fill(1e-12))
      solveFactorised(free, size, left)
      const inverse = new Float64Array(size * size)
      for (let j = 0; j < size; j++) {
        const unit = new Float64Array(size)
        unit[j] = 1
        solveFactorised(free, size, unit)
        for (let i = 0; i < size; i++) inverse[i * size + j] = unit[i]!
      }
      return this.#leftOut(g, left, inverse)
    })
  }

  /** Predicts the groups for which `leaves` is true from the groups for which it is false. */
  leaveOut(leaves: (group: number) => boolean): LeftOutGroup[] {
    const rank = this.#rank
    const chosen = this.#groups.flatMap((_, g) => (leaves(g) ? [g] : []))
    const lower = this.#precision.slice()
    const coefficients = this.#moment.slice()
    for (const g of chosen) this.#add(lower, coefficients, ...this.#groups[g]!, -1)
    factorise(lower, rank, new Float64Array(rank).fill(0.5))
    solveFactorised(lower, rank, coefficients)
    return chosen.map((g) => {
      const [begin, end] = this.#groups[g]!
      const size = end - begin
      const errors = new Float64Array(size)
      const spreads: Float64Array[] = []
      for (let i = 0; i < size; i++) {
        errors[i] = this.#targets[begin + i]! - dot(this.#row(begin + i), coefficients)
        spreads.push(this.#spread(this.#row(begin + i), lower))
      }
      const covariance = new Float64Array(size * size)
      for (let i = 0; i < size; i++) {
        for (let j = 0; j < size; j++) covariance[i * size + j] = dot(spreads[i]!, spreads[j]!) + (i === j ? 1 : 0)
      }
      return this.#leftOut(g, errors, covariance)
    })
  }

  /** Converts errors and covariance from units of the group's noise to units of the observations. */
  #leftOut(g: number, errors: Float64Array, covariance: Float64Array): LeftOutGroup {
    const [begin, end] = this.#groups[g]!
    const size = end - begin
    const noise = this.#noise[g]!
    // Compute L M L' by columns, then by rows.
    const half = new Float64Array(size * size)
    for (let j = 0; j < size; j++) {
      const column = coloured(noise, size, (k) => covariance[k * size + j]!)
      for (let i = 0; i < size; i++) half[i * size + j] = column[i]!
    }
    const whole = new Float64Array(size * size)
    for (let i = 0; i < size; i++)
      whole.set(
        coloured(noise, size, (k) => half[i * size + k]!),
        i * size,
      )
    return { begin, end, errors: coloured(noise, size, (k) => errors[k]!), covariance: whole }
  }

  /**
   * Returns a vector for `row`. The inner product of two such vectors is the posterior covariance of their
   * observations.
   */
  #spread(row: Float64Array, lower: Float64Array): Float64Array {
    const result = row.slice()
    solveLower(lower, this.#rank, result)
    return result
  }

  #row(i: number): Float64Array {
    return this.#whitened.subarray(i * this.#rank, (i + 1) * this.#rank)
  }

  /**
   * Adds `sign` times the outer product of each row with itself to the lower triangle of `precision`, and `sign` times
   * row x observed value to `moment`.
   */
  #add(precision: Float64Array, moment: Float64Array, begin: number, end: number, sign: 1 | -1): void {
    const rank = this.#rank
    for (let r = begin; r < end; r++) {
      const row = this.#row(r)
      const target = sign * this.#targets[r]!
      for (let i = 0; i < rank; i++) {
        const value = sign * row[i]!
        moment[i]! += target * row[i]!
        for (let j = 0, at = i * rank; j <= i; j++, at++) precision[at]! += value * row[j]!
      }
    }
  }
}

/** Whitens `size` rows X of a matrix in place: replaces them by the solution Y of L Y = X, for a lower factor L. */
function whiten(lower: Float64Array, size: number, matrix: Float64Array, begin: number, columns: number): void {
  for (let i = 0; i < size; i++) {
    const row = begin + i * columns
    for (let k = 0; k < i; k++) {
      const factor = lower[i * size + k]!
      const other = begin + k * columns
      for (let c = 0; c < columns; c++) matrix[row + c]! -= factor * matrix[other + c]!
    }
    for (let c = 0; c < columns; c++) matrix[row + c]! /= lower[i * size + i]!
  }
}

/** The product L v. */
function coloured(lower: Float64Array, size: number, at: (k: number) => number): Float64Array {
  return Float64Array.from({ length: size }, (_, i) => {
    let sum = 0
    for (let k = 0; k <= i; k++) sum += lower[i * size + k]! * at(k)
    return sum
  })
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
