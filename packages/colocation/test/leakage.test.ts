import { describe, expect, it } from 'vitest'
import { leftOutSplits, type Method, occurrencePlan, slowdownMethod, unseenWorkloadSplits } from '../src/index.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const pairs = allPairs(syntheticWorkloads(14)).map(lawfulColocation)
const train = pairs.filter((_, i) => i % 3 === 0)
const test = pairs.filter((_, i) => i % 3 === 1)
const asked = test.slice(0, 10)

/** What a method says of ten test rows when the other test rows are these. */
function answers(method: Method, others: typeof test) {
  const prepared = method.prepare({ name: 'split', train, test: [...asked, ...others] })
  const all = [...asked, ...others]
  return { sums: prepared.sumsOf?.(all).slice(0, 10), scores: prepared.scoresOf(all).slice(0, 10) }
}

describe('nothing of the test rows enters a prediction', () => {
  const others = test.slice(10)
  const changed = others.slice(5).map(({ members, throughputs }) => ({
    members: members.map((member) => ({ ...member, name: `x${member.name}`, smUtilPercent: member.smUtilPercent / 3 })),
    throughputs: throughputs.map((throughput) => 50 * throughput),
  }))

  it('of the slowdown model', () => {
    expect(answers(slowdownMethod, changed)).toEqual(answers(slowdownMethod, others))
  })
})

describe('splits by unseen workload', () => {
  it('train with no workload of the same network and mode', () => {
    const splits = unseenWorkloadSplits(pairs)
    expect(splits).toHaveLength(14)
    const networkAndMode = (name: string) => name.replace(/_batch\d+/, '')
    for (const { name, train: learnt, test: judged } of splits) {
      expect(judged.every(({ members }) => members.some((member) => member.name === name))).toBe(true)
      const names = learnt.flatMap(({ members }) => members.map((member) => networkAndMode(member.name)))
      expect(names).not.toContain(networkAndMode(name))
      expect(learnt.length).toBeGreaterThan(60)
    }
  })
})

describe('other splits', () => {
  it('leave out a batch size alone, or each fifth of the colocations', () => {
    for (const { name, train: learnt } of unseenWorkloadSplits(pairs, 'batch size')) {
      const names = new Set(learnt.flatMap(({ members }) => members.map((member) => member.name)))
      expect(names.has(name)).toBe(false)
      expect(names.size).toBe(13)
    }
    const sizes = [2, 8, 16].map((batchSize) => ({
      ...pairs[0]!.members[0]!,
      name: `net_batch${batchSize}-inf`,
      batchSize,
    }))
    const between = unseenWorkloadSplits([...pairs, ...allPairs(sizes).map(lawfulColocation)], 'batch size between')
    expect(between.map(({ name }) => name)).toEqual(['net_batch8-inf'])
    const others = pairs.slice(0, 7)
    const splits = leftOutSplits(pairs.slice(7), others)
    expect(splits).toHaveLength(5)
    expect(splits.flatMap(({ test: judged }) => judged)).toHaveLength(pairs.length - 7)
    for (const { train: learnt, test: judged } of splits) {
      expect(learnt).toEqual(expect.arrayContaining([...others]))
      expect(learnt.filter((one) => judged.includes(one))).toEqual([])
    }
  })
})

describe('a plan by occurrence', () => {
  it('holds every workload as often as asked, and few colocations', () => {
    const workloads = syntheticWorkloads(14)
    for (const times of [1, 3]) {
      const plan = occurrencePlan(allPairs(workloads), times, 7)
      for (const workload of workloads) {
        expect(plan.filter((members) => members.includes(workload)).length).toBeGreaterThanOrEqual(times)
      }
      expect(plan.length).toBeLessThanOrEqual(14 * times)
      expect(occurrencePlan(allPairs(workloads), times, 7)).toEqual(plan)
      expect(occurrencePlan(allPairs(workloads), times, 8)).not.toEqual(plan)
    }
    expect(() => occurrencePlan(allPairs(workloads), 0, 1)).toThrow('at least 1')
  })
})
