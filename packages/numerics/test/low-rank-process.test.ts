import { describe, expect, it } from 'vitest'
import { LowRankProcess, SeededRandom } from '../src/index.js'

const random = new SeededRandom(3)
const points = Array.from({ length: 24 }, () => 4 * random.uniform())
const near = (a: number, b: number) => Math.exp(-((a - b) ** 2) / 2)
const values = Float64Array.from(points, (x) => Math.sin(2 * x) + 0.1 * random.normal())
const groups = Array.from({ length: 12 }, (_, g) => [2 * g, 2 * g + 2] as const)

function processOf(kept: readonly number[], maxRank = 24) {
  const of = kept.flatMap((g) => [2 * g, 2 * g + 1])
  return new LowRankProcess(
    {
      values: Float64Array.from(of, (i) => values[i]!),
      covariance: (a, b) => near(points[of[a]!]!, points[of[b]!]!),
      groups: kept.map((_, g) => [2 * g, 2 * g + 2] as const),
      groupNoise: 0.01,
      noise: new Float64Array(of.length).fill(0.02),
    },
    maxRank,
  )
}
const all = groups.map((_, g) => g)

describe('a Gaussian process of low rank', () => {
  it('predicts a left-out group as a process without it does, one at a time and many', () => {
    const process = processOf(all)
    const each = process.leaveEachOut()
    for (const left of [[0], [7], [2, 3, 11]]) {
      const kept = all.filter((g) => !left.includes(g))
      const without = processOf(kept)
      const observed = kept.flatMap((g) => [2 * g, 2 * g + 1])
      const toPivots = (x: number) => Float64Array.from(without.pivots, (pivot) => near(x, points[observed[pivot]!]!))
      for (const { begin, errors, covariance } of process.leaveOut((g) => left.includes(g))) {
        const asked = [points[begin]!, points[begin + 1]!]
        const expected = without.covariance(asked.map(toPivots), [1, 1])
        asked.forEach((x, i) => {
          expect(values[begin + i]! - errors[i]!).toBeCloseTo(without.mean(toPivots(x)), 5)
          expect(covariance[3 * i]!).toBeCloseTo(expected[i]![i]! + 0.03, 5)
        })
        if (left.length > 1) continue
        expect(each[left[0]!]!.errors[0]).toBeCloseTo(errors[0]!, 6)
        expect(each[left[0]!]!.covariance[1]).toBeCloseTo(covariance[1]!, 6)
      }
    }
  })

  it('of less rank calls noise what it leaves out, and is less sure', () => {
    const [fine, coarse] = [processOf(all), processOf(all, 4)]
    expect(coarse.pivots).toHaveLength(4)
    const variance = (process: LowRankProcess) =>
      process.covariance([Float64Array.from(process.pivots, (pivot) => near(1.7, points[pivot]!))], [1])[0]![0]!
    expect(variance(coarse)).toBeGreaterThan(variance(fine))
  })
})
