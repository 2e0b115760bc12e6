import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)

/** How unsure the level is when tenants are back after two seconds of another share of them at work, percent. */
function unsureAfter(awayShare: number | null, countedFromMs = 0): number {
  const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
  controller.setPlant(smClocksMhz.map((mhz) => 60 + 0.14 * (mhz - 210)))
  let smClockMhz = 210
  let most = 0
  for (let timeMs = 0; timeMs < 35_000; timeMs += 100) {
    const away = timeMs >= 30_000 && timeMs < 32_000
    const activeShare = timeMs < countedFromMs ? null : away ? awayShare : 1
    const powerW = (away ? 40 : 60 + 0.14 * (smClockMhz - 210)) + (timeMs % 200) / 10_000
    const seen = { powerAverageW: powerW, powerInstantW: powerW, smClockMhz, activeShare }
    ;({ smClockMhz } = controller.step({ timeMs, powerCapW: 150, loading: false, stallNoticeMs: 300, ...seen }))
    const { levelVariance } = controller.serialise().board.power.estimate
    if (timeMs > 32_000) most = Math.max(most, 100 * Math.sqrt(levelVariance))
  }
  return most
}

describe('tenants that are back', () => {
  it('are unsure where none of them ran meanwhile: they may be others', () => {
    expect(unsureAfter(null)).toBeGreaterThan(2)
  })

  it('are what they were where nobody has counted them before', () => {
    expect(unsureAfter(0, 34_000)).toBeLessThan(1.5)
  })

  it('are what they were where they only stood still', () => {
    expect(unsureAfter(0)).toBeLessThan(1.5)
  })
})
