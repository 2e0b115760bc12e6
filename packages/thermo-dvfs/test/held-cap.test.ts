import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)
const modelW = (clockMhz: number) => 60 + 0.14 * (clockMhz - 210)

/** The clock that it comes to on a board that is as modelled, whose firmware keeps power at its limit. */
function clockUnder(powerCapW: number, powerLimitW: number | null, sensorTolerancePercent = 0): number {
  const controller = new ClockController({ smClocksMhz, reading: 'one-second-average', sensorTolerancePercent })
  controller.setPlant(smClocksMhz.map(modelW))
  let smClockMhz = 210
  for (let timeMs = 0; timeMs < 60_000; timeMs += 100) {
    const powerW = Math.min(modelW(smClockMhz), powerLimitW ?? Number.POSITIVE_INFINITY)
    // The firmware takes back what is too much: the clock that it runs draws no more than its limit.
    const runs = 210 + 15 * Math.floor((powerW - modelW(210) + 1e-9) / 2.1)
    const reading = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz: runs, loading: false }
    ;({ smClockMhz } = controller.step({ timeMs, powerCapW, powerLimitW, ...reading }))
  }
  return smClockMhz
}

describe('a cap that the board holds by its own limit', () => {
  // 119 W lie between 630 MHz (118.8 W) and 645 MHz (120.9 W).
  it('is used to the full: the clock is the lowest that would exceed it, and the firmware takes the rest', () => {
    expect(clockUnder(119, 119)).toBe(645)
  })

  it('is kept by the clock alone where no limit stands near it', () => {
    expect(clockUnder(119, null)).toBeLessThanOrEqual(630)
    expect(clockUnder(119, 150)).toBeLessThanOrEqual(630)
  })

  it('is kept by the clock alone where the sensor is not believed as far as the limit goes', () => {
    expect(modelW(clockUnder(119, 119, 2))).toBeLessThanOrEqual(0.98 * 119)
  })
})
