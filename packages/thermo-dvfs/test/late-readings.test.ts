import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'
import { modelAt } from './law-stories.js'
import { type PausingCase, pausingRun } from './pausing-board.js'
import { clocksMhz, ToyBoard } from './toy-board.js'

const readings: PausingCase['reading'][] = ['both', 'one-second-average', 'part-time']

describe('readings that are late, nothing but the clock holding the cap', () => {
  it.each(
    readings.flatMap((reading) =>
      [600, 1000, 1800].flatMap((lagMs) => [0.6, 1, 1.5].map((gain) => ({ reading, lagMs, gain }))),
    ),
  )('$reading, $lagMs ms late, true power $gain of the model', (given) => {
    const { violationPercent, longestMs, full, changes } = pausingRun(given)
    expect(violationPercent).toBeLessThanOrEqual(1)
    expect(longestMs).toBeLessThanOrEqual(2000)
    expect(full).toBeGreaterThan(0.96)
    expect(changes).toBeLessThan(25)
  })
})

/** A cap that moves every two seconds from 10 s on, seen through readings that are so late: what is known of that, by seconds. */
function underMovingCap(lateMs: number, seconds: number, averageWindow: 'both' | 'instant-twice' = 'both') {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  controller.setPlant(clocksMhz.map(modelAt))
  const board = new ToyBoard({ seed: 7, instantNoiseW: 1 }, modelAt)
  const caps = [150, 90, 170, 100, 140, 110, 165, 95]
  const told: { powerAverageW: number | null; powerInstantW: number | null }[] = []
  for (let timeMs = 0; timeMs <= 1000 * seconds; timeMs += 100) {
    const powerCapW = timeMs < 10_000 ? 130 : caps[Math.floor(timeMs / 2000) % caps.length]!
    const { powerAverageW, powerInstantW } = board.read('both')
    told.push({ powerAverageW: averageWindow === 'both' ? powerAverageW : powerInstantW, powerInstantW })
    const late = told.at(-1 - lateMs / 100) ?? { powerAverageW: null, powerInstantW: null }
    const action = controller.step({ timeMs, powerCapW, ...late, smClockMhz: board.clockMhz, loading: false })
    board.request(action.smClockMhz)
    for (let i = 0; i < 10; i++) board.tick()
  }
  return controller.serialise().board
}

describe('readings under a cap that never rests', () => {
  it.each([0, 500, 1000, 1500])('tell within two moves that they are %d ms late', (lateMs) => {
    const { known, index } = underMovingCap(lateMs, 14).history.lag
    expect(known).toBe(true)
    expect(Math.abs(250 * index - lateMs)).toBeLessThanOrEqual(250)
  })

  it('tell it also where what is called a mean of a second is none', () => {
    expect(underMovingCap(0, 14, 'instant-twice').history.lag).toMatchObject({ known: true, index: 0 })
  })

  it('teach nothing wrong in the sample in which it is found out', () => {
    for (const lateMs of [0, 500, 1000, 1500]) {
      for (let seconds = 14; seconds <= 20; seconds++) {
        const { level, slope } = underMovingCap(lateMs, seconds).power.estimate
        expect(level, `${lateMs} ms late, after ${seconds} s`).toBeGreaterThan(0.9)
        expect(level).toBeLessThan(1.1)
        expect(slope).toBeGreaterThan(0.7)
        expect(slope).toBeLessThan(1.4)
      }
    }
  })
})

describe('a clock that is chosen by late readings', () => {
  it('is as much surer as they are late: a wrong one stays wrong for as long', () => {
    const after = (lateMs: number) => {
      const full = pausingRun({ reading: 'both', lagMs: lateMs, gain: 1 }).full
      return full
    }
    expect(after(1800)).toBeLessThan(after(0))
  })
})
