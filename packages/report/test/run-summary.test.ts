import { describe, expect, it } from 'vitest'
import type { RunRecord } from '../src/record/run-record.js'
import { formatRunRecord, parseRunRecord } from '../src/record/run-record-json.js'
import { steadyThroughput, summarizeRun } from '../src/verdict/run-summary.js'
import { dynamicSetting, fixedSetting, manners, syntheticRun } from './synthetic-runs.js'

const run = syntheticRun(fixedSetting, manners[0]!)

type Figures = readonly [throughput: number, seconds: number, reconfigured: boolean]

function windowsOf(figures: readonly Figures[]): RunRecord['windows'] {
  return figures.map(([throughput, seconds, reconfigured]) => ({
    ...run.windows[0]!,
    startMs: 0,
    endMs: seconds * 1000,
    throughput,
    reconfigured,
  }))
}

const steadyOf = (...figures: readonly Figures[]) => steadyThroughput(windowsOf(figures))

describe('summarizeRun', () => {
  const plain: RunRecord = {
    ...run,
    durationMs: 10_000,
    samples: 500,
    power: { timeMs: [5000, 10_000], powerCapW: [150, 150], sensorW: [100, null], trueW: [100, 140] },
    notes: ['power limit raised to 150 W, the lowest of the board'],
  }

  it('gives the figures of a run', () => {
    const summary = summarizeRun(plain)
    expect(summary).toMatchObject({
      board: run.board,
      algorithm: 'pctodl',
      taskId: 20,
      capW: 150,
      throughput: 50,
      powerSource: 'true',
      meanPowerW: 120,
      timeAboveCapPercent: 0,
      energyPerSampleJ: 2.4,
      verdict: { status: 'holds' },
      notes: plain.notes,
    })
    expect(summary.peakPowerW).toBeCloseTo(140, 9)
  })

  it('falls back on the sensor, and says so, where the truth is not known', () => {
    const { trueW: _, ...power } = plain.power
    const summary = summarizeRun({ ...plain, power })
    expect(summary).toMatchObject({ powerSource: 'sensor', meanPowerW: 100, energyPerSampleJ: 2 })
    expect(summary.power.coveragePercent).toBe(50)
  })

  it('calls a cap that changes dynamic', () => {
    expect(summarizeRun(syntheticRun(dynamicSetting, manners[0]!)).capW).toBe('dynamic')
  })

  it('knows no energy per sample where nothing was completed', () => {
    expect(summarizeRun({ ...plain, samples: 0 })).toMatchObject({ throughput: 0, energyPerSampleJ: null })
  })

  it('survives JSON unchanged', () => {
    const summary = summarizeRun(syntheticRun(dynamicSetting, manners[2]!))
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary)
  })
})

describe('steady throughput', () => {
  it('is the mean of the second half, weighted by the length of the windows', () => {
    expect(
      steadyOf(
        [1, 5, false],
        [2, 5, false],
        [3, 5, false],
        [4, 5, false],
        [10, 5, false],
        [20, 10, false],
        [30, 5, false],
        [40, 5, false],
      ),
    ).toBeCloseTo((10 * 5 + 20 * 10 + 30 * 5 + 40 * 5) / 25, 10)
  })

  it('starts at the fourth window of a short run and skips windows with restarts', () => {
    expect(steadyOf([1, 5, false], [2, 5, false], [3, 5, false], [100, 5, true], [7, 5, false])).toBe(7)
  })

  it('is null where no window is left', () => {
    expect(steadyOf([1, 5, false], [2, 5, false], [3, 5, false])).toBeNull()
    expect(steadyOf([1, 5, false], [2, 5, false], [3, 5, false], [4, 5, true])).toBeNull()
  })
})

it.each(['null', '7', '[]', '{}', 'no JSON'])('a record of a run that is %s is refused with its file', (text) => {
  expect(() => parseRunRecord(text, 'run.json')).toThrow(/^run\.json: got .*, expected the record of a run/)
  expect(parseRunRecord(formatRunRecord(run), 'run.json')).toEqual(run)
})
