import { type Composition, sumOf, tenantsPerNetwork } from './composition.js'
import type { SearchProblem } from './search-problem.js'

/** A small change of a configuration: tenants removed, tenants added, new memory state. */
export interface Move {
  readonly name: 'batch' | 'resize' | 'shift' | 'split' | 'merge' | 'add' | 'drop' | 'swap network' | 'memory'
  readonly removed: readonly number[]
  readonly added: readonly number[]
  readonly memIndex: number
}

/** Share changes to try, in units: fine steps nearby, coarse steps further away. */
const strides = [1, 2, 4, 8]

/**
 * All moves from a configuration. Identical tenants produce one set of moves. Every move keeps the shares within the
 * board, the number of tenants within its limit, and at least one tenant per network. The evaluation checks power,
 * memory and latency.
 *
 * @param grain skip moves that add shares which are not multiples of this many units
 */
export function movesFrom(problem: SearchProblem, composition: Composition, memIndex: number, grain = 1): Move[] {
  const { kinds, totalUnits, maxTenants } = problem
  const free = totalUnits - sumOf(kinds.units, composition)
  const perNetwork = tenantsPerNetwork(kinds, composition)
  const distinct = [...new Set(composition)]
  const mayAdd = composition.length < maxTenants
  const moves: Move[] = []
  const push = (name: Move['name'], removed: readonly number[], added: readonly number[]) => {
    if (added.some((kind) => kinds.units[kind]! % grain !== 0)) return
    moves.push({ name, removed, added, memIndex })
  }

  for (let m = 0; m < problem.memClocksMhz.length; m++) {
    if (m !== memIndex) moves.push({ name: 'memory', removed: [], added: [], memIndex: m })
  }
  for (const kind of distinct) {
    const network = kinds.network[kind]!
    const units = kinds.units[kind]!
    const twins = composition.filter((other) => other === kind)
    if (perNetwork[network]! > 1) push('drop', [kind], [])

    for (const other of kinds.at(network, units)) {
      if (other === kind) continue
      push('batch', [kind], [other])
      if (twins.length > 1)
        push(
          'batch',
          twins,
          twins.map(() => other),
        )
    }
    for (const size of sizesAround(units, units + free)) {
      for (const other of kinds.at(network, size)) push('resize', [kind], [other])
    }
    if (twins.length > 1) {
      for (const size of sizesAround(units, units + Math.floor(free / twins.length))) {
        for (const other of kinds.at(network, size))
          push(
            'resize',
            twins,
            twins.map(() => other),
          )
      }
    }
    if (mayAdd && units >= 2) {
      const large = Math.ceil(units / 2)
      for (const first of kinds.at(network, large)) {
        const second = nearestBatch(problem, network, units - large, kinds.tenants[first]!.batchSize)
        push('split', [kind], [first, second])
      }
    }
    for (let other = 0; other < kinds.networks.length; other++) {
      if (other === network || perNetwork[network] === 1) continue
      for (const swapped of kinds.at(other, units)) push('swap network', [kind], [swapped])
    }
  }
  for (const giver of distinct) {
    for (const taker of distinct) {
      if (giver === taker && composition.indexOf(giver) === composition.lastIndexOf(giver)) continue
      pairMoves(problem, giver, taker, perNetwork, push)
    }
  }
  if (mayAdd) {
    for (let network = 0; network < kinds.networks.length; network++) {
      for (const size of sizesAround(0, free)) {
        for (const kind of kinds.at(network, size)) push('add', [], [kind])
      }
    }
  }
  return moves
}

/** Moves of two tenants: the first gives share to the second, or the two merge into one. */
function pairMoves(
  problem: SearchProblem,
  giver: number,
  taker: number,
  perNetwork: readonly number[],
  push: (name: Move['name'], removed: readonly number[], added: readonly number[]) => void,
): void {
  const { kinds } = problem
  const from = kinds.network[giver]!
  const to = kinds.network[taker]!
  const giverBatch = kinds.tenants[giver]!.batchSize
  const takerBatch = kinds.tenants[taker]!.batchSize
  for (const stride of strides) {
    const less = kinds.units[giver]! - stride
    const more = kinds.units[taker]! + stride
    if (less < 1 || more > kinds.maxUnits) break
    const smaller = nearestBatch(problem, from, less, giverBatch)
    const larger = nearestBatch(problem, to, more, takerBatch)
    for (const a of [smaller, nextBatch(problem, smaller, -1)]) {
      for (const b of [larger, nextBatch(problem, larger, 1)]) {
        // If the shares differ by one stride, the two tenants may just have swapped places.
        if (a === taker && b === giver) continue
        if (a !== undefined && b !== undefined) push('shift', [giver, taker], [a, b])
      }
    }
  }
  // The reverse order of the pair gives the same merger, unless the networks differ.
  const mayMerge = from === to ? giver <= taker : perNetwork[from]! > 1
  if (!mayMerge) return
  for (const merged of kinds.at(to, kinds.units[giver]! + kinds.units[taker]!)) push('merge', [giver, taker], [merged])
}

/**
 * Returns the sizes to try instead of `units`: smaller and larger by each stride, and the maximum `most`. Sizes below 1
 * do no harm, because no kind has them.
 */
function sizesAround(units: number, most: number): Set<number> {
  const sizes = new Set<number>()
  for (const stride of strides) {
    sizes.add(units - stride)
    if (units + stride <= most) sizes.add(units + stride)
  }
  if (most > units) sizes.add(most)
  return sizes
}

/** The kind of this share with the largest batch size up to `batchSize`; if there is none, the smallest batch size. */
function nearestBatch(problem: SearchProblem, network: number, units: number, batchSize: number): number {
  const group = problem.kinds.at(network, units)
  let nearest = group[0]!
  for (const kind of group) if (problem.kinds.tenants[kind]!.batchSize <= batchSize) nearest = kind
  return nearest
}

/**
 * The kind with the next smaller (-1) or larger (1) batch size, if there is one. The batch size varies fastest in the
 * numbering of kinds.
 */
function nextBatch({ kinds }: SearchProblem, kind: number, step: -1 | 1): number | undefined {
  const next = kind + step
  const same = kinds.network[next] === kinds.network[kind] && kinds.units[next] === kinds.units[kind]
  return same ? next : undefined
}
