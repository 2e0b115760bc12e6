import { leastSquares } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { accuracy, contains, targetGains, throughputSum } from '../src/index.js'
import { aggregateFeatures, PublishedLinearModel, publishedRules, randomGains } from '../src/published/index.js'
import { studyRows, studySplits } from './published-study.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(14)
const pairs = allPairs(workloads).map(lawfulColocation)

describe('the published features', () => {
  it('are sums, but for the two averages', () => {
    const [a, b] = [workloads[0]!, workloads[1]!]
    const features = aggregateFeatures([a, b])
    expect(features).toHaveLength(10)
    expect(features[0]).toBe(a.threads + b.threads)
    expect(features[1]).toBe(a.smThroughputPercent + b.smThroughputPercent)
    expect(features[6]).toBe(a.exclusiveThroughput + b.exclusiveThroughput)
    expect(features[7]).toBe((a.smUtilPercent + b.smUtilPercent) / 2)
    expect(features[9]).toBe(a.memoryGib + b.memoryGib)
  })
})

describe('least squares', () => {
  it('finds the line through points on it, and the mean of what contradicts', () => {
    const line = leastSquares(
      [
        [1, 0],
        [1, 1],
        [1, 4],
      ],
      [1, 3, 9],
    )
    expect(line[0]).toBeCloseTo(1, 12)
    expect(line[1]).toBeCloseTo(2, 12)
    expect(leastSquares([[1], [1], [1]], [1, 2, 6])[0]).toBeCloseTo(3, 12)
  })

  it('refuses what has no one answer', () => {
    expect(() => leastSquares([[1, 2]], [1])).toThrow('at least 2')
    expect(() =>
      leastSquares(
        [
          [1, 2],
          [2, 4],
          [3, 6],
        ],
        [1, 2, 3],
      ),
    ).toThrow('independent')
  })
})

describe('the published linear model', () => {
  it('recovers a sum that is linear in its features', () => {
    const linear = pairs.map(({ members }) => {
      const sum = members.reduce(
        (total, { smThroughputPercent, memoryGib }) => total + 2 * smThroughputPercent + memoryGib,
        7,
      )
      return { members, throughputs: [sum / 2, sum / 2] }
    })
    const model = PublishedLinearModel.fit(linear.filter((_, i) => i % 3 === 0))
    for (const colocation of linear) expect(model.predict(colocation.members)).toBeCloseTo(throughputSum(colocation), 6)
  })

  it('predicts alike whoever else is listed, but scores by the company of candidates, as published', () => {
    const model = PublishedLinearModel.fit(pairs.filter((_, i) => i % 3 === 0))
    const candidates = pairs.slice(25).map(({ members }) => members)
    const alone = model.scoresAmong(candidates.slice(0, 5))
    expect(model.scoresAmong(candidates).slice(0, 5)).not.toEqual(alone)
  })

  it('refuses fewer colocations than coefficients', () => {
    expect(() => PublishedLinearModel.fit(pairs.slice(0, 10))).toThrow('at least 11')
  })

  it('equals the published errors and gains of all 45 splits', () => {
    const published = new Map(
      studyRows('reference_results2.csv').flatMap((row) =>
        row['m'] === 'KACE' ? [[`${row['n']}, seed ${row['r']}`, row]] : [],
      ),
    )
    const gains = new Map(
      studyRows('reference_per_target2.csv').map((row) => [
        `${row['n_occur']}, seed ${row['seed']} ${row['HPworkload']}`,
        row,
      ]),
    )
    let targets = 0
    for (const split of [...studySplits().values()].flat()) {
      const model = PublishedLinearModel.fit(split.publishedFit!)
      const measured = split.test.map(throughputSum)
      const mean = measured.reduce((sum, value) => sum + value, 0) / measured.length
      const deviation = Math.sqrt(measured.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (measured.length - 1))
      const scores = model.scoresAmong(split.test.map(({ members }) => members))
      const predicted = scores.map((score) => mean + deviation * score)
      expect(accuracy(measured, predicted).mse).toBeCloseTo(Number(published.get(split.name)!['mse']), 9)
      for (const { target, gain } of targetGains(split.test, (candidates) =>
        model.scoresAmong(candidates.map((c) => c.members)),
      )) {
        expect(gain, `${split.name} ${target}`).toBeCloseTo(
          Number(gains.get(`${split.name} ${target}`)!['prediction']),
          9,
        )
        targets++
      }
    }
    expect(targets).toBe(gains.size)
  })
})

describe('the published rules', () => {
  it('do not depend on the order of members', () => {
    for (const { score } of publishedRules) {
      for (const { members } of pairs) expect(score(members)).toBe(score([...members].reverse()))
    }
  })

  it('equal the published gains', () => {
    const columns: Readonly<Record<string, string>> = { 'max sm%': 'sm%', 'min mem%': 'mem%', 'min memcap': 'memcap' }
    const gains = new Map(
      studyRows('reference_per_target2.csv').map((row) => [
        `${row['n_occur']}, seed ${row['seed']} ${row['HPworkload']}`,
        row,
      ]),
    )
    for (const split of [...studySplits().values()].flat()) {
      for (const { name, score } of publishedRules.filter((rule) => rule.name in columns)) {
        for (const { target, gain } of targetGains(split.test, (candidates) =>
          candidates.map((c) => score(c.members)),
        )) {
          const expected = Number(gains.get(`${split.name} ${target}`)![columns[name]!])
          expect(gain, `${name} ${split.name} ${target}`).toBeCloseTo(expected, 9)
        }
      }
      for (const { target, gain } of randomGains(split.test)) {
        expect(gain).toBeCloseTo(Number(gains.get(`${split.name} ${target}`)!['random']), 9)
      }
    }
  })
})

describe('the gain of a target', () => {
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

describe('the errors of a prediction', () => {
  it('are those of a hand calculation', () => {
    const { mse, maePerS, mapePercent, spearman } = accuracy([10, 20, 30], [12, 18, 30])
    expect(mse).toBeCloseTo((4 + 4) / 3 / 100, 12)
    expect(maePerS).toBeCloseTo(4 / 3, 12)
    expect(mapePercent).toBeCloseTo((100 * (0.2 + 0.1)) / 3, 12)
    expect(spearman).toBeCloseTo(1, 12)
    expect(accuracy([1, 2, 3, 4], [4, 3, 2, 1]).spearman).toBeCloseTo(-1, 12)
    expect(accuracy([1, 2, 3], [5, 5, 7]).spearman).toBeCloseTo(Math.sqrt(0.75), 12)
    expect(() => accuracy([1], [1])).toThrow('at least 2')
  })
})
