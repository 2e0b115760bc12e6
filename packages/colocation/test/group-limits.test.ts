import { describe, expect, it } from 'vitest'
import { additivePower, type GroupLimits } from '../src/index.js'
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
const [first] = workloads
const source = { workloads, keptShares: (members: readonly number[]) => members.map(() => 1 / members.length) }
const judged = (limits: GroupLimits, members = [0, 1]) => new GroupJudge(source, 'speedup', limits).judge(members)
const power = (capW: number) => ({ power: { capW, of: additivePower(20, { [first!.name]: 60, 'n1_batch8-inf': 10 }) } })

describe('the limits of a group', () => {
  it('may be reached', () => {
    const reached = { memoryGib: 3, minKeptShare: 0.5, batchTimesMs: { [first!.name]: 160 }, ...power(40) }
    expect(judged(reached)).toEqual({ keptShares: [0.5, 0.5], value: 1 })
    expect(new GroupJudge(source, 'throughput', {}).judge([0, 1])!.value).toBe(150)
  })

  it.each<[string, GroupLimits]>([
    ['memory', { memoryGib: 2.9 }],
    ['kept share', { minKeptShare: 0.51 }],
    ['time of a batch', { batchTimesMs: { [first!.name]: 159 } }],
    ['power', power(39.9)],
  ])('may not be broken: %s', (_, limits) => {
    expect(judged(limits)).toBeNull()
  })

  it.each<[string, GroupLimits]>([
    ['memoryGib', { memoryGib: 0 }],
    ['minKeptShare', { minKeptShare: -0.1 }],
    ['minKeptShare', { minKeptShare: 1.1 }],
    ['batchTimesMs', { batchTimesMs: { [first!.name]: 79 } }],
    ['batchTimesMs', { batchTimesMs: { unseen: 1000 } }],
    ['power.capW', power(0)],
  ])('have to be ones that can be kept: %s', (named, limits) => {
    expect(() => judged(limits)).toThrow(named)
  })

  it('may be such that a workload alone just keeps them', () => {
    const limits = { memoryGib: 0.1, minKeptShare: 1, batchTimesMs: { [first!.name]: 80 }, ...power(1e-9) }
    expect(judged(limits, [0])).toBeNull()
    expect(judged({ minKeptShare: 1, batchTimesMs: { [first!.name]: 80 } }, [0])).toEqual({
      keptShares: [1],
      value: 1,
    })
    expect(() => judged(power(50), [2])).toThrow('soloPowerW')
  })
})

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
