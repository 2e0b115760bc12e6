import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

const smClocksMhz = Array.from({ length: 41 }, (_, i) => 600 + 30 * i)
const powerAt = (clockMhz: number) => 60 + clockMhz / 10
const CAP_W = 180
const HELD_MHZ = 900

/** The first clock that is asked for when a load grows by a share whose clock firmware has been holding at 900 MHz for some seconds. */
function firstAsked(grows: number, told: { readonly throttled?: boolean; readonly powerLimitW?: number }): number {
  const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
  controller.setPlant(smClocksMhz.map(powerAt))
  let asked = 0
  for (let timeMs = 0; timeMs < 20_000; timeMs += 100) {
    const clockMhz = timeMs < 8000 ? asked || HELD_MHZ : Math.min(asked, HELD_MHZ)
    const powerW = (timeMs < 14_000 ? 1 : 1 + grows) * powerAt(clockMhz) + (timeMs % 300) / 3000
    const readings = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz: clockMhz, activeShare: 1 }
    const seen = { timeMs, powerCapW: CAP_W, loading: false, ...readings }
    const { smClockMhz } = controller.step(timeMs < 8000 ? seen : { ...seen, ...told })
    if (timeMs >= 14_000 && smClockMhz < asked) return smClockMhz
    asked = smClockMhz
  }
  return asked
}

describe('a load that grows while firmware holds its clock down', () => {
  it('is not asked to run above where it is held: that would only set it free for a moment', () => {
    for (const grows of [0.05, 0.1, 0.2]) {
      expect(firstAsked(grows, { throttled: true })).toBeLessThanOrEqual(HELD_MHZ)
    }
    expect(firstAsked(0.1, { powerLimitW: CAP_W })).toBeLessThanOrEqual(HELD_MHZ)
    expect(firstAsked(0.1, { throttled: true, powerLimitW: CAP_W })).toBeLessThanOrEqual(HELD_MHZ)
  })
})
