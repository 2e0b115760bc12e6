import { factorise, solveFactorised, solveLower, solveTransposed } from '@pctodl/numerics'
import { leading, pivotedCholesky } from '../math/pivoted-cholesky.js'
import type { Workload } from '../workload.js'
import { COVARIANCE_PARTS, type CompanyRow, SlowdownCovariance } from './slowdown-covariance.js'
import { colocationSpans, type TrainingRow } from './training-rows.js'
import { WorkloadScaling } from './workload-kernels.js'

/** Greatest rank of the covariance of the rows; what it leaves out of a row's variance counts as noise of that row. */
const MOST_RANK = 448
const RANK_TOLERANCE = 1e-9

/** Rank at which whole workloads are left out: how far off a stranger's prediction is takes less detail. */
const MOST_LEAVING_RANK = 192

/** Keeps the covariance invertible where the noise is estimated away; rows differ by far more. */
const JITTER = 1e-9

/** What a Gaussian process of slowdowns has to know. */
export interface FittedProcess {
  readonly workloads: readonly Workload[]
  readonly rows: readonly TrainingRow[]
  /** Mean of the rows' exponents. */
  readonly mean: number
  /** Variance of each part of the covariance, then of a colocation's and of a row's noise. */
  readonly variances: readonly number[]
}

/** A training colocation as predicted by a process that has not seen it. */
export interface LeftOut {
  readonly begin: number
  readonly end: number
  /** Measured less predicted exponents of its rows. */
  readonly errors: Float64Array
  /** Covariance that the process expects of these, by rows. */
  readonly covariance: Float64Array
}

/** Means and covariances of exponents, in the points of one list of workloads. */
export interface ProcessView {
  indexOf(workload: Workload): number
  row(own: number, others: readonly number[]): CompanyRow
  mean(row: CompanyRow): number
  /** Of what would be measured, noise included; different rows of one colocation. */
  covarianceOf(rows: readonly CompanyRow[]): number[][]
}

/**
 * Gaussian-process regression of exponents on all rows. The covariance of the rows is written as `L L'` plus a diagonal by a
 * pivoted Cholesky factor, exact up to its rank; the process is then a linear regression on the columns of L, so that time
 * grows with the number of rows and not with its cube (FITC: Snelson and Ghahramani 2006).
 */
export class CompanyProcess {
  readonly #fitted: FittedProcess
  readonly #scaling: WorkloadScaling
  readonly #pivotRows: readonly CompanyRow[]
  /** rank x rank, lower. */
  readonly #pivotFactor: Float64Array
  readonly #rank: number
  readonly #factor: Float64Array
  readonly #residual: Float64Array
  readonly #regression: Regression
  /** Weights of the pivots' covariances in a mean. */
  readonly #weights: Float64Array

