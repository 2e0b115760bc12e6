import { accuracy, type Colocation, type Method, targetGains, throughputSum } from '@pctodl/colocation'
import { describe, expect, it } from 'vitest'
import { allPairs, lawfulColocation, syntheticWorkloads } from '../../../colocation/test/synthetic-board.js'
import {
  aggregateFeatures,
  honestLinearMethod,
  PublishedLinearModel,
  publishedMethod,
  publishedRules,
  randomGains,
  ruleMethods,
} from '../../src/colocation/index.js'
import { studyRows, studySplits } from './kace-study.js'

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

  it('predicts alike whoever else is listed, but scores by the co-runners of candidates, as published', () => {
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

describe('the choice of whoever draws blindly', () => {
  it('is worse than the best one and worth something', () => {
    for (const { gain, regretPerS, candidates } of randomGains(allPairs(syntheticWorkloads(4)).map(lawfulColocation))) {
      expect(candidates).toBe(4)
      expect(gain).toBeGreaterThan(0)
      expect(gain).toBeLessThan(1)
      expect(regretPerS).toBeGreaterThan(0)
    }
  })
})

describe('of the test rows', () => {
  const train = pairs.filter((_, i) => i % 3 === 0)
  const test = pairs.filter((_, i) => i % 3 === 1)
  const asked = test.slice(0, 10)
  const others = test.slice(10)
  const changed = others.slice(5).map(({ members, throughputs }) => ({
    members: members.map((member) => ({ ...member, name: `x${member.name}`, smUtilPercent: member.smUtilPercent / 3 })),
    throughputs: throughputs.map((throughput) => 50 * throughput),
  }))

  /** What a method says of ten test rows when the other test rows are these. */
  function answers(method: Method, besides: readonly Colocation[]) {
    const all = [...asked, ...besides]
    const prepared = method.prepare({ name: 'split', train, test: all })
    return { sums: prepared.sumsOf?.(all).slice(0, 10), scores: prepared.scoresOf(all).slice(0, 10) }
  }

  it.each([honestLinearMethod, ...ruleMethods])('nothing enters a prediction by $name', (method) => {
    expect(answers(method, changed)).toEqual(answers(method, others))
  })

  it('the published scaling takes what it should not', () => {
    expect(answers(publishedMethod, changed).sums).not.toEqual(answers(publishedMethod, others).sums)
    expect(answers(publishedMethod, changed).scores).not.toEqual(answers(publishedMethod, others).scores)
  })
})
