import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'
import { clocksMhz, modelAt, run, ToyBoard } from './toy-board.js'

const CAP_W = 130
const FREEZE_MS = 15_000
const FROZEN_MS = 3000
const pauseReadings = ['both', 'one-second-average', 'part-time'] as const

/** Highest clock of the last 20 of 90 s, MHz. The cap falls to `CAP_W` at `stepMs`. */
function endMhz(reading: (typeof pauseReadings)[number], gain: number, noticeMs: number, stepMs: number): number {
  const controller = new ClockController({
    smClocksMhz: clocksMhz,
    reading: reading === 'part-time' ? 'part-time' : 'one-second-average',
  })
  controller.setPlant(clocksMhz.map(modelAt))
  const truth = (modelW: number) => gain * modelW
  const board = new ToyBoard({ truth, instantNoiseW: 1 }, modelAt)
  let workedMs = 0
  let held: ReturnType<ToyBoard['read']> | undefined
  const trace = run(controller, board, {
    durationMs: 90_000,
    reading,
    capAt: (timeMs) => (timeMs < stepMs ? 200 : CAP_W),
    disturb: (timeMs, seen) => {
      const works = timeMs < 10_000 || timeMs % 700 < 500
      board.activity = works ? 1 : 0
      if (works) workedMs = timeMs
      if (held === undefined || timeMs < FREEZE_MS || timeMs >= FREEZE_MS + FROZEN_MS) {
        held = { powerAverageW: seen.powerAverageW, powerInstantW: seen.powerInstantW }
      }
      return { ...seen, ...held, activeShare: timeMs - workedMs <= noticeMs ? 1 : 0, stallNoticeMs: noticeMs }
    },
  })
  return Math.max(...trace.clockMhz.slice(-2000))
}

describe('a load that works for 500 ms and pauses for 200 ms, and readings that freeze while the cap falls', () => {
  it('leave the clock at its lowest in at most 7 of 135 cases', () => {
    const ends = pauseReadings.flatMap((reading) =>
      [0.8, 0.9, 1, 1.1, 1.2].flatMap((gain) =>
        [0, 100, 300].flatMap((noticeMs) =>
          [-500, 1000, 2500].map((afterMs) => endMhz(reading, gain, noticeMs, FREEZE_MS + afterMs)),
        ),
      ),
    )
    expect(ends).toHaveLength(135)
    expect(ends.filter((mhz) => mhz <= 300).length).toBeLessThanOrEqual(7)
  })
})

describe('tenants that are exchanged while readings are frozen', () => {
  it('use most of the cap: the ratio was learnt at the power before the freeze', () => {
    const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
    controller.setPlant(clocksMhz.map(modelAt))
    const board = new ToyBoard({ instantNoiseW: 1 }, modelAt)
    let held: ReturnType<ToyBoard['read']> | undefined
    let heavy = false
    const trace = run(controller, board, {
      durationMs: 28_000,
      capAt: (timeMs) => (timeMs < 20_000 ? 80 : 150),
      disturb: (timeMs, seen) => {
        if (timeMs < 19_900 || held === undefined) {
          held = { powerAverageW: seen.powerAverageW, powerInstantW: seen.powerInstantW }
        }
        if (timeMs >= 22_000 && !heavy) {
          heavy = true
          board.loadFactor = 1.6
          controller.setPlant(clocksMhz.map((mhz) => 1.6 * modelAt(mhz)))
        }
        return { ...seen, ...held }
      },
    })
    expect(1.6 * modelAt(trace.clockMhz[trace.timeMs.indexOf(23_500)]!)).toBeGreaterThan(0.7 * 150)
  })
})

describe('a load that seldom works, and whose batches fall between two readings', () => {
  it.each(['both', 'part-time'] as const)('does not make good readings frozen ones (%s)', (reading) => {
    const controller = new ClockController({
      smClocksMhz: clocksMhz,
      reading: reading === 'part-time' ? 'part-time' : 'one-second-average',
    })
    controller.setPlant(clocksMhz.map(modelAt))
    const board = new ToyBoard({ instantNoiseW: 0.2, quantumW: 1 }, modelAt)
    let workedMs = 0
    let untilMs = 0
    const trace = run(controller, board, {
      durationMs: 60_000,
      reading,
      capAt: () => CAP_W,
      disturb: (timeMs, seen) => {
        if (timeMs < 10_000) workedMs = timeMs
        else if (timeMs % 5000 === 0) untilMs = timeMs + 420
        board.activity = timeMs < 10_000 ? 1 : 0
        return { ...seen, activeShare: timeMs - workedMs <= 420 || timeMs <= untilMs ? 1 : 0, stallNoticeMs: 420 }
      },
    })
    expect(trace.status).not.toContain('blind')
  })
})

describe('a load that pauses while readings are frozen', () => {
  it('does not make them good: no ratio is learnt from them', () => {
    const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
    controller.setPlant(clocksMhz.map(modelAt))
    const board = new ToyBoard({ instantNoiseW: 1 }, modelAt)
    let held: ReturnType<ToyBoard['read']> | undefined
    let workedMs = 0
    const trace = run(controller, board, {
      durationMs: 26_000,
      capAt: (timeMs) => (timeMs < 11_000 ? 200 : CAP_W),
      disturb: (timeMs, seen) => {
        board.activity = timeMs >= 12_600 && timeMs < 18_600 ? 0 : 1
        if (board.activity === 1) workedMs = timeMs
        if (timeMs < 10_500 || held === undefined) {
          held = { powerAverageW: seen.powerAverageW, powerInstantW: seen.powerInstantW }
        }
        return { ...seen, ...held, activeShare: timeMs - workedMs <= 300 ? 1 : 0, stallNoticeMs: 300 }
      },
    })
    expect(new Set(trace.seen.slice(1200).map(({ sensor }) => sensor))).toEqual(new Set(['frozen']))
  })
})
