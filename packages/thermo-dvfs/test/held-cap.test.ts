import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)
const modelW = (clockMhz: number) => 60 + 0.14 * (clockMhz - 210)

/** Final clock on a board that matches its model, whose firmware keeps power at its limit. */
function clockUnder(powerCapW: number, powerLimitW: number | null, sensorTolerancePercent = 0): number {
  const controller = new ClockController({ smClocksMhz, reading: 'one-second-average', sensorTolerancePercent })
  controller.setPlant(smClocksMhz.map(modelW))
  let smClockMhz = 210
  for (let timeMs = 0; timeMs < 60_000; timeMs += 100) {
    const powerW = Math.min(modelW(smClockMhz), powerLimitW ?? Number.POSITIVE_INFINITY)
    // The firmware lowers the running clock until it draws no more than the limit.
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

  /**
   * The answer to a mean of the last second that is too high, of a controller that had come to rest at 119 W.
   *
   * @param capAt W, by time
   */
  function afterPeak(
    instantW: number,
    ranMhz: number,
    powerLimitW = 119,
    capAt = (_: number) => 119,
    peakMs = 59_500,
  ): number {
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    controller.setPlant(smClocksMhz.map(modelW))
    let smClockMhz = 210
    for (let timeMs = 0; timeMs < 60_000; timeMs += 100) {
      const peak = timeMs >= peakMs
      const powerAverageW = timeMs === 59_900 ? 120.2 : 119 + (timeMs % 200) / 10_000
      const powerInstantW = peak ? instantW : 119
      const seen = { powerAverageW, powerInstantW, smClockMhz: peak ? ranMhz : Math.min(smClockMhz, 630) }
      const powerCapW = capAt(timeMs)
      ;({ smClockMhz } = controller.step({ timeMs, powerCapW, powerLimitW, loading: false, ...seen }))
    }
    return smClockMhz
  }

  it('believes a mean that they do know of: a limit need not hold what it says', () => {
    expect(afterPeak(120, 645, 119, undefined, 58_500)).toBeLessThan(645)
  })

  it('is used to the full in one step after the load becomes lighter and the firmware holds nothing down', () => {
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    controller.setPlant(smClocksMhz.map(modelW))
    let asked = 210
    const later = new Set<number>()
    for (let timeMs = 0; timeMs < 90_000; timeMs += 100) {
      const loadW = (clockMhz: number) => (timeMs < 60_000 ? 1.1 : 1) * modelW(clockMhz)
      const smClockMhz = smClocksMhz.findLast((mhz) => mhz <= asked && loadW(mhz) <= 119)!
      const powerW = Math.min(loadW(asked), 119)
      const seen = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz, loading: false }
      ;({ smClockMhz: asked } = controller.step({ timeMs, powerCapW: 119, powerLimitW: 119, ...seen }))
      if (timeMs >= 60_000) later.add(asked)
    }
    expect([...later]).toEqual([expect.toSatisfy((mhz: number) => mhz < 645), 645])
  })

  it('does not raise what its firmware holds down: that would only set it free for a moment', () => {
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    controller.setPlant(smClocksMhz.map(modelW))
    const asked: number[] = []
    for (let timeMs = 0; timeMs < 90_000; timeMs += 100) {
      // The load draws less than before, and the firmware has not raised the clock yet.
      const powerW = (timeMs < 60_000 ? Math.min(119, modelW(asked.at(-1) ?? 210)) : 113) + (timeMs % 200) / 10_000
      const smClockMhz = Math.min(asked.at(-1) ?? 210, timeMs < 60_000 ? 630 : 600)
      const seen = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz, throttled: timeMs >= 60_000 }
      asked.push(controller.step({ timeMs, powerCapW: 119, powerLimitW: 119, loading: false, ...seen }).smClockMhz)
    }
    expect(asked.at(-1)).toBe(asked[599])
  })

  /** Requested and running clocks on a board whose load grows at 20 s, and whose firmware holds it at the cap. */
  function growing(
    growth: number,
    capAt: (timeMs: number) => number,
    highestAt = (_: number) => Number.POSITIVE_INFINITY,
  ): { asked: number[]; ran: number[] } {
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    controller.setPlant(smClocksMhz.map(modelW))
    const asked: number[] = []
    const ran: number[] = []
    for (let timeMs = 0; timeMs < 30_000; timeMs += 100) {
      const factor = timeMs < 20_000 ? 1 : growth
      const powerCapW = capAt(timeMs)
      const lockMhz = asked.at(-1) ?? 210
      // The reading was taken under the limit of the step before.
      const limitW = capAt(Math.max(0, timeMs - 100))
      const topMhz = Math.min(lockMhz, highestAt(timeMs))
      const smClockMhz = smClocksMhz.findLast((clock) => clock <= topMhz && factor * modelW(clock) <= limitW)!
      const powerW = factor * modelW(smClockMhz) + (timeMs % 200) / 10_000
      const readings = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz, activeShare: 1 }
      const seen = { ...readings, throttled: smClockMhz < lockMhz, loading: false }
      asked.push(controller.step({ timeMs, powerCapW, powerLimitW: powerCapW, ...seen }).smClockMhz)
      ran.push(smClockMhz)
    }
    return { asked, ran }
  }

  it('is followed upwards at once, although the firmware held the clock down under the earlier cap', () => {
    const { asked, ran } = growing(1.028, (timeMs) => (timeMs < 25_000 ? 119 : 160))
    expect(asked[249]! - ran[249]!).toBeGreaterThan(30)
    expect(modelW(asked[250]!)).toBeGreaterThan(0.95 * (160 / 1.028))
  })

  it('is held by a lock one state above the clock that the firmware holds, if the load grew', () => {
    const { asked, ran } = growing(1.05, () => 119)
    expect(asked.at(-1)).toBe(ran.at(-1)! + 15)
  })

  it('does not raise what the firmware of a hot board holds down, after the cap fell', () => {
    const hot = (timeMs: number) => timeMs >= 24_500 && timeMs < 27_000
    const { asked, ran } = growing(
      1.05,
      (timeMs) => (timeMs < 25_000 ? 119 : 118.4),
      (timeMs) => (hot(timeMs) ? 570 : Number.POSITIVE_INFINITY),
    )
    expect(ran[269]).toBe(570)
    expect(asked[269]).toBe(585)
  })

  it('is kept by the clock alone from the step in which the limit proves to leak', () => {
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    controller.setPlant(smClocksMhz.map(modelW))
    let smClockMhz = 210
    for (let timeMs = 0; timeMs <= 20_000 || smClockMhz === 645; timeMs += 100) {
      const powerW = (timeMs < 20_000 ? Math.min(119, modelW(smClockMhz)) : 121) + (timeMs % 200) / 10_000
      const seen = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz, loading: false }
      ;({ smClockMhz } = controller.step({ timeMs, powerCapW: 119, powerLimitW: 119, ...seen }))
    }
    // The highest clock whose estimated power is within the cap; while the firmware trims, one state above it.
    expect(smClockMhz).toBe(615)
  })
})
