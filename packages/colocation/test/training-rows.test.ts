import { describe, expect, it } from 'vitest'
import { occurrencePlan } from '../src/collect/plan-measurements.js'
import { colocationSpans, coRunnerExponent, trainingRows } from '../src/model/training-rows.js'
import { syntheticWorkloads } from './synthetic-board.js'

const [a, b] = syntheticWorkloads(2).map((workload, i) => ({ ...workload, name: 'ab'[i]!, exclusiveThroughput: 100 }))

describe('what there is to learn from a colocation', () => {
  it('is what each of its workloads loses per doubling, in an order of names and values alone', () => {
    const pair = { members: [b!, a!], throughputs: [25, 50] }
    const faster = { members: [a!, b!], throughputs: [80, 90] }
    const triple = { members: [a!, b!, a!], throughputs: [20, 10, 40] }
    const { workloads, rows } = trainingRows([triple, faster, pair])
    expect(trainingRows([pair, triple, faster])).toEqual({ workloads, rows })
    expect(workloads).toEqual([a, b])
    expect(rows.map(({ own, others, colocation, count }) => [own, others, colocation, count])).toEqual([
      [0, [1], 0, 1],
      [1, [0], 0, 1],
      [0, [1], 1, 1],
      [1, [0], 1, 1],
      [0, [0, 1], 2, 2],
      [1, [0, 0], 2, 1],
    ])
    const perDoubling = [0.5, 0.25, 0.8, 0.9, Math.sqrt(0.2 * 0.4), 0.1].map(
      (kept, i) => Math.log(kept) / (i < 4 ? 1 : coRunnerExponent(3)),
    )
    rows.forEach(({ exponent }, i) => {
      expect(exponent).toBeCloseTo(perDoubling[i]!, 12)
    })
    expect(colocationSpans(rows)).toEqual([
      [0, 2],
      [2, 4],
      [4, 6],
    ])
    expect(() => trainingRows([pair])).toThrow('at least 2')
  })

  it('is at least a fiftieth and at most three times the throughput alone', () => {
    const of = (...throughputs: number[]) =>
      trainingRows([1, 2].map(() => ({ members: [a!, b!], throughputs })))
        .rows.slice(0, 2)
        .map(({ exponent }) => Math.exp(exponent))
    expect(of(0.1, 301)).toEqual([expect.closeTo(0.02, 12), expect.closeTo(3, 12)])
    expect(of(2.1, 299)).toEqual([expect.closeTo(0.021, 12), expect.closeTo(2.99, 12)])
  })
})

describe('few colocations', () => {
  const all = ['ab', 'ac', 'bc', 'aa', 'bb', 'cc', 'abc', 'ccc'].map((text) => [...text])

  it('are taken as long as one of their members was taken less often, none with itself alone', () => {
    for (const times of [1, 2, 3]) {
      for (let seed = 0; seed < 5; seed++) {
        const plan = occurrencePlan(all, times, seed)
        const taken = (name: string) => plan.filter((members) => members.includes(name)).length
        for (const name of 'abc') expect(taken(name)).toBeGreaterThanOrEqual(Math.min(times, 3))
        expect(plan.every((members) => new Set(members).size > 1)).toBe(true)
        expect(plan).toEqual(occurrencePlan(all, times, seed))
        expect(plan.length).toBeLessThanOrEqual(Math.min(4, 3 * times - 1))
      }
    }
    expect(() => occurrencePlan(all, 0, 1)).toThrow('times')
    expect(() => occurrencePlan(all, 1.5, 1)).toThrow('times')
  })
})
