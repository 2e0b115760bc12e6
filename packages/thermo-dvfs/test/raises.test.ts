import { expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)
const modelW = smClocksMhz.map((clockMhz) => 60 + 0.1 * (clockMhz - 210))
const CAP_W = 110

it('a raise goes no further at once than in proportion to the power of now, however flat its slope has been so far', () => {
  const options = { smClocksMhz, reading: 'one-second-average' } as const
  const lowestW = modelW[0]!
  const step = (controller: ClockController, timeMs: number, powerCapW: number, powerW: number) =>
    controller.step({
      timeMs,
      powerCapW,
      powerAverageW: powerW,
      powerInstantW: powerW,
      smClockMhz: 210,
      loading: false,
      smUtilPercent: 100,
      activeShare: 1,
    })
  const taught = new ClockController(options)
  taught.setPlant(modelW)
  let timeMs = 0
  for (; timeMs < 8000; timeMs += 100) expect(step(taught, timeMs, lowestW, lowestW).smClockMhz).toBe(210)
  const state = taught.serialise()
  // What was learnt on the way here: hardly any power for any clock, and that for sure.
  const { estimate } = state.board.power
  Object.assign(estimate, { slope: 0.2, slopeVariance: 1e-6, covariance: 0, levelVariance: 1e-6 })
  state.board.history.lag.known = true
  state.memory.plannedCapW = CAP_W
  const controller = new ClockController(options, state)
  let raised = 210
  for (; raised === 210 && timeMs < 20_000; timeMs += 100) raised = step(controller, timeMs, CAP_W, lowestW).smClockMhz
  expect(raised).toBeGreaterThan(210)
  const inProportion = smClocksMhz.findLast((_, i) => modelW[i]! <= (CAP_W / lowestW) * lowestW)!
  expect(raised).toBeLessThanOrEqual(inProportion + 15)
})
