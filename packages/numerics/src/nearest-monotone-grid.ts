import { makeNonDecreasing } from './isotonic-regression.js'

/** Maximum number of sweeps over rows and columns. Measured grids are nearly monotone and need far fewer. */
const MAX_SWEEPS = 200
const CLOSE_ENOUGH = 1e-12

/**
 * Returns the nearest grid, in the least-squares sense, that is non-decreasing along rows and columns. Uses Dykstra's
 * alternating projections (Boyle and Dykstra, 1986).
 *
 * @param grid row by row
 */
export function nearestMonotoneGrid(grid: Float64Array, rows: number, columns: number): Float64Array {
  const current = Float64Array.from(grid)
  const rowCorrection = new Float64Array(grid.length)
  const columnCorrection = new Float64Array(grid.length)
  const before = new Float64Array(grid.length)
  const line = (length: number) => new Float64Array(length)
  const [alongRow, alongColumn] = [line(columns), line(rows)]
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    before.set(current)
    project(current, rowCorrection, alongRow, rows, (r, c) => r * columns + c)
    project(current, columnCorrection, alongColumn, columns, (c, r) => r * columns + c)
    if (current.every((value, i) => Math.abs(value - before[i]!) <= CLOSE_ENOUGH)) break
  }
  // Sweeps converge to a monotone grid, but may have stopped early. Remove the small violations that remain.
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const above = r > 0 ? current[(r - 1) * columns + c]! : Number.NEGATIVE_INFINITY
      const left = c > 0 ? current[r * columns + c - 1]! : Number.NEGATIVE_INFINITY
      current[r * columns + c] = Math.max(current[r * columns + c]!, above, left)
    }
  return current
}

function project(
  grid: Float64Array,
  correction: Float64Array,
  line: Float64Array,
  lines: number,
  index: (lineIndex: number, i: number) => number,
): void {
  for (let l = 0; l < lines; l++) {
    for (let i = 0; i < line.length; i++) line[i] = grid[index(l, i)]! + correction[index(l, i)]!
    const wanted = Float64Array.from(line)
    makeNonDecreasing(line)
    for (let i = 0; i < line.length; i++) {
      grid[index(l, i)] = line[i]!
      correction[index(l, i)] = wanted[i]! - line[i]!
    }
  }
}
