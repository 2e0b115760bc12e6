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
  let delayMs = 0
  const told: { powerAverageW: number | null; powerInstantW: number | null }[] = []
  for (let timeMs = 0; timeMs <= 1000 * seconds; timeMs += 100) {
    const powerCapW = timeMs < 10_000 ? 130 : caps[Math.floor(timeMs / 2000) % caps.length]!
    const { powerAverageW, powerInstantW } = board.read('both')
    told.push({ powerAverageW: averageWindow === 'both' ? powerAverageW : powerInstantW, powerInstantW })
    const late = told.at(-1 - lateMs / 100) ?? { powerAverageW: null, powerInstantW: null }
    const action = controller.step({ timeMs, powerCapW, ...late, smClockMhz: board.clockMhz, loading: false })
    board.request(action.smClockMhz)
    delayMs = action.seen.delayMs
    for (let i = 0; i < 10; i++) board.tick()
  }
  return delayMs
}

describe('readings under a cap that never rests', () => {
  it.each([0, 500, 1000, 1500])('tell within two moves that they are %d ms late', (lateMs) => {
    expect(Math.abs(underMovingCap(lateMs, 14) - lateMs)).toBeLessThanOrEqual(250)
  })

  it('tell it also where what is called a mean of a second is none', () => {
    expect(underMovingCap(0, 14, 'instant-twice')).toBe(0)
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

describe('the start of the load after a pause of three seconds', () => {
  it.each([0, 700, 1300, 1900])('tells that readings are %d ms late, and the clock waits for it', (lateMs) => {
    const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'part-time' })
    controller.setPlant(clocksMhz.map(modelAt))
    const board = new ToyBoard({ seed: 11, instantNoiseW: 1, truth: (modelW) => 1.1 * modelW }, modelAt)
    const told: (number | null)[] = []
    const clocks: number[] = []
    let highestW = 0
    for (let timeMs = 0; timeMs <= 20_000; timeMs += 100) {
      const loading = timeMs < 3000
      board.activity = loading ? 0 : 1
      told.push(board.read('both').powerInstantW ?? null)
      const powerInstantW = told.at(-1 - lateMs / 100) ?? null
      const seen = { powerAverageW: null, powerInstantW, smClockMhz: board.clockMhz, loading, activeShare: 1 }
      const action = controller.step({ timeMs, powerCapW: 120, ...seen })
      if (timeMs === 3000 + lateMs) expect(Math.max(...clocks)).toBe(clocks[0])
      if (timeMs === 4000 + lateMs) expect(Math.abs(action.seen.delayMs - lateMs)).toBeLessThanOrEqual(200)
      clocks.push(action.smClockMhz)
      board.request(action.smClockMhz)
      for (let i = 0; i < 10; i++) board.tick()
      highestW = Math.max(highestW, timeMs < 3000 + lateMs + 3000 ? 0 : board.secondW)
    }
    expect(highestW).toBeLessThan(1.01 * 120)
    expect(board.secondW).toBeGreaterThan(0.96 * 120)
  })
})
