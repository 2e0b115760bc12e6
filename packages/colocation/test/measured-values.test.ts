import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertColocation, keptShares, membersKey } from '../src/colocation.js'
import { accuracy } from '../src/evaluate/accuracy.js'
import { leftOutSplits } from '../src/evaluate/splits.js'
import { scalingOf, standardize } from '../src/model/standardize.js'
import { GroupJudge, type GroupLimits } from '../src/select/group-judge.js'
import { assertWorkload, kinOf, parseWorkloadName, type Workload, WorkloadCatalog } from '../src/workload.js'
import { lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(6)
const [first, second] = workloads as [Workload, Workload]
const measured = lawfulColocation([first, second])
const numbers = (minLength: number) =>
  fc.array(fc.double({ min: 1, max: 1000, noNaN: true }), { minLength, maxLength: 20 })
const wholes = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 4, maxLength: 20 })

describe('what was measured', () => {
  it.each([
    ['threads', [0, 1e12]],
    ['smThroughputPercent', [0, 100]],
    ['dramThroughputPercent', [0, 100]],
    ['memoryThroughputPercent', [0, 100]],
    ['registers', [0, 1e12]],
    ['staticSharedMemory', [0, 1e12]],
    ['smUtilPercent', [0, 100]],
    ['memUtilPercent', [0, 100]],
    ['memoryGib', [0, 80]],
    ['exclusiveThroughput', [1e-9, 1e9]],
    ['powerW', [1e-9, 1000, undefined]],
    ['batchSize', [1, 4096]],
  ] as const)('of a workload alone is a number: %s', (field, taken) => {
    for (const value of taken) expect(() => assertWorkload({ ...first, [field]: value } as Workload)).not.toThrow()
    const none = taken[0] === 0 ? [] : [0]
    for (const value of [-1, ...none, Number.NaN, 1e-308, 1e308, Number.POSITIVE_INFINITY]) {
      expect(() => assertWorkload({ ...first, [field]: value }), String(value)).toThrow(`${first.name}: ${field}`)
    }
  })

  it('of a group is a throughput of each member, and watts or none', () => {
    for (const powerW of [undefined, 1e-9, 1000]) {
      const { powerW: _, ...group } = measured
      expect(() => assertColocation(powerW === undefined ? group : { ...group, powerW })).not.toThrow()
    }
    for (const value of [0, -1, Number.NaN, 1e-308, 1e308, Number.POSITIVE_INFINITY]) {
      expect(() => assertColocation({ ...measured, powerW: value })).toThrow('watts above 0')
      expect(() => assertColocation({ ...measured, throughputs: [1, value] })).toThrow(`throughput of ${second.name}`)
    }
    expect(() => assertColocation({ ...measured, throughputs: [1] })).toThrow('one per member (2)')
    expect(() => assertColocation({ members: [first], throughputs: [1] })).toThrow('at least two workloads')
    const broken = { ...second, exclusiveThroughput: Number.NaN }
    const expected = `${second.name}: exclusiveThroughput: got NaN, expected a number from 1e-15 to 1e15`
    expect(() => assertColocation({ ...measured, members: [first, broken] })).toThrow(expected)
  })

  it('is kept shares, whatever the order of the members', () => {
    const turned = lawfulColocation([second, first])
    expect(keptShares(turned)).toEqual(keptShares(measured).reverse())
    expect(keptShares({ members: [first], throughputs: [first.exclusiveThroughput / 4] })).toEqual([0.25])
    expect(membersKey([first, second])).toBe(membersKey([second, first]))
    expect(membersKey([first, first])).not.toBe(membersKey([first]))
  })

  it('has names that say what ran, and come back from what they say', () => {
    for (const name of ['a_batch1-inf', 'bert-base_batch8-train', 'a_batch2_batch16-inf']) {
      const { model, batchSize, training } = parseWorkloadName(name)
      expect(`${model}_batch${batchSize}-${training ? 'train' : 'inf'}`).toBe(name)
      expect(kinOf(name)).toBe(name.replace(/_batch\d+(?=-\w+$)/, ''))
    }
    for (const name of ['a', 'a_batch0-inf', '_batch1-inf', 'a_batch01-inf', 'a_batch1', 'a_batch1-eval']) {
      expect(() => parseWorkloadName(name)).toThrow("the form '<model>_batch<size>-<train|inf>'")
      expect(kinOf(name)).toBe(name === '_batch1-inf' ? '-inf' : name)
    }
  })

  it('is in a catalog under names that occur once', () => {
    const catalog = new WorkloadCatalog(workloads)
    expect([catalog.names, [...catalog]]).toEqual([workloads.map(({ name }) => name), workloads])
    expect([catalog.has(first.name), catalog.has('other')]).toEqual([true, false])
    expect(() => catalog.get('other')).toThrow(first.name)
    expect(() => new WorkloadCatalog([first, second, first])).toThrow('a unique name')
  })
})

