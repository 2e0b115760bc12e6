/** `maximise cost . x` subject to `rows . x <= limits`, `x >= 0`, with no limit below 0: x = 0 is a start. */
export interface LinearProgram {
  readonly cost: readonly number[]
  readonly rows: readonly (readonly number[])[]
  readonly limits: readonly number[]
}

export interface LinearSolution {
  readonly objective: number
  readonly x: Float64Array
  /** Of the rows: at least 0. */
  readonly duals: Float64Array
}

const TOLERANCE = 1e-10

/**
 * The primal simplex method on a dense tableau, for programs of some tens of rows. It takes the steepest reduced cost, and the
 * least index (Bland's rule, which cannot cycle) while the objective stands still.
 *
 * Own code beside `@pctodl/solver`: column generation solves up to forty of these in a heuristic that takes milliseconds and is
 * synchronous. One of 60 rows takes 0.2 ms here; HiGHS in WebAssembly took 100 ms at the same time, and 100 ms more to load.
 *
 * @returns null where it did not finish: an unbounded program, or one too ill-conditioned for this method
 */
export function maximize({ cost, rows, limits }: LinearProgram): LinearSolution | null {
  const m = rows.length
  const n = cost.length
  const width = n + m + 1
  const tableau = new Float64Array((m + 1) * width)
  rows.forEach((row, i) => {
    for (let j = 0; j < n; j++) tableau[i * width + j] = row[j]!
    tableau[i * width + n + i] = 1
    tableau[i * width + width - 1] = limits[i]!
  })
  for (let j = 0; j < n; j++) tableau[m * width + j] = -cost[j]!
  const basis = Int32Array.from(rows, (_, i) => n + i)
  let stalled = 0
  for (let pivots = 0; pivots < 50 * (m + n); pivots++) {
    const column = entering(tableau, m, width, stalled > 8)
    if (column < 0) return solution(tableau, basis, m, n)
    const row = leaving(tableau, basis, m, width, column)
    if (row < 0) return null
    const before = tableau[m * width + width - 1]!
    pivot(tableau, m, width, row, column)
    basis[row] = column
    stalled = tableau[m * width + width - 1]! > before + TOLERANCE ? 0 : stalled + 1
  }
  return null
}

function entering(tableau: Float64Array, m: number, width: number, leastIndex: boolean): number {
  let column = -1
  let least = -TOLERANCE
  for (let j = 0; j < width - 1; j++) {
    const reduced = tableau[m * width + j]!
    if (reduced >= least) continue
    column = j
    if (leastIndex) break
    least = reduced
  }
  return column
}

function leaving(tableau: Float64Array, basis: Int32Array, m: number, width: number, column: number): number {
  let row = -1
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < m; i++) {
    const slope = tableau[i * width + column]!
    if (slope <= TOLERANCE) continue
    const ratio = tableau[i * width + width - 1]! / slope
    if (ratio < least - TOLERANCE || (ratio < least + TOLERANCE && row >= 0 && basis[i]! < basis[row]!)) {
      least = Math.min(least, ratio)
      row = i
    }
  }
  return row
}

function pivot(tableau: Float64Array, m: number, width: number, row: number, column: number): void {
  const at = row * width
  const scale = 1 / tableau[at + column]!
  for (let j = 0; j < width; j++) tableau[at + j]! *= scale
  for (let i = 0; i <= m; i++) {
    const factor = tableau[i * width + column]!
    if (i === row || factor === 0) continue
    for (let j = 0; j < width; j++) tableau[i * width + j]! -= factor * tableau[at + j]!
  }
}

function solution(tableau: Float64Array, basis: Int32Array, m: number, n: number): LinearSolution {
  const width = n + m + 1
  const x = new Float64Array(n)
  basis.forEach((column, i) => {
    if (column < n) x[column] = Math.max(0, tableau[i * width + width - 1]!)
  })
  const duals = Float64Array.from({ length: m }, (_, i) => Math.max(0, tableau[m * width + n + i]!))
  return { objective: tableau[m * width + width - 1]!, x, duals }
}
