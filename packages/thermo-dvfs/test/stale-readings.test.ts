import { describe, expect, it } from 'vitest'
import { ClockController, type ClockObservation } from '../src/index.js'
import { modelAt } from './law-stories.js'
import { clocksMhz, measure, run, ToyBoard } from './toy-board.js'

/** Power used in the last 30 s of a 90 s run, percent of a cap that goes from 150 W to 110 W and then to 140 W. */
function usedPercent(disturb: (timeMs: number, seen: ClockObservation) => ClockObservation): number {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  controller.setPlant(clocksMhz.map(modelAt))
  const capAt = (timeMs: number) => (timeMs < 20_000 ? 150 : timeMs < 40_000 ? 110 : 140)
  const board = new ToyBoard({ seed: 5, instantNoiseW: 1 }, modelAt)
  return measure(run(controller, board, { durationMs: 90_000, capAt, disturb }), 60_000).utilisationPercent
}

describe('a reading that is of no use any more', () => {
  it('does not hold the clock down: instant ones that vanish while the last is above the cap', () => {
    const used = usedPercent((timeMs, seen) => (timeMs > 20_000 ? { ...seen, powerInstantW: null } : seen))
    expect(used).toBeGreaterThan(95)
  })

  it('does not hold the clock down: a plain one that is absurd, beside instant ones that are good', () => {
    const once = usedPercent((timeMs, seen) => {
      const powerAverageW = timeMs === 20_000 ? 65_535 : null
      return timeMs >= 20_000 ? { ...seen, powerAverageW } : seen
    })
    expect(once).toBeGreaterThan(95)
    const always = usedPercent((timeMs, seen) => (timeMs > 20_000 ? { ...seen, powerAverageW: 65_535 } : seen))
    expect(always).toBeGreaterThan(95)
  })
})

/** Clocks that are asked for on a board that matches its model, by step of 0.1 s. */
function clocksAsked(
  durationMs: number,
  disturb: (timeMs: number) => { capW?: number; load?: number; read?: boolean },
) {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  const modelW = (clockMhz: number) => 60 + 0.14 * (clockMhz - 210)
  controller.setPlant(clocksMhz.map(modelW))
  const watts: number[] = []
  const asked = [clocksMhz[0]!]
  for (let timeMs = 0; timeMs < durationMs; timeMs += 100) {
    const { capW = 121.7, load = 1, read = true } = disturb(timeMs)
    const smClockMhz = asked.at(-1)!
    watts.push(load * modelW(smClockMhz))
    const second = watts.slice(-10)
    const powerAverageW = read ? second.reduce((sum, powerW) => sum + powerW) / second.length : null
    const seen = { powerAverageW, powerInstantW: read ? watts.at(-1)! : null, smClockMhz, loading: false }
    asked.push(controller.step({ timeMs, powerCapW: capW, powerLimitW: null, ...seen }).smClockMhz)
  }
  return asked.slice(1)
}

describe('the clock', () => {
  it('does not rise for a slightly higher cap while readings are missing', () => {
    const asked = (read: boolean) =>
      clocksAsked(61_300, (timeMs) => ({ capW: timeMs < 60_500 ? 121.7 : 122, read: read || timeMs < 60_000 }))
    expect(asked(true).at(-1)).toBeGreaterThan(asked(true)[599]!)
    expect(asked(false).at(-1)).toBe(asked(false)[599])
  })

  it('is as before, seconds after a surge of the load, because past energy explains the high mean', () => {
    const asked = clocksAsked(65_000, (timeMs) => ({ load: timeMs >= 60_000 && timeMs < 60_600 ? 1.15 : 1 }))
    expect(Math.min(...asked.slice(600))).toBeLessThan(asked[599]!)
    expect(asked.at(-1)).toBe(asked[599])
  })
})
