import { expect, it } from 'vitest'
import { ClockController, publishedPower } from '../src/index.js'
import { clocksMhz, law, ToyBoard } from './toy-board.js'

const modelAt = (clockMhz: number): number => publishedPower(law, clockMhz)
const CAP_W = 130
const STATE_MHZ = 15

it('a raise goes no further at once than in proportion to the power of now, however flat its slope has been so far', () => {
  // A fifth as steep as the model: what a board draws whose tenants wait for memory, up to where they no longer do.
  const board = new ToyBoard({ instantNoiseW: 0.3, truth: (modelW) => 65 + 0.2 * modelW, seed: 3 }, modelAt)
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  controller.setPlant(clocksMhz.map(modelAt))
  let clockMhz = 210
  let raises = 0
  for (let timeMs = 0; timeMs < 40_000; timeMs += 100) {
    for (let i = 0; i < 10; i++) board.tick()
    const powerCapW = timeMs < 20_000 ? 0.66 * CAP_W : timeMs < 20_500 ? 0.67 * CAP_W : CAP_W
    const seen = { smClockMhz: board.clockMhz, loading: false, ...board.read('both') }
    const action = controller.step({ timeMs, powerCapW, ...seen })
    // A new cap is planned for; raises are what follows.
    if (timeMs > 21_000 && action.smClockMhz > clockMhz) {
      raises++
      const share = action.targetPowerW / board.powerW
      const most = clocksMhz.findLast((each) => modelAt(each) <= 1.02 * share * modelAt(clockMhz))!
      expect(action.smClockMhz).toBeLessThanOrEqual(most + STATE_MHZ)
    }
    clockMhz = action.smClockMhz
    board.request(clockMhz)
  }
  expect(raises).toBeGreaterThan(0)
  expect(clockMhz).toBe(clocksMhz.at(-1))
})
