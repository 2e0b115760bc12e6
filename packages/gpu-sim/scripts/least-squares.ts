/**
 * Levenberg-Marquardt on residuals with forward-difference Jacobian and soft-L1 weights. Parameters are unconstrained:
 * the caller maps them into their ranges.
 */
export function leastSquares(
  residuals: (parameters: Float64Array) => Float64Array,
  start: Float64Array,
  { iterations, onIteration }: { iterations: number; onIteration?: (iteration: number, cost: number) => void },
): Float64Array {
  const n = start.length
  let parameters = Float64Array.from(start)
  let current = residuals(parameters)
  let cost = softCost(current)
  let damping = 1e-2
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const jacobian = Array.from({ length: n }, (_, j) => {
      const moved = Float64Array.from(parameters)
      const step = 1e-4
      moved[j]! += step
      return residuals(moved).map((value, i) => (value - current[i]!) / step)
    })
    const weights = current.map((r) => 1 / Math.sqrt(1 + r * r))
    const normal = Array.from({ length: n }, () => new Float64Array(n))
    const gradient = new Float64Array(n)
    for (let a = 0; a < n; a++) {
      for (let i = 0; i < current.length; i++) gradient[a]! += weights[i]! * jacobian[a]![i]! * current[i]!
      for (let b = 0; b <= a; b++) {
        let sum = 0
        for (let i = 0; i < current.length; i++) sum += weights[i]! * jacobian[a]![i]! * jacobian[b]![i]!
        normal[a]![b] = sum
        normal[b]![a] = sum
      }
    }
    let improved = false
    for (let attempt = 0; attempt < 8 && !improved; attempt++) {
      const step = solve(
        normal.map((row, a) => row.map((value, b) => (a === b ? value * (1 + damping) + 1e-9 : value))),
        gradient,
      )
      const tried = parameters.map((value, j) => value - step[j]!)
      const triedResiduals = residuals(tried)
      const triedCost = softCost(triedResiduals)
      if (triedCost < cost) {
        improved = true
        const gain = 1 - triedCost / cost
        parameters = tried
        current = triedResiduals
        cost = triedCost
        damping = Math.max(1e-6, damping / 4)
        onIteration?.(iteration, cost)
        if (gain < 1e-4) return parameters
      } else damping *= 5
    }
    if (!improved) return parameters
  }
  return parameters
}

function softCost(residuals: Float64Array): number {
  let sum = 0
  for (const r of residuals) sum += Math.sqrt(1 + r * r) - 1
  return sum
}

/** Gaussian elimination with partial pivoting; `matrix` is consumed. */
function solve(matrix: Float64Array[], rightHandSide: Float64Array): Float64Array {
  const n = rightHandSide.length
  const x = Float64Array.from(rightHandSide)
  for (let column = 0; column < n; column++) {
    let pivot = column
    for (let row = column + 1; row < n; row++) {
      if (Math.abs(matrix[row]![column]!) > Math.abs(matrix[pivot]![column]!)) pivot = row
    }
    ;[matrix[column], matrix[pivot]] = [matrix[pivot]!, matrix[column]!]
    ;[x[column], x[pivot]] = [x[pivot]!, x[column]!]
    for (let row = column + 1; row < n; row++) {
      const factor = matrix[row]![column]! / matrix[column]![column]!
      for (let k = column; k < n; k++) matrix[row]![k]! -= factor * matrix[column]![k]!
      x[row]! -= factor * x[column]!
    }
  }
  for (let row = n - 1; row >= 0; row--) {
    for (let k = row + 1; k < n; k++) x[row]! -= matrix[row]![k]! * x[k]!
    x[row]! /= matrix[row]![row]!
  }
  return x
}
