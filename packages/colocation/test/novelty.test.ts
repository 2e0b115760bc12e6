import { expect, it } from 'vitest'
import { widthOf } from '../src/model/calibration.js'
import { Acquaintance } from '../src/model/novelty.js'

const known = new Acquaintance([
  ['a_batch2-inf', 'b_batch2-inf'],
  ['a_batch16-inf', 'b_batch2-inf'],
  ['a_batch2-inf', 'a_batch2-inf', 'b_batch2-inf'],
])

it('a batch size is new, or between two that are known in groups as large', () => {
  const beside = (name: string, ...others: string[]) => known.noveltyOf([name, 'b_batch2-inf', ...others])
  expect(beside('a_batch8-inf')).toBe('batch size between')
  expect(beside('a_batch32-inf')).toBe('new batch size')
  expect(beside('a_batch1-inf')).toBe('new batch size')
  // Of threes only the smallest batch is known.
  expect(beside('a_batch8-inf', 'b_batch2-inf')).toBe('new batch size')
  expect(beside('a_batch8-train')).toBe('new network')
  expect(beside('a_batch8-inf', 'c_batch8-inf')).toBe('new network')
  expect(beside('a_batch2-inf')).toBe('known pairs')
  expect(beside('b_batch2-inf')).toBe('new pairs')
})

it('an interval is as wide as comparable misses: of an unseen workload by what is known of it, of the others by the number of members', () => {
  const misses = (novelty: 'batch size between' | 'new batch size', size: number, miss: number) => ({
    ...{ novelty, size },
    ...{ members: Array(30).fill(miss), unseen: Array(30).fill(miss), sums: Array(30).fill(miss) },
  })
  const all = [misses('batch size between', 2, 1), misses('new batch size', 4, 3)]
  const width = (what: 'members' | 'unseen' | 'sums', size: number) =>
    widthOf(all, what, 'batch size between', size, 0.9)
  expect([width('unseen', 2), width('unseen', 4), width('unseen', 3)]).toEqual([1, 1, 1])
  expect([width('members', 2), width('members', 4), width('sums', 4)]).toEqual([1, 3, 3])
  expect(widthOf(all, 'unseen', 'new network', 4, 0.9)).toBeNull()
  expect(widthOf([], 'sums', 'known pairs', 2, 0.9)).toBeNull()
})
