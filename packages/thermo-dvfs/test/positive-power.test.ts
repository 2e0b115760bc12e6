import { expect, it } from 'vitest'
import { ClockController } from '../src/index.js'
import { modelAt } from './law-stories.js'
import { clocksMhz } from './toy-board.js'

it('estimates power above zero at every clock, however little a load drew at the highest', () => {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'part-time' })
  controller.setPlant(clocksMhz.map(modelAt))
  let smClockMhz = clocksMhz[0]!
  for (let timeMs = 0; timeMs < 40_000; timeMs += 100) {
    const powerW = 20 + (timeMs % 300) / 1000
    const powerCapW = timeMs < 30_000 ? 300 : 19
    const reading = { powerAverageW: powerW, powerInstantW: null, smClockMhz, loading: false, activeShare: 1 }
    const action = controller.step({ timeMs, powerCapW, ...reading })
    expect(action.estimatedPowerW).toBeGreaterThan(0)
    smClockMhz = action.smClockMhz
  }
})
