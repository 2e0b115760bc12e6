import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  accuracy,
  evaluateMethod,
  type Members,
  publishedMethod,
  SlowdownModel,
  SlowdownModels,
  slowdownMethod,
  throughputSum,
  type Workload,
} from '../src/index.js'
import { studySplits } from './published-study.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(16)
const seen = workloads.slice(0, 14)
const pairs = allPairs(seen).map(lawfulColocation)
const train = pairs.filter((_, i) => i % 2 === 0)
const test = pairs.filter((_, i) => i % 2 === 1)
const model = SlowdownModel.fit(train)
const anyMembers = (most: number) => fc.array(fc.constantFrom(...workloads), { minLength: 2, maxLength: most })

describe('the slowdown model', () => {
  it('learns a law from half of the pairs', () => {
    const predictions = test.map(({ members }) => model.predict(members))
    const { mapePercent, mse } = accuracy(
      test.map(throughputSum),
      predictions.map((p) => p.throughputSum),
    )
    expect(mapePercent).toBeLessThan(5)
    expect(mse).toBeLessThan(0.02)
  })

  it('predicts workloads that it has never seen better than no slowdown at all', () => {
    const strangers = workloads
      .slice(14)
      .flatMap((stranger) => seen.map((known) => lawfulColocation([stranger, known])))
    const errorOf = (keptOf: (members: Members) => readonly number[]) =>
      strangers.reduce((sum, { members, throughputs }) => {
        const kept = keptOf(members)
        return (
          sum +
          members.reduce((s, member, i) => s + Math.abs(kept[i]! - throughputs[i]! / member.exclusiveThroughput), 0)
        )
      }, 0)
    expect(errorOf((members) => model.predict(members).keptShares)).toBeLessThan(
      0.5 * errorOf((members) => members.map(() => 1)),
    )
  })

  it('tells a stranger that trains from one that infers and is alike in all else', () => {
    const keptBy = ({ training }: Workload) => (training ? 0.5 : 0.9)
    const measured = pairs.map(({ members }) => ({
      members,
      throughputs: members.map((member) => member.exclusiveThroughput * keptBy(member)),
    }))
    const learned = SlowdownModel.fit(measured)
    const kept = (training: boolean) =>
      learned.predict([
        { ...workloads[14]!, name: `stranger_batch2-${training ? 'train' : 'inf'}`, training },
        seen[1]!,
      ]).keptShares[0]!
    expect(kept(false) - kept(true)).toBeGreaterThan(0.2)
  })

  it('does not care about the order of members', () => {
    fc.assert(
      fc.property(anyMembers(5), fc.integer({ min: 0, max: 4 }), (members, shift) => {
        const turned = [...members.slice(shift), ...members.slice(0, shift)]
        const [a, b] = [model.predict(members), model.predict(turned)]
        expect(b.throughputSum).toBeCloseTo(a.throughputSum, 8)
        members.forEach((member, i) => {
          const there = turned.indexOf(member)
          expect(b.throughputs[there]).toBeCloseTo(a.throughputs[i]!, 8)
          if (members.length > 2) return
          expect(b.throughputIntervals![there]!.low).toBeCloseTo(a.throughputIntervals![i]!.low, 8)
        })
        expect(b.throughputSumInterval === null).toBe(members.length > 2)
        if (members.length === 2) expect(b.throughputSumInterval!.high).toBeCloseTo(a.throughputSumInterval!.high, 6)
      }),
      { numRuns: 40 },
    )
  })

  it('does not care about the order of a training colocation', () => {
    const turned = train.map(({ members, throughputs }) => ({
      members: [...members].reverse(),
      throughputs: [...throughputs].reverse(),
    }))
    const other = SlowdownModel.fit(turned)
    for (const { members } of test.slice(0, 20)) {
      expect(other.predict(members).throughputSum).toBeCloseTo(model.predict(members).throughputSum, 6)
    }
  })

  it('says the same one by one and as a table', () => {
    const table = model.slowdownTable(workloads)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 2, maxLength: 5 }), (places) => {
        const predicted = model.predict(places.map((place) => workloads[place]!))
        table.keptShares(places).forEach((kept, i) => {
          expect(kept).toBeCloseTo(predicted.keptShares[i]!, 9)
        })
      }),
      { numRuns: 40 },
    )
    expect(table.keptBeside(2, 3)).toBeCloseTo(table.keptShares([2, 3])[0]!, 12)
    expect(table.keptShares([4])).toEqual([1])
  })

  it('gives intervals that hold about as often as they say, are wider at higher levels, and hold the prediction', () => {
    for (const level of [0.5, 0.9]) {
      const hits = test.filter((colocation) => {
        const interval = model.predict(colocation.members, level).throughputSumInterval!
        return throughputSum(colocation) >= interval.low && throughputSum(colocation) <= interval.high
      })
      expect(hits.length / test.length).toBeGreaterThan(level - 0.2)
    }
    for (const { members } of test.slice(0, 10)) {
      const [narrow, wide] = [model.predict(members, 0.5), model.predict(members, 0.95)]
      expect(wide.throughputSumInterval!.low).toBeLessThan(narrow.throughputSumInterval!.low)
      expect(narrow.throughputSumInterval!.low).toBeLessThan(narrow.throughputSum)
      expect(narrow.throughputSumInterval!.high).toBeGreaterThan(narrow.throughputSum)
    }
  })

  it('is less sure of workloads that it has not seen', () => {
    const width = (members: Members) => {
      const { low, high } = model.predict(members).throughputSumInterval!
      return Math.log(high / low)
    }
    expect(width([workloads[14]!, workloads[15]!])).toBeGreaterThan(width([seen[0]!, seen[1]!]))
  })

  it('gives the same model for the same rows, and thins by seed', () => {
    expect(SlowdownModel.fit(train).predict(test[0]!.members)).toEqual(model.predict(test[0]!.members))
    const thin = (seed: number) => SlowdownModel.fit(train, { maxRows: 40, seed }).fitted.rows
    expect(thin(1).length).toBeLessThanOrEqual(40)
    expect(thin(1)).toEqual(thin(1))
    expect(thin(2)).not.toEqual(thin(1))
  })

  it('goes through JSON', () => {
    const restored = new SlowdownModel(JSON.parse(JSON.stringify(model.fitted)))
    expect(restored.predict(test[0]!.members)).toEqual(model.predict(test[0]!.members))
  })

  it('learns from colocations of unlike sizes together', () => {
    const triples = [0, 3, 6, 9, 11].map((i) => lawfulColocation([seen[i]!, seen[i + 1]!, seen[i + 2]!]))
    const mixed = SlowdownModel.fit([...train, ...triples])
    const predicted = mixed.predict([seen[1]!, seen[5]!, seen[8]!]).throughputSum
    const measured = throughputSum(lawfulColocation([seen[1]!, seen[5]!, seen[8]!]))
    expect(Math.abs(predicted / measured - 1)).toBeLessThan(0.25)
  })

  it('refuses what it cannot learn from or predict', () => {
    expect(() => SlowdownModel.fit(train.slice(0, 1))).toThrow('at least 2 to learn from')
    expect(() => SlowdownModel.fit([...train, { members: test[0]!.members, throughputs: [1, 0] }])).toThrow('above 0')
    expect(() => SlowdownModel.fit([...train, { members: test[0]!.members, throughputs: [1] }])).toThrow(
      'one per member',
    )
    expect(() => model.predict([seen[0]!])).toThrow('at least two workloads')
    expect(() => model.predict([seen[0]!, seen[1]!], 1)).toThrow('a probability between 0 and 1')
  })
})

