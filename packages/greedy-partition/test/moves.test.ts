import { gpuSpecs } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changed, compositionKey, isComplete, sumOf } from '../src/composition.js'
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
    if (next.length <= problem.maxTenants && sumOf(kinds.units, next) <= problem.totalUnits) result = next
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
          const fits = sumOf(kinds.units, to) <= problem.totalUnits && to.length <= problem.maxTenants
          const other = compositionKey(to, move.memIndex) !== compositionKey(from, memIndex)
          return !(ascending && to.length === size && fits && other && isComplete(kinds, to))
        })
        expect(broken).toEqual([])
        expect(from).toEqual(before)
      }),
      { numRuns: 40 },
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

  describe('of tenants in steps of 5 %', () => {
    const fine = searchProblem(new SyntheticPredictor(gpuSpecs['3080Ti']!), {
      models: [{ model: 'light' }, { model: 'heavy' }],
      powerCapW: 200,
      batchSizes: [8, 16, 32],
      maxTenants: 4,
      maxSharePercent: 80,
    })
    const HEAVY = 0
    const LIGHT = 1
    const kindOf = (network: number, units: number, batchSize: number) =>
      fine.kinds.at(network, units).find((kind) => fine.kinds.tenants[kind]!.batchSize === batchSize)!
    const said = (list: readonly number[]) =>
      list
        .map(
          (kind) =>
            `${fine.kinds.network[kind] === HEAVY ? 'h' : 'l'}${fine.kinds.units[kind]}:${fine.kinds.tenants[kind]!.batchSize}`,
        )
        .join(' ')
    /** Moves of a name, `out > in` each, between tenants of a network, so many units and a batch. */
    const moved = (name: string, tenants: readonly (readonly [number, number, number])[], grain = 1, of = fine) =>
      movesFrom(
        of,
        changed(
          [],
          [],
          tenants.map((tenant) => kindOf(...tenant)),
        ),
        1,
        grain,
      )
        .filter((move) => move.name === name)
        .map(({ removed, added }) => `${said(removed)} > ${said(added)}`)
    const units = (moves: readonly string[]) =>
      [...new Set(moves.map((move) => Number(/> [hl](\d+)/.exec(move)![1])))].sort((a, b) => a - b)
    const ofFirst = (moves: readonly string[], from: string) => moves.filter((move) => move.startsWith(`${from} >`))

    it('resize by 1, 2, 4 and 8 steps and to all that is free, at every batch', () => {
      const sizes = ofFirst(
        moved('resize', [
          [HEAVY, 1, 8],
          [LIGHT, 5, 16],
        ]),
        'l5:16',
      )
      expect(units(sizes)).toEqual([1, 3, 4, 6, 7, 9, 13])
      expect(sizes).toHaveLength(3 * 7)
      const small = ofFirst(
        moved('resize', [
          [HEAVY, 1, 8],
          [LIGHT, 1, 16],
        ]),
        'l1:16',
      )
      expect(units(small)).toEqual([2, 3, 5, 9])
      const full = ofFirst(
        moved('resize', [
          [HEAVY, 9, 8],
          [LIGHT, 11, 16],
        ]),
        'l11:16',
      )
      expect(units(full)).toEqual([3, 7, 9, 10])
      const one = ofFirst(
        moved('resize', [
          [HEAVY, 8, 8],
          [LIGHT, 11, 16],
        ]),
        'l11:16',
      )
      expect(units(one)).toEqual([3, 7, 9, 10, 12])
    })

    it('resize twins together, each by its part of what is free', () => {
      const tenants = [
        [HEAVY, 5, 8],
        [LIGHT, 4, 16],
        [LIGHT, 4, 16],
      ] as const
      const both = ofFirst(moved('resize', tenants), 'l4:16 l4:16')
      expect(units(both)).toEqual([2, 3, 5, 6, 7])
      expect(both).toContain('l4:16 l4:16 > l7:32 l7:32')
      expect(ofFirst(moved('batch', tenants), 'l4:16 l4:16')).toEqual([
        'l4:16 l4:16 > l4:8 l4:8',
        'l4:16 l4:16 > l4:32 l4:32',
      ])
      expect(ofFirst(moved('batch', tenants), 'l4:16')).toEqual(['l4:16 > l4:8', 'l4:16 > l4:32'])
      expect(ofFirst(moved('batch', tenants), 'h5:8')).toEqual(['h5:8 > h5:16', 'h5:8 > h5:32'])
    })

    it('split a tenant in halves, the larger first, where there may be one more', () => {
      const tenants = [
        [HEAVY, 1, 8],
        [LIGHT, 7, 16],
      ] as const
      expect(moved('split', tenants)).toEqual(['l7:16 > l4:8 l3:8', 'l7:16 > l4:16 l3:16', 'l7:16 > l4:32 l3:32'])
      expect(
        moved('split', [
          [HEAVY, 1, 8],
          [LIGHT, 2, 16],
        ]),
      ).toHaveLength(3)
      const four = [
        [HEAVY, 1, 8],
        [LIGHT, 1, 8],
        [LIGHT, 2, 8],
        [LIGHT, 4, 8],
      ] as const
      expect([moved('split', four), moved('add', four)]).toEqual([[], []])
      expect(moved('split', four.slice(0, 3))).not.toEqual([])
    })

    it('merge two tenants once, of two networks into either that keeps one', () => {
      const tenants = [
        [HEAVY, 3, 8],
        [LIGHT, 2, 8],
        [LIGHT, 4, 16],
      ] as const
      expect(moved('merge', tenants)).toEqual([
        ...['8', '16', '32'].map((batch) => `l2:8 h3:8 > h5:${batch}`),
        ...['8', '16', '32'].map((batch) => `l2:8 l4:16 > l6:${batch}`),
        ...['8', '16', '32'].map((batch) => `l4:16 h3:8 > h7:${batch}`),
      ])
      expect(
        moved('merge', [
          [HEAVY, 3, 8],
          [LIGHT, 2, 8],
          [LIGHT, 2, 8],
        ]),
      ).toContain('l2:8 l2:8 > l4:16')
      // No tenant has more than 80 %.
      expect(
        moved('merge', [
          [HEAVY, 1, 8],
          [LIGHT, 9, 8],
          [LIGHT, 8, 8],
        ]),
      ).not.toContain('l8:8 l9:8 > l17:8')
    })

    it('drop, and give to the other network, only what another of its network is left for', () => {
      const tenants = [
        [HEAVY, 3, 8],
        [LIGHT, 2, 8],
        [LIGHT, 4, 16],
      ] as const
      expect(moved('drop', tenants)).toEqual(['l2:8 > ', 'l4:16 > '])
      expect(moved('swap network', tenants)).toEqual([
        ...['8', '16', '32'].map((batch) => `l2:8 > h2:${batch}`),
        ...['8', '16', '32'].map((batch) => `l4:16 > h4:${batch}`),
      ])
    })

    it('add a tenant of 1, 2, 4 or 8 steps or of all that is free, of either network', () => {
      const added = moved('add', [
        [HEAVY, 3, 8],
        [LIGHT, 7, 16],
      ])
      expect(units(added)).toEqual([1, 2, 4, 8, 10])
      expect(added).toHaveLength(2 * 3 * 5)
      expect(
        moved('add', [
          [HEAVY, 10, 8],
          [LIGHT, 10, 16],
        ]),
      ).toEqual([])
    })

    it('shift steps from one tenant to another, with batches as they are or next to it', () => {
      const shifts = moved('shift', [
        [HEAVY, 3, 16],
        [LIGHT, 13, 16],
      ])
      expect(shifts.filter((move) => move.startsWith('h3:16 l13:16 > h2'))).toEqual([
        'h3:16 l13:16 > h2:16 l14:16',
        'h3:16 l13:16 > h2:16 l14:32',
        'h3:16 l13:16 > h2:8 l14:16',
        'h3:16 l13:16 > h2:8 l14:32',
      ])
      // Shares do not fall to zero, and do not exceed 80 %.
      const steps = shifts.map((move) => /> [hl](\d+):\d+ [hl](\d+)/.exec(move)!.slice(1).join(' '))
      expect([...new Set(steps)]).toEqual(['2 14', '1 15', '12 4', '11 5', '9 7', '5 11'])
      expect(
        moved('shift', [
          [HEAVY, 3, 16],
          [LIGHT, 15, 16],
        ]),
      ).toContain('h3:16 l15:16 > h2:16 l16:16')
      // The batches next to it are those of the share.
      const ends = moved('shift', [
        [HEAVY, 3, 8],
        [LIGHT, 13, 32],
      ])
      expect(ends.filter((move) => move.startsWith('h3:8 l13:32 > h2'))).toEqual(['h3:8 l13:32 > h2:8 l14:32'])
      const twins = moved('shift', [
        [HEAVY, 3, 8],
        [LIGHT, 3, 8],
        [LIGHT, 3, 8],
      ])
      expect(twins).toContain('l3:8 l3:8 > l2:8 l4:8')
      // A pair that only swaps places is not a move.
      const near = moved('shift', [
        [LIGHT, 3, 8],
        [LIGHT, 2, 8],
        [HEAVY, 1, 8],
      ])
      expect(near).not.toContain('l3:8 l2:8 > l2:8 l3:8')
      expect(near).toContain('l3:8 l2:8 > l2:8 l3:16')
      expect(near).toContain('l2:8 l3:8 > l1:8 l4:8')
    })

    it('bring in only multiples of a grain, and change the memory state at any', () => {
      const tenants = [
        [HEAVY, 4, 16],
        [LIGHT, 6, 16],
      ] as const
      expect(units(moved('resize', tenants, 2))).toEqual([2, 4, 6, 8, 10, 12, 14, 16])
      expect(units(moved('add', tenants, 2))).toEqual([2, 4, 8, 10])
      expect(moved('split', tenants, 2)).toEqual(['h4:16 > h2:8 h2:8', 'h4:16 > h2:16 h2:16', 'h4:16 > h2:32 h2:32'])
      expect(
        moved(
          'split',
          [
            [HEAVY, 1, 8],
            [LIGHT, 5, 8],
          ],
          2,
        ),
      ).toEqual([])
      const from = changed([], [], [kindOf(HEAVY, 4, 16), kindOf(LIGHT, 6, 16)])
      expect(movesFrom(fine, from, 1, 2)[0]).toEqual({ name: 'memory', removed: [], added: [], memIndex: 0 })
      expect(movesFrom(fine, from, 1).every(({ name, memIndex }) => memIndex === (name === 'memory' ? 0 : 1))).toBe(
        true,
      )
    })
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
    )
  })
})
