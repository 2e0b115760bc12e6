import { describe, expect, it } from 'vitest'
import { Acquaintance } from '../src/model/novelty.js'
import { GroupJudge } from '../src/select/group-judge.js'
import { upperBound } from '../src/select/upper-bound.js'
import { syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(3).map((workload, i) => ({
  ...workload,
  name: `n${i}_batch8-inf`,
  memoryGib: 2 ** i,
  batchSize: 8,
  exclusiveThroughput: 100 * (i + 1),
}))

describe('the value that no grouping exceeds', () => {
  it('is reached where every GPU has to be shared, however dear that is', () => {
    for (const kept of [0.1, 0.6, 0.9]) {
      const dear = {
        workloads,
        keptShares: (members: readonly number[]) => members.map(() => (members.length > 1 ? kept : 1)),
      }
      const judge = new GroupJudge(dear, 'speedup', {})
      expect(upperBound(judge, [0, 0, 1, 2], 2, 2)).toBeCloseTo(4 * kept, 6)
      expect(upperBound(judge, [0, 0, 1, 2], 2, 4)).toBeCloseTo(4, 6)
    }
  })
})

describe('how much of a group was seen before', () => {
  const seen = new Acquaintance([
    ['a_batch1-inf', 'b_batch1-inf'],
    ['b_batch1-inf', 'a_batch1-inf'],
    ['c_batch1-inf', 'c_batch1-inf', 'a_batch1-inf'],
  ])

  it('hangs on its workloads, on who met whom and how often', () => {
    expect(seen.noveltyOf(['b_batch1-inf', 'a_batch1-inf'])).toBe('known pairs')
    expect(seen.noveltyOf(['a_batch1-inf', 'b_batch1-inf'], 2)).toBe('known pairs')
    expect(seen.noveltyOf(['a_batch1-inf', 'b_batch1-inf'], 3)).toBe('new pairs')
    expect(seen.noveltyOf(['c_batch1-inf', 'c_batch1-inf'])).toBe('known pairs')
    // Once in a group, however many of them there are.
    expect(seen.noveltyOf(['c_batch1-inf', 'a_batch1-inf'], 2)).toBe('new pairs')
    expect(seen.noveltyOf(['c_batch1-inf', 'b_batch1-inf'])).toBe('new pairs')
    expect(seen.noveltyOf(['a_batch1-inf', 'b_batch1-inf', 'c_batch1-inf'])).toBe('new pairs')
    expect(seen.noveltyOf(['a_batch2-inf', 'b_batch1-inf'])).toBe('new batch size')
    expect(seen.noveltyOf(['a_batch1-train', 'b_batch1-inf'])).toBe('new network')
    expect(seen.noveltyOf(['d_batch1-inf', 'a_batch2-inf'])).toBe('new network')
    expect([seen.knows('a_batch1-inf'), seen.knows('a_batch2-inf')]).toEqual([true, false])
    expect([1, 2, 3, 4].map((size) => seen.hasSize(size))).toEqual([false, true, true, false])
  })
})
