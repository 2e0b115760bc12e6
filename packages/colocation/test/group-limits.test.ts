import { describe, expect, it } from 'vitest'
import { Acquaintance } from '../src/model/novelty.js'

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
