import { makeNonDecreasing } from '@pctodl/numerics'
import { CORRECTION_NODES, correctionGrid } from '../correction-grid.js'

const SHARES = correctionGrid.mpsPercent.length
const PER_SHARE = CORRECTION_NODES / SHARES
const ROUNDS = 20

/**
 * Make grids non-decreasing along the share and from one memory clock to the next, with little change. Isotonic
 * regressions (pool adjacent violators) alternate between both axes; running maxima then remove the remaining
 * violations.
 *
 * @param grids one grid per memory clock, clocks descending, as the model lists them
 */
export function makeMonotone(grids: number[][]): void {
  const ascending = [...grids].reverse()
  for (let round = 0; round < ROUNDS; round++) {
    alongShares(ascending, pool)
    alongClocks(ascending, pool)
  }
  alongShares(ascending, runningMaximum)
  alongClocks(ascending, runningMaximum)
}

function alongShares(grids: readonly number[][], fix: (values: number[]) => number[]): void {
  for (const grid of grids) {
    for (let i = 0; i < PER_SHARE; i++) {
      const line = Array.from({ length: SHARES }, (_, s) => grid[s * PER_SHARE + i]!)
      fix(line).forEach((value, s) => {
        grid[s * PER_SHARE + i] = value
      })
    }
  }
}

function alongClocks(grids: readonly number[][], fix: (values: number[]) => number[]): void {
  for (let i = 0; i < PER_SHARE * SHARES; i++) {
    fix(grids.map((grid) => grid[i]!)).forEach((value, m) => {
      grids[m]![i] = value
    })
  }
}

function pool(values: readonly number[]): number[] {
  const line = Float64Array.from(values)
  makeNonDecreasing(line)
  return Array.from(line)
}

function runningMaximum(values: readonly number[]): number[] {
  let highest = Number.NEGATIVE_INFINITY
  return values.map((value) => {
    highest = Math.max(highest, value)
    return highest
  })
}
