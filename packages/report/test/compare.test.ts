import { describe, expect, it } from 'vitest'
import { formatDifferences } from '../src/compare/compare-command.js'
import { compareRuns } from '../src/compare/compare-runs.js'
import { fixedSetting, manners, syntheticRun } from './synthetic-runs.js'

describe('comparing runs', () => {
  const [ours, hunting] = [syntheticRun(fixedSetting, manners[0]!), syntheticRun(fixedSetting, manners[2]!)]

  const comparedRun = (run: string, { windows }: typeof ours) => ({
    run,
    throughput: windows.map(({ throughput }) => throughput),
    powerW: windows.flatMap(({ powerAverageW }) => powerAverageW ?? []),
  })

  it('tests windows of a run against those of another, the first of them left out', () => {
    const { differences, onlyInA, onlyInB } = compareRuns(
      [comparedRun('same', ours), comparedRun('other', ours), comparedRun('gone', ours)],
      [comparedRun('same', ours), comparedRun('other', hunting), comparedRun('new', ours)],
      1,
    )
    expect([onlyInA, onlyInB]).toEqual([['gone'], ['new']])
    expect(differences.map(({ run }) => run)).toEqual(['same', 'other'])
    expect(differences[0]).toMatchObject({ throughputChangePercent: 0, pValue: 1 })
    const counted = ours.windows.slice(1).map(({ throughput }) => throughput)
    expect(differences[1]!.throughputA).toBeCloseTo(counted.reduce((a, b) => a + b) / counted.length, 9)
    expect(differences[1]!.throughputChangePercent).toBeLessThan(-10)
    expect(differences[1]!.pValue).toBeLessThan(0.001)
  })

  it('takes runs of one name for repetitions, each one observation', () => {
    const flat = (run: string, throughput: number) => ({ run, throughput: [0, throughput, throughput], powerW: [] })
    const a = [100, 110, 90].map((level) => flat('x', level))
    const b = [105, 115, 95].map((level) => flat('x', level))
    const [difference] = compareRuns(a, b, 1).differences
    // t = 5 / sqrt(100 / 3 + 100 / 3) = 0.6124 with 4 degrees of freedom.
    expect(difference!.pValue).toBeCloseTo(0.5734, 3)
    expect(difference).toMatchObject({ throughputA: 100, throughputB: 105, powerAW: null })
  })

  it('says nothing of the change where the first side completed nothing', () => {
    const idle = { run: 'x', throughput: [0, 0, 0], powerW: [] }
    const { differences } = compareRuns([idle], [idle], 1)
    expect(differences[0]).toMatchObject({ throughputA: 0, throughputB: 0, throughputChangePercent: null })
    expect(formatDifferences(differences)).not.toMatch(/NaN|Infinity/)
  })
})
