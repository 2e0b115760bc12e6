import { golden } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import { chooseShares, expectedShareSweep, parseShareSweepTable, parseSoloSweepTable } from '../src/index.js'

const sweep = {
  members: ['a', 'b'],
  points: [
    { mpsPercents: [20, 80], throughputs: [10, 9] },
    { mpsPercents: [50, 50], throughputs: [18, 6] },
    { mpsPercents: [80, 20], throughputs: [30, 2] },
  ],
}

describe('the shares of a pair', () => {
  it('are those of the best measured split, by the objective and what each must keep', () => {
    const alone = [40, 10]
    expect(chooseShares(sweep, alone, { objective: 'throughput' })!.mpsPercents).toEqual([80, 20])
    expect(chooseShares(sweep, alone, { objective: 'speedup' })).toMatchObject({
      mpsPercents: [20, 80],
      keptShares: [0.25, 0.9],
    })
    const fair = chooseShares(sweep, alone, { objective: 'throughput', minKeptShares: [0.4, 0.5] })
    expect(fair!.mpsPercents).toEqual([50, 50])
    expect(chooseShares(sweep, alone, { objective: 'speedup', minKeptShares: [0.9, 0.9] })).toBeNull()
    expect(() => chooseShares(sweep, [40], { objective: 'speedup' })).toThrow('one per member')
  })

  it('are expected from what each gets alone', () => {
    const solo = parseSoloSweepTable('workload,20,50,80,90\na,10,20,30,33\nb,3,6,9,\nc,1,,,\n')
    expect(expectedShareSweep(['a', 'b'], solo).points).toEqual([
      { mpsPercents: [20, 80], throughputs: [10, 9] },
      { mpsPercents: [50, 50], throughputs: [20, 6] },
      { mpsPercents: [80, 20], throughputs: [30, 3] },
    ])
    expect(() => expectedShareSweep(['a', 'x'], solo)).toThrow("unknown workload of the solo sweep 'x'; known: a, b, c")
    expect(() => expectedShareSweep(['c', 'c'], solo)).toThrow('shares of both that add up to 100')
    const twice = () => parseSoloSweepTable('workload,20\na,10\na,11\n', 'solo.csv')
    expect(twice).toThrow("solo.csv, line 3, column 'workload': 'a' occurs twice, expected one row per workload")
  })

  it('of a measured board lose less when chosen so than when halved', () => {
    const solo = parseSoloSweepTable(golden('kace/solo_mps_sweep.csv'))
    const alone = (name: string) => solo.get(name)?.find(({ mpsPercents }) => mpsPercents[0] === 100)?.throughputs[0]
    const gains: { chosen: number; halves: number }[] = []
    for (const { members, points } of parseShareSweepTable(golden('kace/pair_mps_sweep.csv'))) {
      const split = points.filter(({ mpsPercents }) => mpsPercents[0]! < 100)
      const whole = members.map(alone)
      if (split.length < 9 || whole.some((throughput) => throughput === undefined)) continue
      const exclusive = whole as number[]
      const expected = expectedShareSweep([members[0]!, members[1]!], solo)
      const shares = chooseShares(expected, exclusive, { objective: 'speedup' })!.mpsPercents
      const valueAt = (share: number) =>
        split
          .find(({ mpsPercents }) => mpsPercents[0] === share)!
          .throughputs.reduce((sum, t, i) => sum + t / exclusive[i]!, 0)
      const best = chooseShares({ members, points: split }, exclusive, { objective: 'speedup' })!.value
      gains.push({ chosen: valueAt(shares[0]!) / best, halves: valueAt(50) / best })
    }
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    expect(gains.length).toBeGreaterThan(100)
    expect(mean(gains.map(({ chosen }) => chosen))).toBeGreaterThan(0.96)
    expect(mean(gains.map(({ halves }) => halves))).toBeLessThan(0.93)
  })
})
