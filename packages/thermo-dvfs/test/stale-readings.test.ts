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
