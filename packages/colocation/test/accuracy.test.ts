import { describe, expect, it } from 'vitest'
import { type Colocation, contains, throughputSum } from '../src/colocation.js'
import { accuracy } from '../src/evaluate/accuracy.js'
import { evaluateMethod, targetGains } from '../src/evaluate/evaluate-method.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

describe('how far predictions are off', () => {
  it('is of their squares, of what they miss and of their order', () => {
    expect(accuracy([10, 20, 40], [11, 18, 40])).toEqual({
      // Of the variance: the squares of 13.3, 3.3 and 16.7, halved.
      mse: expect.closeTo(5 / 3 / (1400 / 6), 12),
      maePerS: 1,
      mapePercent: expect.closeTo(100 / 15, 12),
      spearman: 1,
    })
    expect(accuracy([1, 2, 3], [3, 2, 1]).spearman).toBeCloseTo(-1, 12)
    // Ranks 0.5 and 0.5 of the two that are equal.
    expect(accuracy([1, 2, 3], [5, 5, 6]).spearman).toBeCloseTo(1.5 / Math.sqrt(2 * 1.5), 12)
    expect(accuracy([1, 2, 3, 4], [7, 5, 5, 5]).spearman).toBeCloseTo(-3 / Math.sqrt(5 * 3), 12)
  })

  it('is not to be said of less than two, or of lists that differ', () => {
    expect(() => accuracy([1], [1])).toThrow('at least 2')
    expect(() => accuracy([1, 2], [1])).toThrow('at least 2')
    expect(accuracy([1, 2], [1, 2])).toMatchObject({ mse: 0, spearman: 1 })
  })
})

describe('how a method does', () => {
  const pairs = allPairs(syntheticWorkloads(4)).map(lawfulColocation)
  const split = { name: 'all', train: pairs, test: pairs }
  const scores = (sign: number) => (of: readonly Colocation[]) => of.map((one) => sign * throughputSum(one))

  it('is measured against the best choice, over splits', async () => {
    const best = { name: 'best', prepare: () => ({ scoresOf: scores(1) }) }
    expect(await evaluateMethod(best, [split, split])).toEqual({
      method: 'best',
      accuracy: null,
      gain: 1,
      gainDeviation: 0,
      regretPerS: 0,
      memberCoverage: null,
      memberWidthPercent: null,
    })
    const worst = { name: 'worst', prepare: () => ({ scoresOf: scores(-1) }) }
    const found = await evaluateMethod(worst, [split])
    expect(found.gain).toBeLessThan(1)
    expect(found.regretPerS).toBeGreaterThan(0)
    expect(found).toMatchObject({ gainDeviation: 0 })
  })

  it('ends between two splits when it is told to', async () => {
    const best = { name: 'best', prepare: () => ({ scoresOf: scores(1) }) }
    const signal = AbortSignal.abort(new Error('interrupted'))
    await expect(evaluateMethod(best, [split], signal)).rejects.toThrow('interrupted')
  })

  it('tells how many throughputs lie in their intervals, and how wide these are by ratio', async () => {
    const method = {
      name: 'intervals',
      prepare: () => ({
        scoresOf: scores(1),
        sumsOf: (of: readonly Colocation[]) => of.map(throughputSum),
        // The first member's holds, at its ends; the second's does not.
        intervalsOf: ({ throughputs }: Colocation) =>
          throughputs.map((measured, i) =>
            i === 0 ? { low: measured, high: measured } : { low: measured / 8, high: measured / 2 },
          ),
      }),
    }
    expect(await evaluateMethod(method as never, [split])).toMatchObject({
      memberCoverage: 0.5,
      memberWidthPercent: expect.closeTo(75, 9),
      accuracy: { mse: 0, maePerS: 0 },
    })
  })
})

describe('the gain of a target', () => {
  const workloads = syntheticWorkloads(14)
  const pairs = allPairs(workloads).map(lawfulColocation)

  it('is 1 for the oracle, less for the opposite, and leaves out who has no choice', () => {
    const some = pairs.filter(({ members }) => members[0] !== workloads[13] && members[1] !== workloads[13])
    const withLone = [...some, pairs.at(-1)!]
    const oracle = targetGains(withLone, (candidates) => candidates.map(throughputSum))
    expect(oracle).toHaveLength(13)
    for (const { gain, regretPerS } of oracle) expect([gain, regretPerS]).toEqual([1, 0])
    for (const { gain, regretPerS } of targetGains(some, (candidates) => candidates.map((c) => -throughputSum(c)))) {
      expect(gain).toBeLessThan(1)
      expect(regretPerS).toBeGreaterThan(0)
    }
    expect(contains(pairs.at(-1)!.members, workloads[13]!.name)).toBe(true)
  })
})
