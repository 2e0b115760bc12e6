import { expect, it } from 'vitest'
import { ClockController, type ClockObservation } from '../src/index.js'
import { modelAt } from './law-stories.js'
import { clocksMhz, run, ToyBoard } from './toy-board.js'

function controllerOf(reading: 'one-second-average' | 'part-time'): ClockController {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading })
  controller.setPlant(clocksMhz.map(modelAt))
  return controller
}

it.each([800, 1400, 1900])('the only reading, %i ms late, is no witness against itself', (lateMs) => {
  const controller = controllerOf('part-time')
  const board = new ToyBoard({ truth: (modelW) => 0.87 * modelW, instantNoiseW: 1 }, modelAt)
  const late: ClockObservation[] = []
  const trace = run(controller, board, {
    durationMs: 30_000,
    reading: 'part-time',
    capAt: (timeMs) => (timeMs % 10_000 < 5000 ? 145 : 125),
    disturb: (_, seen) => {
      late.push(seen)
      if (late.length > lateMs / 100 + 1) late.shift()
      return { ...seen, powerAverageW: late[0]!.powerAverageW, activeShare: 1, stallNoticeMs: 300 }
    },
  })
  expect(trace.seen.some(({ sensor }) => sensor === 'doubted')).toBe(false)
})

it.each([14_000, 15_000])('a plain reading that freezes high at %i ms does not lower the cap for ever', (frozenMs) => {
  const controller = controllerOf('one-second-average')
  const board = new ToyBoard({ instantNoiseW: 1 }, modelAt)
  let frozenW: number | null = null
  const trace = run(controller, board, {
    durationMs: 40_000,
    capAt: (timeMs) => (timeMs < 16_000 ? 190 : 120),
    disturb: (timeMs, seen) => {
      if (timeMs <= frozenMs) frozenW = seen.powerAverageW
      return { ...seen, powerAverageW: frozenW, activeShare: 1, stallNoticeMs: 300 }
    },
  })
  expect(Math.min(...trace.secondW.slice(-1000))).toBeGreaterThan(0.95 * 120)
})
