import { describe, expect, it } from 'vitest'
import { ClockController, type ClockControllerOptions, type ClockObservation } from '../src/index.js'
import { modelAt } from './law-stories.js'
import { type BoardOptions, clocksMhz, ToyBoard } from './toy-board.js'

interface Story {
  readonly options?: Partial<ClockControllerOptions>
  readonly board?: BoardOptions
  readonly reading?: 'both' | 'one-second-average' | 'part-time'
  readonly capAt?: (timeMs: number) => number
  /** Before each step: may change the board and what it is, and what is told of it. */
  readonly at?: (timeMs: number, seen: ClockObservation, board: ToyBoard, controller: ClockController) => object
}

const heavier: BoardOptions = { truth: (modelW) => 1.2 * modelW }
const between = (timeMs: number, fromS: number, toS: number) => timeMs >= 1000 * fromS && timeMs < 1000 * toS
let joules = 0
let late: { powerAverageW: number | null }[] = []

const stories: Readonly<Record<string, Story>> = {
  'a heavier load than modelled, under a cap that moves': {
    board: heavier,
    capAt: (timeMs) => (between(timeMs, 10, 18) ? 110 : between(timeMs, 18, 18.3) ? 150.5 : 180),
  },
  'part-time readings with much noise': {
    options: { reading: 'part-time' },
    reading: 'part-time',
    board: { ...heavier, instantNoiseW: 6, rippleW: 5 },
  },
  'only the mean of a second, some of them lost, of a board that warms up': {
    reading: 'one-second-average',
    board: { leakage: 0.15, dropped: 0.15, actuationMs: 150 },
  },
  'tenants that load, stall and come back heavier': {
    at: (timeMs, _, board) => {
      const stalled = between(timeMs, 11, 15)
      board.activity = timeMs < 3000 ? 0.2 : stalled ? 0.3 : 1
      board.loadFactor = timeMs >= 15_000 ? 1.3 : 1
      return {
        loading: timeMs < 3000,
        activeShare: stalled ? 0.5 : 1,
        stallNoticeMs: 300,
        smUtilPercent: timeMs < 3000 || stalled ? 40 : 97,
      }
    },
  },
  'a lighter load that the tenants say nothing of, and a board that says it is idle': {
    at: (timeMs, _, board) => {
      board.loadFactor = timeMs >= 8000 ? 0.75 : 1
      const idle = between(timeMs, 16, 20)
      board.activity = idle ? 0 : 1
      return { idle, activeShare: timeMs < 8000 ? 1 : null }
    },
  },
  'firmware that throttles, and says so': {
    at: (timeMs, _, board) => {
      const throttled = between(timeMs, 6, 14)
      if (throttled && board.clockMhz > 900) board.clockMhz = 900
      return { throttled, smClockMhz: board.clockMhz }
    },
  },
  'a lost clock, refused and then taken again': {
    board: heavier,
    at: (timeMs, _, board) => {
      const lost = between(timeMs, 7, 12)
      if (lost) board.clockMhz = 1410
      return { refused: between(timeMs, 9, 12), smClockMhz: board.clockMhz }
    },
  },
  'readings that stop, and come back': {
    board: heavier,
    at: (timeMs) => (between(timeMs, 8, 17) ? { powerAverageW: null, powerInstantW: null } : {}),
  },
  'readings that freeze, beside an energy counter': {
    at: (timeMs, _, board) => {
      joules = timeMs === 0 ? 0 : joules + board.powerW / 10
      board.loadFactor = timeMs >= 12_000 ? 1.4 : 1
      const frozen = timeMs >= 9000 ? { powerAverageW: 149, powerInstantW: 149 } : {}
      return { ...frozen, energyJ: joules }
    },
  },
  'readings a tenth too low, beside another meter': {
    at: (_, { powerAverageW, powerInstantW }, board) => ({
      powerAverageW: powerAverageW === null ? null : 0.9 * powerAverageW,
      powerInstantW: powerInstantW === null ? null : 0.9 * powerInstantW,
      meterPowerW: board.powerW,
    }),
  },
  'readings that come a second late': {
    reading: 'one-second-average',
    capAt: (timeMs) => (Math.floor(timeMs / 6000) % 2 === 0 ? 150 : 120),
    at: (timeMs, { powerAverageW }) => {
      if (timeMs === 0) late = []
      late.push({ powerAverageW })
      return late.at(-11) ?? { powerAverageW: null }
    },
  },
  "the board's own limit at the cap": {
    board: heavier,
    at: (_, __, board) => {
      if (board.powerW > 148) board.clockMhz = Math.max(210, board.clockMhz - 30)
      return { powerLimitW: 150, throttled: board.powerW > 146, smClockMhz: board.clockMhz }
    },
  },
  'a ceiling, and tenants of another power': {
    options: { sensorTolerancePercent: 3, tuning: { guardPercent: 3 } },
    at: (timeMs, _, board, controller) => {
      if (timeMs === 9000) controller.setPlant(clocksMhz.map((mhz) => 0.7 * modelAt(mhz)))
      board.loadFactor = timeMs >= 9000 ? 0.75 : 1
      return between(timeMs, 4, 14) ? { ceilingMhz: 1000 } : {}
    },
  },
  'no clock that is low enough': {
    board: { truth: (modelW) => 2.2 * modelW },
    capAt: (timeMs) => (timeMs < 15_000 ? 100 : 160),
  },
}

/** What the controller asks for, says and believes every four seconds, and how often it moved until then. */
function told({ options, board: boardOptions, reading = 'both', capAt = () => 150, at }: Story): string[] {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average', ...options })
  controller.setPlant(clocksMhz.map(modelAt))
  const board = new ToyBoard({ seed: 5, instantNoiseW: 1, ...boardOptions }, modelAt)
  const lines: string[] = []
  let moves = 0
  let beforeMhz = 0
  for (let timeMs = 0; timeMs <= 24_000; timeMs += 100) {
    const read = {
      timeMs,
      powerCapW: capAt(timeMs),
      ...board.read(reading),
      smClockMhz: board.clockMhz,
      loading: false,
    }
    const action = controller.step({ ...read, ...at?.(timeMs, read, board, controller) })
    if (action.smClockMhz !== beforeMhz) moves++
    beforeMhz = action.smClockMhz
    board.request(action.smClockMhz)
    if (timeMs > 0 && timeMs % 4000 === 0) {
      const { load, clock, sensor } = controller.serialise().board
      const believed = [load.belief.probabilities, clock, sensor.probabilities]
      lines.push(
        [
          `${timeMs / 1000} s: ${action.smClockMhz} MHz after ${moves}, ${action.status}`,
          `${action.estimatedPowerW.toFixed(3)} of ${action.targetPowerW.toFixed(3)} W`,
          `late ${action.seen.latenessMs} ms, times ${action.seen.correction.toFixed(4)}`,
          believed.map((each) => each.map((p) => (100 * p).toFixed(2)).join(' ')).join('; '),
        ].join(' | '),
      )
    }
    for (let i = 0; i < 10; i++) board.tick()
  }
  return lines
}

// Every threshold and time constant shows somewhere here. Whoever changes one sees which stories come out otherwise, and whether
// that was meant; figures that are published of the control rest on them.
describe('the same clocks as before', () => {
  it.each(Object.keys(stories))('are asked for with %s', (name) => {
    expect({ [name]: told(stories[name]!) }).toMatchSnapshot()
  })
})
