import { InvalidInputError } from '@pctodl/platform'
import { factorise, solveFactorised } from './cholesky.js'

/** A nonlinear least-squares problem: find the parameters that minimise the residuals. */
export interface LeastSquaresProblem {
  readonly parameterCount: number
  readonly residualCount: number
  /** Write the residuals at `parameters` into `out`. All must be finite within the bounds. */
  residuals(parameters: Float64Array, out: Float64Array): void
  /**
   * Write the derivatives into `out`, one row per residual (`out[i * parameterCount + j]` is d residual i / d parameter
   * j). `out` is zeroed before each call, so a sparse problem need only write non-zero values. Default: forward
   * differences.
   */
  jacobian?(parameters: Float64Array, residuals: Float64Array, out: Float64Array): void
}

export interface LevenbergMarquardtOptions {
  /** Lower bound of each parameter. Default: none. */
  readonly lower?: ArrayLike<number>
  /** Upper bound of each parameter. Default: none. */
  readonly upper?: ArrayLike<number>
  /** Residuals beyond this size count linearly rather than squared (Huber's loss). Default: all squared. */
  readonly huber?: number
  readonly maxIterations?: number
  /** Stop when an accepted step lowers the cost by less than this fraction. Default 1e-10. */
  readonly costTolerance?: number
  /** Stop when a rejected step changes no parameter by more than this fraction of its size. Default 1e-12. */
  readonly stepTolerance?: number
}

export interface LevenbergMarquardtResult {
  readonly parameters: Float64Array
  /** Half the sum of the squared residuals, or of Huber's loss if `huber` is set. */
  readonly cost: number
  readonly iterations: number
  /** False if `maxIterations` ended the search. */
  readonly converged: boolean
  /** Indices of the parameters that are at a bound and would lower the cost further beyond it. */
  readonly activeBounds: readonly number[]
}

/** Preallocated buffers for the equations of one step. */
interface DampedSystem {
  readonly matrix: Float64Array
  readonly minPivots: Float64Array
  readonly step: Float64Array
}

/**
 * Levenberg-Marquardt with Marquardt's scaling and box constraints. A parameter is excluded from the step while it is
 * at a bound and the cost would decrease beyond that bound. This active set is chosen anew in each iteration. The step
 * of the other parameters is clipped to the box. Clipping an unconstrained step alone, as is often done, can stop at
 * points that are not minima: the free parameters then follow a direction that is valid only together with the clipped
 * components.
 *
 * Source: J. Nocedal and S. Wright, Numerical Optimization, 2nd ed., sections 10.3 and 16.7; D. Marquardt, SIAM J. 11
 * (1963).
 *
 * @param start initial parameters, within the bounds
 * @throws InvalidInputError if the start is outside the bounds or its residuals are not finite
 */
export function levenbergMarquardt(
  problem: LeastSquaresProblem,
  start: ArrayLike<number>,
  options: LevenbergMarquardtOptions = {},
): LevenbergMarquardtResult {
  const {
    maxIterations = 200,
    costTolerance = 1e-10,
    stepTolerance = 1e-12,
    huber = Number.POSITIVE_INFINITY,
  } = options
  const n = problem.parameterCount
  const m = problem.residualCount
  const lower = Float64Array.from({ length: n }, (_, j) => options.lower?.[j] ?? Number.NEGATIVE_INFINITY)
  const upper = Float64Array.from({ length: n }, (_, j) => options.upper?.[j] ?? Number.POSITIVE_INFINITY)
  let parameters = Float64Array.from(start)
  assertStart(parameters, n, lower, upper)

  let residuals = new Float64Array(m)
  problem.residuals(parameters, residuals)
  let cost = robustCost(residuals, huber)
  if (!Number.isFinite(cost)) throw new InvalidInputError('start', Array.from(parameters), 'finite residuals there')

  const jacobian = new Float64Array(m * n)
  const normal = new Float64Array(n * n)
  const gradient = new Float64Array(n)
  const scale = new Float64Array(n)
  const free = new Int32Array(n)
  const system: DampedSystem = {
    matrix: new Float64Array(n * n),
    minPivots: new Float64Array(n),
    step: new Float64Array(n),
  }
  let trial = new Float64Array(n)
  let trialResiduals = new Float64Array(m)
  const isBlocked = (j: number) =>
    (parameters[j]! <= lower[j]! && gradient[j]! > 0) || (parameters[j]! >= upper[j]! && gradient[j]! < 0)
  let damping = 1e-3
  let iterations = 0
  let converged = false

  while (!converged && iterations < maxIterations) {
    iterations++
    jacobian.fill(0)
    if (problem.jacobian) problem.jacobian(parameters, residuals, jacobian)
    else forwardDifferences(problem, parameters, residuals, upper, jacobian, trial, trialResiduals)
    normalEquations(jacobian, residuals, huber, m, n, normal, gradient)

    let freeCount = 0
    for (let j = 0; j < n; j++) {
      if (!isBlocked(j)) free[freeCount++] = j
      scale[j] = Math.max(normal[j * n + j]!, 1e-12)
    }
    if (freeCount === 0) converged = true

    let accepted = false
    while (!accepted && !converged) {
      solveDamped(normal, gradient, scale, damping, free, freeCount, n, system)
      let moved = 0
      for (let j = 0; j < n; j++) trial[j] = parameters[j]!
      for (let k = 0; k < freeCount; k++) {
        const j = free[k]!
        trial[j] = Math.min(upper[j]!, Math.max(lower[j]!, parameters[j]! + system.step[k]!))
        moved = Math.max(moved, Math.abs(trial[j]! - parameters[j]!) / (Math.abs(parameters[j]!) + 1e-9))
      }
      problem.residuals(trial, trialResiduals)
      const trialCost = robustCost(trialResiduals, huber)
      if (trialCost < cost) {
        converged = cost - trialCost <= costTolerance * cost
        ;[parameters, trial] = [trial, parameters]
        ;[residuals, trialResiduals] = [trialResiduals, residuals]
        cost = trialCost
        damping = Math.max(damping / 5, 1e-12)
        accepted = true
      } else {
        damping *= 4
        if (moved <= stepTolerance || damping > 1e16) converged = true
      }
    }
  }
  const activeBounds = Array.from(parameters.keys()).filter(isBlocked)
  return { parameters, cost, iterations, converged, activeBounds }
}

