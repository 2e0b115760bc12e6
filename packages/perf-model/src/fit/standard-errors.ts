import { factorise, inverseFromFactor, type LeastSquaresProblem, type LevenbergMarquardtResult } from '@pctodl/numerics'

/** Covariance of the parameters of a fit that are not on a bound. */
export interface ParameterCovariance {
  /** Indices of these parameters. */
  readonly free: readonly number[]
  /** By rows, `free.length` squared. */
  readonly covariance: Float64Array
}

/**
 * Covariance of a fit's parameters from the curvature at its end: s^2 (J'WJ)^-1 over the parameters that are not on a bound, W
 * being Huber's weights and s^2 the weighted mean square of the residuals (C. Bates and D. Watts, Nonlinear Regression Analysis,
 * 1988, section 2.3).
 */
export function parameterCovariance(
  problem: LeastSquaresProblem,
  { parameters, activeBounds }: LevenbergMarquardtResult,
  huber: number,
): ParameterCovariance {
  const n = problem.parameterCount
  const m = problem.residualCount
  const free = Array.from({ length: n }, (_, j) => j).filter((j) => !activeBounds.includes(j))
  const residuals = new Float64Array(m)
  const jacobian = new Float64Array(m * n)
  problem.residuals(parameters, residuals)
  problem.jacobian!(parameters, residuals, jacobian)
  const size = free.length
  const normal = new Float64Array(size * size)
  let square = 0
  for (let i = 0; i < m; i++) {
    const residual = Math.abs(residuals[i]!)
    const weight = residual <= huber ? 1 : huber / residual
    square += weight * residual * residual
    for (let a = 0; a < size; a++) {
      const first = weight * jacobian[i * n + free[a]!]!
      if (first === 0) continue
      for (let b = 0; b <= a; b++) normal[a * size + b]! += first * jacobian[i * n + free[b]!]!
    }
  }
  // The weak pull towards the start keeps every pivot above zero.
  factorise(normal, size)
  const inverse = inverseFromFactor(normal, size)
  const variance = square / Math.max(1, m - n - size)
  return { free, covariance: inverse.map((value) => variance * value) }
}

/** Standard errors of logarithms, so relative ones; NaN for a parameter on a bound. */
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
