import { gpuSpecs } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changed, compositionKey, isComplete, unitsOf } from '../src/composition.js'
import { movesFrom } from '../src/moves.js'
import { searchProblem } from '../src/search-problem.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const problem = searchProblem(new SyntheticPredictor(gpuSpecs['3080Ti']!), {
  models: [{ model: 'light' }, { model: 'heavy' }],
  powerCapW: 200,
  sharePercentStep: 10,
  maxTenants: 5,
})
const { kinds } = problem

/** Random tenants, at least one per network, that fit on the board. */
const composition = fc.array(fc.nat(kinds.tenants.length - 1), { minLength: 1, maxLength: 5 }).map((drawn) => {
  let result = changed([], [], [kinds.at(0, 1)[0]!, kinds.at(1, 1)[0]!])
  for (const kind of drawn) {
    const next = changed(result, [], [kind])
    if (next.length <= problem.maxTenants && unitsOf(kinds, next) <= problem.totalUnits) result = next
  }
  return result
})

describe('moves', () => {
  it('lead to other compositions that the board can hold', () => {
    fc.assert(
      fc.property(composition, fc.nat(1), (from, memIndex) => {
        const before = [...from]
        const broken = movesFrom(problem, from, memIndex).filter((move) => {
          const to = changed(from, move.removed, move.added)
          const ascending = to.every((kind, i) => i === 0 || to[i - 1]! <= kind)
          const size = from.length - move.removed.length + move.added.length
          const fits = unitsOf(kinds, to) <= problem.totalUnits && to.length <= problem.maxTenants
          const other = compositionKey(to, move.memIndex) !== compositionKey(from, memIndex)
          return !(ascending && to.length === size && fits && other && isComplete(kinds, to))
        })
        expect(broken).toEqual([])
        expect(from).toEqual(before)
      }),
      { numRuns: 40, seed: 1 },
    )
  })

  it('reach both memory states, and every kind of move exists', () => {
    const from = changed([], [], [kinds.at(0, 2)[1]!, kinds.at(0, 2)[1]!, kinds.at(1, 2)[1]!, kinds.at(1, 2)[1]!])
    const names = new Set(movesFrom(problem, from, 0).map((move) => move.name))
    expect([...names].sort()).toEqual(
      ['add', 'batch', 'drop', 'memory', 'merge', 'resize', 'shift', 'split', 'swap network'].sort(),
    )
  })

  it('shift share without another batch where both shares have it', () => {
    const of = (network: number, units: number) =>
      kinds.at(network, units).find((kind) => kinds.tenants[kind]!.batchSize === 16)!
    const shifts = movesFrom(problem, changed([], [], [of(0, 3), of(1, 2)]), 0).filter(({ name }) => name === 'shift')
    expect(shifts).toContainEqual(
      expect.objectContaining({ removed: [of(0, 3), of(1, 2)], added: [of(0, 2), of(1, 3)] }),
    )
  })

  it('take the smallest batch of a larger share where the batch at hand is too small for it', () => {
    const bounded = searchProblem(new SyntheticPredictor(gpuSpecs['3080Ti']!), {
      models: [{ model: 'light' }, { model: 'heavy' }],
      powerCapW: 200,
      sharePercentStep: 10,
      minBatchPerPercent: 1,
    })
    const { at, tenants } = bounded.kinds
    const [giver, taker, larger] = [at(0, 3)[0]!, at(1, 1)[0]!, at(1, 2)[0]!]
    expect(tenants[taker]!.batchSize).toBeLessThan(tenants[larger]!.batchSize)
    const shifts = movesFrom(bounded, changed([], [], [giver, taker]), 0).filter(({ name }) => name === 'shift')
    expect(shifts.some(({ removed, added }) => removed[1] === taker && added[1] === larger)).toBe(true)
  })

  it('are no more for many identical tenants than for two', () => {
    const kind = kinds.at(0, 1)[2]!
    const other = kinds.at(1, 1)[0]!
    const count = (n: number) =>
      movesFrom(problem, changed([], [], [...new Array<number>(n).fill(kind), other]), 0).filter(
        (move) => move.name === 'batch' || move.name === 'merge' || move.name === 'split',
      ).length
    expect(count(4)).toBeGreaterThan(0)
    expect(count(3)).toBe(count(2))
  })
})

describe('composition', () => {
  it('does not depend on the order in which tenants come', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { minLength: 1 }), (drawn) => {
        expect(compositionKey(changed([], [], drawn), 0)).toBe(compositionKey(changed([], [], drawn.toReversed()), 0))
      }),
      { seed: 1 },
    )
  })
})
