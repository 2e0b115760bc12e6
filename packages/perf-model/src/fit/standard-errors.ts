import { factorise, inverseFromFactor, type LeastSquaresProblem, type LevenbergMarquardtResult } from '@pctodl/numerics'

/**
 * Standard errors of the logarithms of a fit's parameters, which are relative errors; NaN for a parameter at a bound.
 * They are the roots of the diagonal of s^2 (J'WJ)^-1 over the other parameters, where W are the Huber weights and s^2 is
 * the weighted mean square of the residuals (C. Bates and D. Watts, Nonlinear Regression Analysis, 1988, section 2.3).
 * The last residuals are those of the prior, one per parameter. Their weight is always 1.
 */
export function relativeStandardErrors(
  problem: LeastSquaresProblem,
  { parameters, activeBounds }: LevenbergMarquardtResult,
  huber: number,
): Float64Array {
  const n = problem.parameterCount
  const m = problem.residualCount
  const residuals = new Float64Array(m)
  const jacobian = new Float64Array(m * n)
  problem.residuals(parameters, residuals)
  problem.jacobian!(parameters, residuals, jacobian)
  const free = Array.from({ length: n }, (_, j) => j).filter((j) => !activeBounds.includes(j))
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
  // The weak prior keeps every pivot positive.
  factorise(normal, size)
  const inverse = inverseFromFactor(normal, size)
  const variance = square / Math.max(1, m - n - size)
  const errors = new Float64Array(n).fill(Number.NaN)
  free.forEach((j, a) => {
    errors[j] = Math.sqrt(variance * inverse[a * size + a]!)
  })
  return errors
}
