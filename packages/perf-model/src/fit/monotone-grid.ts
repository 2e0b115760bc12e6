import { CORRECTION_NODES, correctionGrid } from '../corrections.js'

const SHARES = correctionGrid.mpsPercent.length
const PER_SHARE = CORRECTION_NODES / SHARES
const ROUNDS = 20

/**
 * Make grids rise along the share, and from one memory clock to the next, with as little change as will do: averages of
 * what is in the wrong order (pool adjacent violators), in turn along both, and at last running maxima, which leave
 * nothing in the wrong order.
 *
 * @param grids by memory clock, descending, as the model lists them
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
  const blocks: { mean: number; count: number }[] = []
  for (const value of values) {
    blocks.push({ mean: value, count: 1 })
    while (blocks.length > 1 && blocks.at(-2)!.mean > blocks.at(-1)!.mean) {
      const { mean, count } = blocks.pop()!
      const before = blocks.at(-1)!
      before.mean = (before.mean * before.count + mean * count) / (before.count + count)
      before.count += count
    }
  }
  return blocks.flatMap(({ mean, count }) => Array<number>(count).fill(mean))
}

function runningMaximum(values: readonly number[]): number[] {
  let highest = Number.NEGATIVE_INFINITY
  return values.map((value) => {
    highest = Math.max(highest, value)
    return highest
  })
}
