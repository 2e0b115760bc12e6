import { SeededRandom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accuracy, type Colocation, type Members, SlowdownModel, throughputSum, type Workload } from '../src/index.js'
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

  it('predicts the same as before', () => {
    const of = (...places: number[]) => places.map((place) => workloads[place]!)
    const groups = [of(0, 1), of(3, 3), of(7, 12), of(2, 14), of(14, 15), of(0, 5, 9), of(4, 8, 8, 15)]
    const lines = groups.map((members) => {
      const { keptShares, throughputIntervals, throughputSumInterval, novelty } = model.predict(members, 0.8)
      const digits = (...values: readonly (number | undefined)[]) =>
        values.map((value) => value?.toPrecision(5)).join(' ')
      const wide = throughputIntervals?.map(({ low, high }) => digits(low, high)).join(', ')
      const sum = digits(throughputSumInterval?.low, throughputSumInterval?.high)
      return `${digits(...keptShares)} | ${wide} | ${sum} | ${JSON.stringify(novelty)}`
    })
    expect(lines).toMatchInlineSnapshot(`
      [
        "0.60356 0.62256 | 6.6400 6.8265, 24.228 24.910 | 30.716 31.893 | "new pairs"",
        "0.66902 0.66902 | 2.3599 2.4394, 2.3599 2.4394 | 4.6909 4.9087 | "new pairs"",
        "0.80327 0.52081 | 54.407 55.916, 3.0948 3.1807 | 57.212 59.397 | "known pairs"",
        "0.70601 0.55650 | 76.640 104.35, 28.704 29.881 | 107.08 131.62 | "new network"",
        "0.75627 0.71831 | 34.429 46.009, 2.1963 2.8372 | 36.503 49.009 | "new network"",
        "0.80200 0.65565 0.66954 | undefined |   | "new pairs"",
        "0.54957 0.54114 0.54114 0.51886 | undefined |   | "new network"",
      ]
    `)
  })

  it('predicts workloads that it has never seen better than no slowdown at all', () => {
    const unseen = workloads.slice(14).flatMap((unseen) => seen.map((known) => lawfulColocation([unseen, known])))
    const errorOf = (keptOf: (members: Members) => readonly number[]) =>
      unseen.reduce((sum, { members, throughputs }) => {
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

  it('tells an unseen job that trains from one that infers and is alike in all else', () => {
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

  it('says the same one by one and of many groups', () => {
    const source = model.keptShareSource(workloads)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 2, maxLength: 5 }), (places) => {
        const predicted = model.predict(places.map((place) => workloads[place]!))
        source.keptShares(places).forEach((kept, i) => {
          expect(kept).toBeCloseTo(predicted.keptShares[i]!, 9)
        })
      }),
      { numRuns: 40 },
    )
    expect(source.keptShares([4])).toEqual([1])
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

  it('is the same for the same rows in whatever order, and uses all of them', () => {
    const turned = [...train].reverse()
    const other = SlowdownModel.fit(turned)
    expect(other.fitted).toEqual(model.fitted)
    expect(other.predict(test[0]!.members)).toEqual(model.predict(test[0]!.members))
    const distinct = train.reduce((sum, { members }) => sum + new Set(members).size, 0)
    expect(model.fitted.rows).toHaveLength(distinct)
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
    expect(() => SlowdownModel.fit([...train, { members: test[0]!.members, throughputs: [1, 0] }])).toThrow(
      'from 1e-15 to 1e15',
    )
    expect(() => SlowdownModel.fit([...train, { members: test[0]!.members, throughputs: [1] }])).toThrow(
      'one per member',
    )
    expect(() => model.predict([seen[0]!])).toThrow('at least two workloads')
    expect(() => model.predict([seen[0]!, seen[1]!], 1)).toThrow('a probability between 0 and 1')
  })
})

describe('one model of all sizes', () => {
  const quadruples = (step: number) =>
    seen.flatMap((_, i) =>
      [1, 2, 3, 4].map((stride) => lawfulColocation([0, 1, 2, 3].map((k) => seen[(i + k * stride * step) % 14]!))),
    )
  const some = quadruples(1).filter((_, i) => i % 4 === 0)
  const asked = quadruples(3)
  const errorOf = (learnt: SlowdownModel) =>
    accuracy(
      asked.map(throughputSum),
      asked.map(({ members }) => learnt.predict(members).throughputSum),
    ).mapePercent

  it('predicts quadruples better from few of them and the pairs than from either', () => {
    const both = errorOf(SlowdownModel.fit([...train, ...some]))
    expect(both).toBeLessThan(errorOf(SlowdownModel.fit(some)))
    expect(both).toBeLessThan(errorOf(model))
  })

  it('foresees jobs that are harmless one by one and harmful together', () => {
    // A job slows down only where the others ask for more than what is left of one resource.
    const crowded = (members: Members) => ({
      members,
      throughputs: members.map((member, i) => {
        const others = members.filter((_, other) => other !== i)
        const asked = others.reduce((sum, { dramThroughputPercent }) => sum + dramThroughputPercent / 100, 0)
        return member.exclusiveThroughput / (1 + 2 * Math.max(0, asked - 1.2))
      }),
    })
    const groups = seen.flatMap((_, i) =>
      [1, 2, 3, 4, 5, 6].map((stride) => crowded([0, 1, 2, 3].map((k) => seen[(i * 3 + k * stride) % 14]!))),
    )
    const learnt = SlowdownModel.fit(groups.filter((_, i) => i % 4 !== 1))
    const left = groups.filter((_, i) => i % 4 === 1)
    const byModel = left.map(({ members }) => learnt.predict(members).throughputSum)
    expect(accuracy(left.map(throughputSum), byModel).mse).toBeLessThan(0.1)
  })
})

describe('intervals by what is new about a group', () => {
  // Noise in proportion, so that no interval can be narrow and right.
  const noisy = (colocations: readonly Colocation[], seed: number) => {
    const random = new SeededRandom(seed)
    return colocations.map(({ members, throughputs }) => ({
      members,
      throughputs: throughputs.map((throughput) => throughput * Math.exp(0.1 * (random.uniform() - 0.5))),
    }))
  }
  const learnt = SlowdownModel.fit(noisy(train, 3))
  const covered = (asked: readonly Colocation[]) => {
    const hits = asked.flatMap(({ members, throughputs }) => {
      const intervals = learnt.predict(members).throughputIntervals!
      return throughputs.map((throughput, i) => throughput >= intervals[i]!.low && throughput <= intervals[i]!.high)
    })
    return hits.filter(Boolean).length / hits.length
  }

  it('say what is new', () => {
    const novelty = (...members: Workload[]) => learnt.predict(members).novelty
    expect(novelty(...train[5]!.members)).toBe('known pairs')
    expect(novelty(...test[5]!.members)).toBe('new pairs')
    // Of net7 both workloads are unknown; of net0 one of two modes.
    expect(novelty(seen[0]!, workloads[14]!)).toBe('new network')
    const sibling = { ...seen[1]!, name: seen[1]!.name.replace(/batch\d+/, 'batch64') }
    expect(novelty(sibling, seen[2]!)).toBe('new batch size')
    expect(novelty(sibling, workloads[14]!)).toBe('new network')
  })

  it('hold for known workloads in new groups', () => {
    expect(covered(noisy(test, 4))).toBeGreaterThan(0.8)
  })

  it('hold for workloads that were never seen', () => {
    const unseen = workloads.slice(14).flatMap((unseen) => seen.map((known) => lawfulColocation([unseen, known])))
    expect(covered(noisy(unseen, 5))).toBeGreaterThan(0.75)
  })

  it('are absent where nothing comparable was ever left out', () => {
    const three = workloads.slice(0, 3)
    const few = SlowdownModel.fit(allPairs(three).map(lawfulColocation))
    expect(few.predict(three.slice(0, 2)).throughputIntervals).toBeNull()
  })
})