describe('models by size', () => {
  const triples = Array.from({ length: 12 }, (_, i) => lawfulColocation([seen[i]!, seen[i + 1]!, seen[i + 2]!]))
  const models = SlowdownModels.fit([...train, ...triples])

  it('learn pairs from pairs alone, and what nobody measured from all', () => {
    const pair = test[0]!.members
    expect(models.predict(pair)).toEqual(model.predict(pair))
    const quadruple = seen.slice(0, 4)
    expect(models.predict(quadruple)).toEqual(SlowdownModel.fit([...train, ...triples]).predict(quadruple))
    expect(models.ofSize(3)).not.toBe(models.ofSize(4))
  })

  it('are one model where one size was measured', () => {
    const one = SlowdownModels.fit(train)
    expect(one.ofSize(2)).toBe(one.ofSize(5))
  })

  it('give kept shares of groups of any size', () => {
    const source = models.keptShareSource(seen)
    for (const places of [[4], [1, 5], [0, 3, 3], [2, 4, 6, 8]]) {
      const kept = source.keptShares(places)
      if (places.length === 1) expect(kept).toEqual([1])
      else {
        const predicted = models.predict(places.map((place) => seen[place]!)).keptShares
        kept.forEach((share, i) => {
          expect(share).toBeCloseTo(predicted[i]!, 9)
        })
      }
    }
  })
})

describe('the published splits', () => {
  it('are predicted far better than by the published model', () => {
    const splits = studySplits().get('3')!
    const ours = evaluateMethod(slowdownMethod, splits)
    expect(ours.accuracy!.mse).toBeLessThan(0.055)
    expect(ours.accuracy!.mapePercent).toBeLessThan(12)
    expect(ours.gain).toBeGreaterThan(0.965)
    let nowMs = 1e6
    const published = evaluateMethod(publishedMethod, splits, { now: () => (nowMs += 5) })
    expect(published.trainingMs).toBe(5)
    expect(ours.trainingMs).toBeNull()
    expect(published.accuracy!.mse).toBeCloseTo(0.144, 3)
    expect(published.gain).toBeCloseTo(0.906, 3)
  })
})
