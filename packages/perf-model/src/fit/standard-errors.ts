import { factorise, inverseFromFactor, type LeastSquaresProblem, type LevenbergMarquardtResult } from '@pctodl/numerics'

/** Covariance of the parameters of a fit that are not at a bound. */
export interface ParameterCovariance {
  /** Indices of the parameters that are not at a bound. */
  readonly free: readonly number[]
  /** Row-major, `free.length` x `free.length`. */
  readonly covariance: Float64Array
}

/**
 * Returns J'WJ over the parameters `free` at a point, and the weighted sum of squared residuals, with Huber weights W.
 * The last residuals are those of the prior, one per parameter. Their weight is always 1.
 */
export function curvatureAt(
  problem: LeastSquaresProblem,
  point: Float64Array,
  free: readonly number[],
  huber: number,
): { readonly normal: Float64Array; readonly square: number } {
  const n = problem.parameterCount
  const m = problem.residualCount
  const residuals = new Float64Array(m)
  const jacobian = new Float64Array(m * n)
  problem.residuals(point, residuals)
  problem.jacobian!(point, residuals, jacobian)
  const size = free.length
  const normal = new Float64Array(size * size)
  let square = 0
  for (let i = 0; i < m; i++) {
    const residual = Math.abs(residuals[i]!)
    const weight = i < m - n && residual > huber ? huber / residual : 1
    square += weight * residual * residual
    for (let a = 0; a < size; a++) {
      const first = weight * jacobian[i * n + free[a]!]!
      if (first === 0) continue
      for (let b = 0; b <= a; b++) normal[a * size + b]! += first * jacobian[i * n + free[b]!]!
    }
  }
  return { normal, square }
}

/**
 * Covariance of a fit's parameters from the curvature at the optimum: s^2 (J'WJ)^-1 over the parameters that are not at
 * a bound, where s^2 is the weighted mean square of the residuals (C. Bates and D. Watts, Nonlinear Regression
 * Analysis, 1988, section 2.3).
 */
export function parameterCovariance(
  problem: LeastSquaresProblem,
  { parameters, activeBounds }: LevenbergMarquardtResult,
  huber: number,
): ParameterCovariance {
  const n = problem.parameterCount
  const free = Array.from({ length: n }, (_, j) => j).filter((j) => !activeBounds.includes(j))
  const { normal, square } = curvatureAt(problem, parameters, free, huber)
  // The weak prior keeps every pivot positive.
  factorise(normal, free.length)
  const inverse = inverseFromFactor(normal, free.length)
  const variance = square / Math.max(1, problem.residualCount - n - free.length)
  return { free, covariance: inverse.map((value) => variance * value) }
}

/** Standard errors of the parameters' logarithms, which are relative errors; NaN for a parameter at a bound. */
export function relativeStandardErrors(
  { free, covariance }: ParameterCovariance,
  parameterCount: number,
): Float64Array {
  const errors = new Float64Array(parameterCount).fill(Number.NaN)
  free.forEach((j, a) => {
    errors[j] = Math.sqrt(covariance[a * free.length + a]!)
  })
  return errors
}
