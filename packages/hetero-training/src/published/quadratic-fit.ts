/** Coefficients of c2 x^2 + c1 x + c0. */
export type Quadratic = readonly [c2: number, c1: number, c0: number]

export function evaluateQuadratic([c2, c1, c0]: Quadratic, x: number): number {
  return (c2 * x + c1) * x + c0
}

/**
 * Unweighted least squares by Householder reflections on x scaled to 0..1, exact to rounding.
 *
 * @param x at least three different values
 */
export function fitQuadratic(x: readonly number[], y: readonly number[]): Quadratic {
  const scale = Math.max(...x)
  const a = x.map((value) => {
    const u = value / scale
    return [u * u, u, 1]
  })
  const b = [...y]
  for (let column = 0; column < 3; column++) {
    const norm = Math.hypot(...a.slice(column).map((row) => row[column]!))
    const alpha = a[column]![column]! > 0 ? -norm : norm
    const v = a.map((row, i) => (i < column ? 0 : row[column]! - (i === column ? alpha : 0)))
    const vv = v.reduce((sum, value) => sum + value * value, 0)
    if (vv === 0) continue
    const reflect = (values: (i: number) => number, write: (i: number, value: number) => void) => {
      const factor = (2 * v.reduce((sum, value, i) => sum + value * values(i), 0)) / vv
      for (let i = column; i < v.length; i++) write(i, values(i) - factor * v[i]!)
    }
    for (let k = column; k < 3; k++) {
      reflect(
        (i) => a[i]![k]!,
        (i, value) => {
          a[i]![k] = value
        },
      )
    }
    reflect(
      (i) => b[i]!,
      (i, value) => {
        b[i] = value
      },
    )
  }
  const c0 = b[2]! / a[2]![2]!
  const c1 = (b[1]! - a[1]![2]! * c0) / a[1]![1]!
  const c2 = (b[0]! - a[0]![1]! * c1 - a[0]![2]! * c0) / a[0]![0]!
  return [c2 / scale ** 2, c1 / scale, c0]
}