function assertStart(start: Float64Array, n: number, lower: Float64Array, upper: Float64Array): void {
  if (start.length !== n) throw new InvalidInputError('start', start.length, `${n} parameters`)
  for (let j = 0; j < n; j++) {
    if (!(start[j]! >= lower[j]! && start[j]! <= upper[j]!)) {
      throw new InvalidInputError(`start[${j}]`, start[j], `a value from ${lower[j]} to ${upper[j]}`)
    }
  }
}

function robustCost(residuals: Float64Array, huber: number): number {
  let cost = 0
  for (let i = 0; i < residuals.length; i++) {
    const size = Math.abs(residuals[i]!)
    cost += size <= huber ? 0.5 * size * size : huber * (size - 0.5 * huber)
  }
  return Number.isNaN(cost) ? Number.POSITIVE_INFINITY : cost
}

function forwardDifferences(
  problem: LeastSquaresProblem,
  parameters: Float64Array,
  residuals: Float64Array,
  upper: Float64Array,
  out: Float64Array,
  shifted: Float64Array,
  shiftedResiduals: Float64Array,
): void {
  const n = parameters.length
  for (let j = 0; j < n; j++) {
    shifted.set(parameters)
    const size = 1e-7 * (Math.abs(parameters[j]!) + 1e-3)
    // Takes the difference backwards if the upper bound is too close.
    shifted[j] = parameters[j]! + size > upper[j]! ? parameters[j]! - size : parameters[j]! + size
    const distance = shifted[j]! - parameters[j]!
    problem.residuals(shifted, shiftedResiduals)
    for (let i = 0; i < residuals.length; i++) out[i * n + j] = (shiftedResiduals[i]! - residuals[i]!) / distance
  }
}

/**
 * Computes the normal equations: J'WJ (lower triangle) into `normal`, J'Wr into `gradient`, with Huber's weights W.
 * Zeros of the Jacobian are skipped, which saves time on sparse problems.
 */
function normalEquations(
  jacobian: Float64Array,
  residuals: Float64Array,
  huber: number,
  m: number,
  n: number,
  normal: Float64Array,
  gradient: Float64Array,
): void {
  normal.fill(0)
  gradient.fill(0)
  const columns = new Int32Array(n)
  for (let i = 0; i < m; i++) {
    let count = 0
    const row = i * n
    for (let j = 0; j < n; j++) if (jacobian[row + j] !== 0) columns[count++] = j
    const size = Math.abs(residuals[i]!)
    const weight = size <= huber ? 1 : huber / size
    for (let a = 0; a < count; a++) {
      const j = columns[a]!
      const weighted = weight * jacobian[row + j]!
      gradient[j]! += weighted * residuals[i]!
      for (let b = 0; b <= a; b++) normal[j * n + columns[b]!]! += weighted * jacobian[row + columns[b]!]!
    }
  }
}

/** Solve (A + damping * diag(scale)) step = -gradient over the free parameters, where A is `normal`. */
function solveDamped(
  normal: Float64Array,
  gradient: Float64Array,
  scale: Float64Array,
  damping: number,
  free: Int32Array,
  count: number,
  n: number,
  { matrix, minPivots, step }: DampedSystem,
): void {
  for (let a = 0; a < count; a++) {
    const ja = free[a]!
    for (let b = 0; b <= a; b++) matrix[a * count + b] = normal[ja * n + free[b]!]!
    matrix[a * count + a]! += damping * scale[ja]!
    // Rounding can make the pivot of nearly parallel columns negative. The lower bound only shortens that direction.
    minPivots[a] = 1e-14 * scale[ja]!
    step[a] = -gradient[ja]!
  }
  factorise(matrix, count, minPivots)
  solveFactorised(matrix, count, step)
}