describe('standardised columns', () => {
  it('have mean 0 and sample deviation 1, whatever their unit; one that never varied is 0', () => {
    fc.assert(
      fc.property(numbers(3), fc.double({ min: 0.1, max: 10, noNaN: true }), (values, unit) => {
        fc.pre(Math.max(...values) - Math.min(...values) > 1e-3)
        const rows = values.map((value) => [value, 7, unit * value + 5])
        const scaling = scalingOf(rows)
        const standard = rows.map((row) => [...standardize(row, scaling)])
        const column = (j: number) => standard.map((row) => row[j]!)
        expect(column(0).reduce((sum, value) => sum + value, 0) / values.length).toBeCloseTo(0, 6)
        expect(column(0).reduce((sum, value) => sum + value ** 2, 0) / (values.length - 1)).toBeCloseTo(1, 6)
        expect(column(1)).toEqual(values.map(() => 0))
        expect(standardize([0, 1e6, 0], scaling)[1]).toBe(0)
        column(2).forEach((value, i) => {
          expect(value).toBeCloseTo(column(0)[i]!, 5)
        })
      }),
    )
  })
})

describe('errors of predictions', () => {
  it('are none where each is right, and one unit of variance where each is the mean', () => {
    fc.assert(
      fc.property(numbers(3), (values) => {
        fc.pre(new Set(values).size > 2 && Math.max(...values) - Math.min(...values) > 1)
        expect(accuracy(values, values)).toMatchObject({ mse: 0, maePerS: 0, mapePercent: 0 })
        expect(accuracy(values, values).spearman).toBeCloseTo(1, 9)
        const middle = values.reduce((sum, value) => sum + value, 0) / values.length
        const { mse } = accuracy(
          values,
          values.map(() => middle),
        )
        expect(mse).toBeCloseTo((values.length - 1) / values.length, 6)
      }),
    )
  })

  it('keep their ranks under any rising change, turn round under a falling one, and scale with the unit', () => {
    fc.assert(
      fc.property(wholes, wholes, (a, b) => {
        const n = Math.min(a.length, b.length)
        const [seen, told] = [a.slice(0, n), b.slice(0, n)]
        fc.pre([seen, told].every((values) => Math.max(...values) - Math.min(...values) > 1))
        const one = accuracy(seen, told)
        expect(accuracy(seen, told.map(Math.cbrt)).spearman).toBeCloseTo(one.spearman, 9)
        expect(
          accuracy(
            seen,
            told.map((value) => -value),
          ).spearman,
        ).toBeCloseTo(-one.spearman, 9)
        const twice = accuracy(
          seen.map((value) => 2 * value),
          told.map((value) => 2 * value),
        )
        expect(twice.mse).toBeCloseTo(one.mse, 6)
        expect(twice.mapePercent).toBeCloseTo(one.mapePercent, 6)
        expect(twice.maePerS).toBeCloseTo(2 * one.maePerS, 6)
      }),
    )
  })
})

it('parts that are left out are every group once, and none is learnt from', () => {
  const groups = workloads.flatMap((a) => workloads.map((b) => lawfulColocation([a, b])))
  const others = [lawfulColocation([first, second, first])]
  const splits = leftOutSplits(groups, others)
  expect(splits).toHaveLength(5)
  expect(new Set(splits.flatMap(({ test }) => test))).toEqual(new Set(groups))
  expect(splits.reduce((sum, { test }) => sum + test.length, 0)).toBe(groups.length)
  for (const { train, test } of splits) {
    expect(train.filter((group) => test.includes(group))).toEqual([])
    expect(new Set([...train, ...test])).toEqual(new Set([...groups, ...others]))
  }
})

describe('limits of a group', () => {
  const source = { workloads, keptShares: (members: readonly number[]) => members.map(() => 0.5) }
  const judge = (limits: GroupLimits) => new GroupJudge(source, 'speedup', limits).judge([0, 1])
  const memoryGib = first.memoryGib + second.memoryGib
  const doubled = (workload: Workload) => (2000 * workload.batchSize) / workload.exclusiveThroughput
  const power = (capW: number) => ({ capW, of: () => 200 })

  it('may be reached and not passed', () => {
    for (const limits of [
      {},
      { memoryGib },
      { minKeptShare: 0 },
      { minKeptShare: 0.5 },
      { batchTimesMs: { [first.name]: doubled(first) } },
      { power: power(200) },
    ]) {
      expect(judge(limits)).toMatchObject({ value: 1, keptShares: [0.5, 0.5] })
    }
    for (const limits of [
      { memoryGib: memoryGib - 1e-6 },
      { minKeptShare: 0.51 },
      { minKeptShare: 1 },
      { batchTimesMs: { [second.name]: 0.999 * doubled(second) } },
      { power: power(199.9) },
    ]) {
      expect(judge(limits)).toBeNull()
    }
  })

  it('are numbers that some group could keep', () => {
    for (const [limits, message] of [
      [{ memoryGib: 0 }, 'memoryGib'],
      [{ minKeptShare: -0.01 }, 'minKeptShare'],
      [{ minKeptShare: 1.01 }, 'minKeptShare'],
      [{ batchTimesMs: { other: 1 } }, 'workload with a batch time'],
      [{ batchTimesMs: { [first.name]: 0.499 * doubled(first) } }, `batch time of ${first.name}`],
      [{ power: power(0) }, 'power.capW'],
    ] as const) {
      expect(() => judge(limits), message).toThrow(message)
    }
  })
})
