import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

describe('a controller whose sensor falls silent', () => {
  it('keeps its clock for three seconds, then steps down before the fourth', () => {
    const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)
    const powerW = (clockMhz: number) => 60 + 0.14 * (clockMhz - 210)
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    controller.setPlant(smClocksMhz.map(powerW))
    const SILENT_MS = 20_000
    const lastSecondW: number[] = []
    let smClockMhz = 210
    let settledMhz = 0
    let steppedMs: number | undefined
    for (let timeMs = 0; timeMs <= SILENT_MS + 6000; timeMs += 100) {
      lastSecondW.push(powerW(smClockMhz))
      if (lastSecondW.length > 10) lastSecondW.shift()
      const averageW = lastSecondW.reduce((sum, watts) => sum + watts) / lastSecondW.length
      const powerAverageW = timeMs > SILENT_MS ? null : averageW
      const reading = { timeMs, powerCapW: 150, powerAverageW, powerInstantW: null, smClockMhz, loading: false }
      ;({ smClockMhz } = controller.step(reading))
      if (timeMs === SILENT_MS) settledMhz = smClockMhz
      if (timeMs > SILENT_MS && smClockMhz < settledMhz) steppedMs ??= timeMs - SILENT_MS
    }
    expect(powerW(settledMhz)).toBeGreaterThan(0.95 * 150)
    expect(steppedMs).toBeGreaterThan(3000)
    expect(steppedMs).toBeLessThanOrEqual(4000)
  })
})
