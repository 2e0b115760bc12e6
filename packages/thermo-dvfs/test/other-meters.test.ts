import { describe, expect, it } from 'vitest'
import { ClockController, type ClockObservation } from '../src/index.js'
import { modelAt } from './law-stories.js'
import { clocksMhz, type Metrics, measure, run, ToyBoard } from './toy-board.js'

/** Two minutes at 150 W: the last 55 s of them, whose readings are a share of the truth. */
function lastMinute(share: number, meters: (timeMs: number, board: ToyBoard) => Partial<ClockObservation>): Metrics {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  controller.setPlant(clocksMhz.map(modelAt))
  const board = new ToyBoard({ seed: 5, instantNoiseW: 1 }, modelAt)
  const disturb = (timeMs: number, seen: ClockObservation): ClockObservation => {
    const factor = timeMs < 60_000 ? 1 : share
    const powerAverageW = seen.powerAverageW && factor * seen.powerAverageW
    const powerInstantW = seen.powerInstantW && factor * seen.powerInstantW
    return { ...seen, powerAverageW, powerInstantW, ...meters(timeMs, board) }
  }
  return measure(run(controller, board, { durationMs: 120_000, capAt: () => 150, disturb }), 65_000)
}

/** An energy counter that restarts at 30 s, or reports no number then. */
function counter(what: 'restarts' | 'no number') {
  let energyJ = 1e6
  return (timeMs: number, { powerW }: ToyBoard) => {
    energyJ += powerW / 10
    if (timeMs === 30_000 && what === 'no number') return { energyJ: Number.NaN }
    if (timeMs === 30_000) energyJ = 0
    return { energyJ }
  }
}

describe('another meter of a sensor that reads a fifth too little', () => {
  it.each([
    ['an energy counter that began anew before', counter('restarts')],
    ['an energy counter that was no number once', counter('no number')],
    [
      'a meter that was no number once',
      (timeMs: number, { powerW }: ToyBoard) => ({ meterPowerW: timeMs === 30_000 ? Number.NaN : powerW }),
    ],
  ])('keeps the cap: %s', (_, meters) => {
    expect(lastMinute(0.8, meters).violationPercent).toBeLessThanOrEqual(1)
  })

  it('is compared over seconds, not by single samples, also after the energy counter is gone', () => {
    const changes = (noise: number) =>
      lastMinute(1, (timeMs, { powerW }) => ({
        energyJ: timeMs < 20_000 ? timeMs / 10 : null,
        meterPowerW: powerW * (1 + ((timeMs / 100) % 2 ? noise : -noise)),
      })).changes
    expect(changes(0.05)).toBeLessThanOrEqual(changes(0) + 4)
  })
})

it('a clock that is read as no number or as 0 MHz is not known', () => {
  for (const smClockMhz of [0, Number.NaN]) {
    const { utilisationPercent } = lastMinute(1, (timeMs) => (timeMs > 20_000 ? { smClockMhz } : {}))
    expect(utilisationPercent).toBeGreaterThan(97)
  }
})
