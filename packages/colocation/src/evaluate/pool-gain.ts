import { SeededRandom, shuffled } from '@pctodl/numerics'
import { type Colocation, membersKey, throughputSum } from '../colocation.js'
import type { Workload } from '../workload.js'

/** Jobs of a pool, and how many of them are tried before giving up on drawing one. */
const POOL_SIZE = 8
const TRIES = 100_000

/** Of the 28 pairs of a pool at least so many have to be measured. */
const LEAST_MEASURED = 24

/** A pool of jobs whose pairs are mostly measured. */
export interface MeasuredPool {
  /** Measured pairs of the pool, by the places of their members in it, smaller place first. */
  readonly pairs: readonly { readonly places: readonly [number, number]; readonly colocation: Colocation }[]
}

/**
 * Draw pools of eight different workloads.
 *
 * @param pairs all measured pairs
 */
export function drawPools(pairs: readonly Colocation[], count: number, seed: number): MeasuredPool[] {
  const byKey = new Map(pairs.map((pair) => [membersKey(pair.members), pair]))
  const workloads = [...new Set(pairs.flatMap(({ members }) => members))]
  const random = new SeededRandom(seed)
  const pools: MeasuredPool[] = []
  for (let tries = 0; pools.length < count && tries < TRIES; tries++) {
    const pool = measuredPairs(shuffled(workloads, random).slice(0, POOL_SIZE), byKey)
    if (pool.pairs.length >= LEAST_MEASURED && bestPairing(pool, throughputSum)) pools.push(pool)
  }
  return pools
}

function measuredPairs(jobs: readonly Workload[], byKey: ReadonlyMap<string, Colocation>): MeasuredPool {
  const pairs = jobs.flatMap((first, i) =>
    jobs.slice(i + 1).flatMap((second, rank) => {
      const colocation = byKey.get(membersKey([first, second]))
      return colocation ? [{ places: [i, i + 1 + rank] as [number, number], colocation }] : []
    }),
  )
  return { pairs }
}

/** Measured sum of the pairing that a score chooses, over the best: 1 is the oracle's. */
export function poolGain(pool: MeasuredPool, scores: ReadonlyMap<Colocation, number>): number {
  const chosen = bestPairing(pool, (pair) => scores.get(pair)!)!
  const best = bestPairing(pool, throughputSum)!
  const measured = (pairs: readonly Colocation[]) => pairs.reduce((sum, pair) => sum + throughputSum(pair), 0)
  return measured(chosen) / measured(best)
}

/**
 * The perfect matching of measured pairs with the largest sum of values, by dynamic programming over the sets of jobs that are
 * left; null where the measured pairs hold none.
 */
function bestPairing({ pairs }: MeasuredPool, valueOfPair: (pair: Colocation) => number): Colocation[] | null {
  const all = 2 ** POOL_SIZE - 1
  const value = new Float64Array(all + 1).fill(-Infinity)
  const last = new Int32Array(all + 1)
  value[0] = 0
  const values = pairs.map(({ colocation }) => valueOfPair(colocation))
  for (let placed = 0; placed < all; placed++) {
    const lowest = Math.log2(~placed & -~placed)
    pairs.forEach(({ places: [first, second] }, i) => {
      if (first !== lowest || placed & (1 << second)) return
      const grown = placed | (1 << first) | (1 << second)
      if (value[placed]! + values[i]! <= value[grown]!) return
      value[grown] = value[placed]! + values[i]!
      last[grown] = i
    })
  }
  if (value[all] === -Infinity) return null
  const chosen: Colocation[] = []
  for (let placed = all; placed > 0; ) {
    const { places, colocation } = pairs[last[placed]!]!
    chosen.push(colocation)
    placed &= ~((1 << places[0]) | (1 << places[1]))
  }
  return chosen
}
