import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { balanced } from '../src/serving/stationary.js'

/** Shares of a chain given by its rows of weights. */
function sharesOf(rows: readonly (readonly number[])[]) {
  const count = rows.length
  const moves = rows.map((row) => {
    const total = row.reduce((sum, weight) => sum + weight, 0)
    return row.map((weight) => weight / total)
  })
  const shares = new Float64Array(count)
  balanced(Float64Array.from(moves.flat()), count, shares)
  return { shares: [...shares], moves }
}

describe('the shares of a chain of states', () => {
  it('are what a step leaves as they are', () => {
    const weights = fc.integer({ min: 1, max: 6 }).chain((count) => {
      const weight = fc.oneof(fc.constant(0), fc.double({ min: 1e-3, max: 1, noNaN: true }))
      // A transition to the next state in a ring, so that every state is reached.
      const row = (i: number) =>
        fc
          .array(weight, { minLength: count, maxLength: count })
          .map((list) => list.with((i + 1) % count, Math.max(0.05, list[(i + 1) % count]!)))
      return fc.tuple(...Array.from({ length: count }, (_, i) => row(i)))
    })
    fc.assert(
      fc.property(weights, (rows) => {
        const { shares, moves } = sharesOf(rows)
        expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12)
        for (const share of shares) expect(share).toBeGreaterThan(0)
        shares.forEach((share, to) => {
          const after = shares.reduce((sum, from, i) => sum + from * moves[i]![to]!, 0)
          expect(after).toBeCloseTo(share, 10)
        })
      }),
    )
  })

  it('are those of a chain that can be told by hand', () => {
    // The second state returns one time in three.
    expect(
      sharesOf([
        [0, 1],
        [1, 2],
      ]).shares,
    ).toEqual([0.25, 0.75])
    expect(
      sharesOf([
        [1, 1, 0],
        [0, 1, 1],
        [1, 0, 1],
      ]).shares.map((share) => share.toFixed(12)),
    ).toEqual(Array(3).fill((1 / 3).toFixed(12)))
  })

  it('are nearly all in a state that is never left', () => {
    const { shares } = sharesOf([
      [0, 1],
      [0, 1],
    ])
    expect(shares[1]).toBeCloseTo(1, 9)
    expect(shares[0]).toBeLessThan(1e-9)
  })
})
