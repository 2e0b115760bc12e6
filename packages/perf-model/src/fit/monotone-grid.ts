import { nearestMonotoneGrid } from '@pctodl/numerics'
import { CORRECTION_NODES, correctionGrid } from '../correction-grid.js'

const SHARES = correctionGrid.mpsPercent.length
const PER_SHARE = CORRECTION_NODES / SHARES

/**
 * Replace grids by the nearest ones that do not decrease along the share or from one memory clock to the next.
 *
 * @param grids one grid per memory clock, clocks descending, as the model lists them
 */
export function makeMonotone(grids: readonly number[][]): void {
  const ascending = [...grids].reverse()
  for (let i = 0; i < PER_SHARE; i++) {
    const values = ascending.flatMap((grid) => grid.filter((_, node) => node % PER_SHARE === i))
    nearestMonotoneGrid(Float64Array.from(values), ascending.length, SHARES).forEach((value, at) => {
      ascending[Math.floor(at / SHARES)]![(at % SHARES) * PER_SHARE + i] = value
    })
  }
}