  constructor(fitted: FittedProcess) {
    this.#fitted = fitted
    const { workloads, rows, variances } = fitted
    this.#scaling = new WorkloadScaling(workloads)
    const covariance = new SlowdownCovariance(workloads.map((workload) => this.#scaling.point(workload)))
    const companyRows = rows.map(({ own, others }) => covariance.row(own, others))
    const diagonal = Float64Array.from(companyRows, (row) => covariance.between(row, row, variances))
    const column = (index: number, out: Float64Array) => {
      const row = companyRows[index]!
      for (let i = 0; i < companyRows.length; i++) out[i] = covariance.between(companyRows[i]!, row, variances)
    }
    const { pivots, factor, rank, residual } = pivotedCholesky(diagonal, column, MOST_RANK, RANK_TOLERANCE)
    this.#rank = rank
    this.#factor = factor
    this.#residual = residual
    this.#pivotRows = [...pivots].map((pivot) => companyRows[pivot]!)
    this.#pivotFactor = new Float64Array(rank * rank)
    pivots.forEach((pivot, p) => {
      this.#pivotFactor.set(factor.subarray(pivot * rank, (pivot + 1) * rank), p * rank)
    })
    this.#regression = new Regression(fitted, factor, rank, residual)
    this.#weights = Float64Array.from(this.#regression.coefficients)
    solveTransposed(this.#pivotFactor, rank, this.#weights)
  }

  /** Every training colocation predicted by all others, in closed form. */
  leaveEachOut(): LeftOut[] {
    return this.#regression.leaveEachOut()
  }

  /** The colocations for which `leaves` holds, predicted by the others; with less detail, so that it can be done often. */
  leaveOut(leaves: (rows: readonly TrainingRow[]) => boolean): LeftOut[] {
    return this.#coarse().leaveOut(leaves)
  }

  /** The same in full detail, without the covariance. */
  errorsLeavingOut(leaves: (rows: readonly TrainingRow[]) => boolean): Omit<LeftOut, 'covariance'>[] {
    return this.#regression.errorsLeavingOut(leaves)
  }

  #coarseRegression: Regression | undefined
  #coarse(): Regression {
    if (this.#rank <= MOST_LEAVING_RANK) return this.#regression
    if (this.#coarseRegression) return this.#coarseRegression
    const factor = leading(this.#factor, this.#rank, MOST_LEAVING_RANK)
    const residual = this.#residual.map((rest, i) => {
      for (let k = MOST_LEAVING_RANK; k < this.#rank; k++) rest += this.#factor[i * this.#rank + k]! ** 2
      return rest
    })
    this.#coarseRegression = new Regression(this.#fitted, factor, MOST_LEAVING_RANK, residual)
    return this.#coarseRegression
  }

  /** A workload is known again by its name. */
  view(workloads: readonly Workload[]): ProcessView {
    const { workloads: trained, variances, mean } = this.#fitted
    const points = [...trained, ...workloads].map((workload) => this.#scaling.point(workload))
    const covariance = new SlowdownCovariance(points)
    const index = new Map(workloads.map(({ name }, i) => [name, trained.length + i]))
    const rank = this.#rank
    const toPivots = (row: CompanyRow) =>
      Float64Array.from(this.#pivotRows, (pivot) => covariance.between(row, pivot, variances))
    return {
      indexOf: ({ name }) => index.get(name)!,
      row: (own, others) => covariance.row(own, others),
      mean: (row) => {
        let sum = mean
        for (let p = 0; p < rank; p++) {
          sum += this.#weights[p]! * covariance.between(row, this.#pivotRows[p]!, variances)
        }
        return sum
      },
      covarianceOf: (rows) => {
        const written = rows.map((row) => {
          const columns = toPivots(row)
          solveLower(this.#pivotFactor, rank, columns)
          return columns
        })
        const uncertain = written.map((columns) => this.#regression.spread(columns))
        const [colocationNoise, rowNoise] = noiseOf(variances)
        return rows.map((a, i) =>
          rows.map((b, j) => {
            const unexplained = covariance.between(a, b, variances) - dot(written[i]!, written[j]!)
            // Off the diagonal what the factor leaves out is left out, as among the training rows.
            const own = i === j ? Math.max(0, unexplained) + rowNoise : 0
            return dot(uncertain[i]!, uncertain[j]!) + own + colocationNoise
          }),
        )
      },
    }
  }
}

function noiseOf(variances: readonly number[]): readonly [colocation: number, row: number] {
  return [variances[COVARIANCE_PARTS]!, variances[COVARIANCE_PARTS + 1]!]
}

/** Bayesian linear regression with unit prior variances; noise is correlated within a colocation. */
class Regression {
  readonly #rows: readonly TrainingRow[]
  readonly #rank: number
  readonly #spans: readonly (readonly [number, number])[]
  /** Lower factor of each colocation's noise. */
  readonly #noise: readonly Float64Array[]
  /** Rows and centred exponents, both in units of the noise. */
  readonly #whitened: Float64Array
  readonly #targets: Float64Array
  readonly #precision: Float64Array
  readonly #lower: Float64Array
  readonly #moment: Float64Array
  readonly coefficients: Float64Array

  constructor({ rows, mean, variances }: FittedProcess, factor: Float64Array, rank: number, residual: Float64Array) {
    this.#rows = rows
    this.#rank = rank
    this.#spans = colocationSpans(rows)
    const [colocationNoise, rowNoise] = noiseOf(variances)
    this.#noise = this.#spans.map(([begin, end]) => {
      const size = end - begin
      const noise = new Float64Array(size * size).fill(colocationNoise)
      for (let i = 0; i < size; i++)
        noise[i * size + i]! += rowNoise / rows[begin + i]!.count + residual[begin + i]! + JITTER
      factorise(noise, size)
      return noise
    })
    this.#whitened = Float64Array.from(factor)
    this.#targets = Float64Array.from(rows, ({ exponent }) => exponent - mean)
    this.#spans.forEach(([begin, end], s) => {
      whiten(this.#noise[s]!, end - begin, this.#whitened, begin * rank, rank)
      whiten(this.#noise[s]!, end - begin, this.#targets, begin, 1)
    })
    this.#precision = new Float64Array(rank * rank)
    for (let k = 0; k < rank; k++) this.#precision[k * rank + k] = 1
    addOuterProducts(this.#precision, this.#whitened, rank, 0, rows.length, 1)
    this.#moment = new Float64Array(rank)
    addMoments(this.#moment, this.#whitened, this.#targets, rank, 0, rows.length, 1)
    this.#lower = Float64Array.from(this.#precision)
    factorise(this.#lower, rank)
    this.coefficients = Float64Array.from(this.#moment)
    solveFactorised(this.#lower, rank, this.coefficients)
  }

  /** Vector whose products are the posterior covariances; overwrites nothing. */
  spread(row: Float64Array, lower = this.#lower): Float64Array {
    const result = row.slice()
    solveLower(lower, this.#rank, result)
    return result
  }

  leaveEachOut(): LeftOut[] {
    return this.#spans.map(([begin, end], s) => {
      const size = end - begin
      const rows = Array.from({ length: size }, (_, i) => this.#whitenedRow(begin + i))
      const spreads = rows.map((row) => this.spread(row))
      // I - H: what of a measured change the regression does not follow.
      const free = new Float64Array(size * size)
      const left = new Float64Array(size)
      for (let i = 0; i < size; i++) {
        left[i] = this.#targets[begin + i]! - dot(rows[i]!, this.coefficients)
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
      const noise = this.#noise[s]!
      return { begin, end, errors: colour(noise, size, left), covariance: colourBoth(noise, size, inverse) }
    })
  }

  leaveOut(leaves: (rows: readonly TrainingRow[]) => boolean): LeftOut[] {
    const { lower, left } = this.#without(leaves)
    return left.map(({ s, begin, end, whitenedErrors }) => {
      const size = end - begin
      const spreads = whitenedErrors.map((_, i) => this.spread(this.#whitenedRow(begin + i), lower))
      const covariance = new Float64Array(size * size)
      for (let i = 0; i < size; i++) {
        for (let j = 0; j < size; j++) covariance[i * size + j] = dot(spreads[i]!, spreads[j]!) + (i === j ? 1 : 0)
      }
      const noise = this.#noise[s]!
      return {
        begin,
        end,
        errors: colour(noise, size, whitenedErrors),
        covariance: colourBoth(noise, size, covariance),
      }
    })
  }

  errorsLeavingOut(leaves: (rows: readonly TrainingRow[]) => boolean): Omit<LeftOut, 'covariance'>[] {
    return this.#without(leaves).left.map(({ s, begin, end, whitenedErrors }) => ({
      begin,
      end,
      errors: colour(this.#noise[s]!, end - begin, whitenedErrors),
    }))
  }

  /** The regression without some colocations, and what these are from its predictions in units of their noise. */
  #without(leaves: (rows: readonly TrainingRow[]) => boolean) {
    const rank = this.#rank
    const chosen = this.#spans.flatMap(([begin, end], s) => (leaves(this.#rows.slice(begin, end)) ? [s] : []))
    const lower = Float64Array.from(this.#precision)
    const coefficients = Float64Array.from(this.#moment)
    for (const s of chosen) {
      const [begin, end] = this.#spans[s]!
      addOuterProducts(lower, this.#whitened, rank, begin, end, -1)
      addMoments(coefficients, this.#whitened, this.#targets, rank, begin, end, -1)
    }
    factorise(lower, rank, new Float64Array(rank).fill(0.5))
    solveFactorised(lower, rank, coefficients)
    const left = chosen.map((s) => {
      const [begin, end] = this.#spans[s]!
      const whitenedErrors = Array.from(
        { length: end - begin },
        (_, i) => this.#targets[begin + i]! - dot(this.#whitenedRow(begin + i), coefficients),
      )
      return { s, begin, end, whitenedErrors }
    })
    return { lower, left }
  }

  #whitenedRow(i: number): Float64Array {
    return this.#whitened.subarray(i * this.#rank, (i + 1) * this.#rank)
  }
}

/** Replace `size` rows of a matrix by their forward solution with a lower factor. */
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

/** Back to the units of exponents: L v. */
function colour(lower: Float64Array, size: number, vector: ArrayLike<number>): Float64Array {
  return Float64Array.from(vector, (_, i) => {
    let sum = 0
    for (let k = 0; k <= i; k++) sum += lower[i * size + k]! * vector[k]!
    return sum
  })
}

/** L M L'. */
function colourBoth(lower: Float64Array, size: number, matrix: Float64Array): Float64Array {
  const result = new Float64Array(size * size)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      for (let a = 0; a <= i; a++) {
        for (let b = 0; b <= j; b++) {
          result[i * size + j]! += lower[i * size + a]! * matrix[a * size + b]! * lower[j * size + b]!
        }
      }
    }
  }
  return result
}

/** Add `sign` times the outer products of rows to the lower triangle of a matrix, four rows at a time. */
function addOuterProducts(
  matrix: Float64Array,
  rows: Float64Array,
  columns: number,
  begin: number,
  end: number,
  sign: 1 | -1,
): void {
  for (let from = begin; from < end; from += 4) {
    const last = end - 1
    const [a, b, c, d] = [0, 1, 2, 3].map((step) => Math.min(from + step, last) * columns) as [
      number,
      number,
      number,
      number,
    ]
    const [useB, useC, useD] = [1, 2, 3].map((step) => (from + step <= last ? sign : 0)) as [number, number, number]
    for (let i = 0; i < columns; i++) {
      const at = i * columns
      const va = sign * rows[a + i]!
      const vb = useB * rows[b + i]!
      const vc = useC * rows[c + i]!
      const vd = useD * rows[d + i]!
      for (let j = 0; j <= i; j++) {
        matrix[at + j]! += va * rows[a + j]! + vb * rows[b + j]! + vc * rows[c + j]! + vd * rows[d + j]!
      }
    }
  }
}

function addMoments(
  moment: Float64Array,
  rows: Float64Array,
  targets: Float64Array,
  columns: number,
  begin: number,
  end: number,
  sign: 1 | -1,
): void {
  for (let i = begin; i < end; i++) {
    const target = sign * targets[i]!
    for (let k = 0; k < columns; k++) moment[k]! += target * rows[i * columns + k]!
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
