import { describe, expect, it } from 'vitest'
import { ClockController, type ClockObservation } from '../src/index.js'
import { type BoardOptions, clocksMhz, measure, modelAt, run, settlingMs, ToyBoard, type Trace } from './toy-board.js'

const usual: BoardOptions = { instantNoiseW: 2, rippleW: 1, quantumW: 0.1, seed: 3 }

function settled(options: BoardOptions = usual): { controller: ClockController; board: ToyBoard } {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  controller.setPlant(clocksMhz.map(modelAt))
  const board = new ToyBoard(options, modelAt)
  run(controller, board, { durationMs: 30_000, capAt: () => 150 })
  return { controller, board }
}

const blank = (seen: ClockObservation): ClockObservation => ({ ...seen, powerAverageW: null, powerInstantW: null })
const clockAt = (trace: Trace, timeMs: number): number => trace.clockMhz[trace.timeMs.indexOf(timeMs)]!
const highestClock = (trace: Trace, fromMs: number, toMs: number): number =>
  Math.max(...trace.clockMhz.filter((_, i) => trace.timeMs[i]! > fromMs && trace.timeMs[i]! <= toMs))

describe('readings', () => {
  it('holds, then steps down while no reading arrives, and recovers', () => {
    const { controller, board } = settled()
    const before = board.clockMhz
    const trace = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (timeMs, seen) => (timeMs < 45_000 ? blank(seen) : seen),
    })
    expect(clockAt(trace, 32_000)).toBe(before)
    expect(trace.status[trace.timeMs.indexOf(32_000)]).toBe('blind')
    expect(highestClock(trace, 30_000, 45_000)).toBe(before)
    expect(clockAt(trace, 45_000)).toBeLessThan(before)
    expect(modelAt(clockAt(trace, 45_000))).toBeGreaterThan(0.7 * 150)
    expect(settlingMs(trace, 45_000)).toBeLessThan(15_000)
  })

  it.each([0, -5, Number.NaN, 65_535])('takes a reading of %d W for none', (powerW) => {
    const { controller, board } = settled()
    const before = board.clockMhz
    const trace = run(controller, board, {
      durationMs: 10_000,
      capAt: () => 150,
      disturb: (_, seen) => ({ ...seen, powerAverageW: powerW, powerInstantW: powerW }),
    })
    expect(highestClock(trace, 30_000, 40_000)).toBe(before)
    expect(trace.status.at(-1)).toBe('blind')
  })

  it('notices readings that stand still while the clock moves', () => {
    const { controller, board } = settled()
    const frozen = { powerAverageW: 118, powerInstantW: 118 }
    const trace = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (_, seen) => ({ ...seen, ...frozen }),
    })
    // The controller estimates 118 W, raises the clock, sees no change, and backs off.
    expect(trace.status.at(-1)).toBe('blind')
    expect(measure(trace, 50_000).violationPercent).toBe(0)
    expect(measure(trace, 60_000).utilisationPercent).toBeLessThan(90)
    expect(measure(trace, 30_000).peakPercent).toBeLessThan(35)
  })

  it('never raises on the lower of two sensors that contradict each other', () => {
    const { controller, board } = settled()
    const before = board.clockMhz
    const trace = run(controller, board, {
      durationMs: 30_000,
      capAt: () => 150,
      disturb: (_, seen) => ({ ...seen, powerInstantW: seen.powerInstantW && 0.7 * seen.powerInstantW }),
    })
    expect(highestClock(trace, 34_000, 60_000)).toBeLessThanOrEqual(before + 15)
    expect(measure(trace, 36_000).violationPercent).toBeLessThanOrEqual(1)
  })
})

describe('readings that freeze while the board idles', () => {
  it.each([0, 1])('keeps the cap when the load returns (noise of the idle readings: %d W)', (noiseW) => {
    const { controller, board } = settled({ ...usual, instantNoiseW: noiseW, averageNoiseW: noiseW })
    let frozen: Partial<ClockObservation> = {}
    const trace = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (timeMs, seen) => {
        const idle = timeMs >= 35_000 && timeMs < 50_000
        board.activity = idle ? 0 : 1
        if (timeMs === 40_000) frozen = { powerAverageW: seen.powerAverageW, powerInstantW: seen.powerInstantW }
        return { ...seen, ...frozen, activeShare: board.activity, stallNoticeMs: 300 }
      },
    })
    expect(measure(trace, 50_000).peakPercent).toBeLessThan(1)
    expect(trace.status.at(-1)).toBe('blind')
  })

  it('keeps its clock after idling with readings that do not vary', () => {
    const { controller, board } = settled({ ...usual, instantNoiseW: 0, averageNoiseW: 0, rippleW: 0 })
    const before = board.clockMhz
    const trace = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (timeMs, seen) => {
        board.activity = timeMs >= 35_000 && timeMs < 50_000 ? 0 : 1
        return { ...seen, activeShare: board.activity, stallNoticeMs: 300 }
      },
    })
    expect(Math.min(...trace.clockMhz.slice(500))).toBe(before)
  })
})

describe('readings that come late', () => {
  /** Earlier readings of the sensors. */
  function late(lagMs: number) {
    const queue: Pick<ClockObservation, 'powerAverageW' | 'powerInstantW'>[] = []
    return (_: number, seen: ClockObservation): ClockObservation => {
      queue.push({ powerAverageW: seen.powerAverageW, powerInstantW: seen.powerInstantW })
      return { ...seen, ...(queue.length > lagMs / 100 ? queue.shift()! : queue[0]!) }
    }
  }

  it.each([0, 500, 1000, 1500])('finds out that they are %d ms late, and holds the cap', (lagMs) => {
    const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
    controller.setPlant(clocksMhz.map(modelAt))
    const board = new ToyBoard({ ...usual, truth: (modelW) => 1.1 * modelW }, modelAt)
    const trace = run(controller, board, {
      durationMs: 180_000,
      capAt: (timeMs) => (timeMs < 60_000 ? 160 : timeMs < 120_000 ? 110 : 150),
      disturb: late(lagMs),
    })
    expect(Math.abs(trace.seen.at(-1)!.delayMs - lagMs)).toBeLessThanOrEqual(250)
    expect(measure(trace, 72_000, 119_000).violationPercent).toBeLessThanOrEqual(1)
    expect(measure(trace, 150_000).violationPercent).toBeLessThanOrEqual(1)
    expect(measure(trace, 150_000).utilisationPercent).toBeGreaterThan(95)
    expect(measure(trace, 30_000).longestMs).toBeLessThan(8000)
  })
})

describe('the load', () => {
  it('lowers the clock within a second and a half when the load grows by a sixth', () => {
    const { controller, board } = settled()
    board.loadFactor = 1.17
    const trace = run(controller, board, { durationMs: 60_000, capAt: () => 150 })
    expect(measure(trace, 30_000).longestMs).toBeLessThanOrEqual(1500)
    expect(measure(trace, 32_500).violationPercent).toBeLessThanOrEqual(1)
    expect(measure(trace, 45_000).utilisationPercent).toBeGreaterThan(97)
  })

  it('uses the room that a lighter load leaves', () => {
    const { controller, board } = settled()
    board.loadFactor = 0.85
    const trace = run(controller, board, { durationMs: 60_000, capAt: () => 150 })
    expect(measure(trace, 30_000).violationPercent).toBe(0)
    expect(measure(trace, 60_000).utilisationPercent).toBeGreaterThan(97)
  })

  it('does not raise the clock because loading tenants draw less', () => {
    const { controller, board } = settled()
    const before = board.clockMhz
    const trace = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (timeMs, seen) => {
        board.activity = timeMs < 45_000 ? 0.1 : 1
        return { ...seen, loading: timeMs < 45_000 }
      },
    })
    expect(highestClock(trace, 30_000, 46_500)).toBe(before)
    expect(measure(trace, 45_000).violationPercent).toBeLessThanOrEqual(1)
    expect(measure(trace, 55_000).utilisationPercent).toBeGreaterThan(97)
  })

  it('waits before it believes an idle board, and remembers the loaded one', () => {
    const { controller, board } = settled()
    const before = board.clockMhz
    const idle = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (_, seen) => {
        board.activity = 0.3
        return seen
      },
    })
    expect(highestClock(idle, 30_000, 40_000)).toBe(before)
    expect(clockAt(idle, 90_000)).toBeGreaterThan(before)
    const again = run(controller, board, {
      durationMs: 60_000,
      capAt: () => 150,
      disturb: (timeMs, seen) => {
        board.activity = timeMs < 95_000 ? 0.3 : 1
        return { ...seen, loading: timeMs < 95_000 }
      },
    })
    expect(measure(again, 95_000).violationPercent).toBeLessThanOrEqual(1)
  })
})

describe('the clock', () => {
  it('says when requests are lost, and recovers', () => {
    const { controller, board } = settled()
    const stuckMhz = board.clockMhz
    let mismatches = 0
    for (let i = 0; i < 300; i++) {
      const action = controller.step({
        timeMs: board.timeMs,
        powerCapW: 120,
        ...board.read('both'),
        smClockMhz: stuckMhz,
        loading: false,
      })
      if (action.clockMismatch) mismatches++
      expect(action.smClockMhz).toBeLessThan(stuckMhz)
      for (let tick = 0; tick < 10; tick++) board.tick()
    }
    expect(mismatches).toBeGreaterThan(280)
    const trace = run(controller, board, { durationMs: 45_000, capAt: () => 120 })
    expect(settlingMs(trace, 60_000)).toBeLessThan(15_000)
  })

  it.each([false, true])(
    'is reported as lost or throttled (%s) although one reading in ten is missing',
    (throttled) => {
      const { controller, board } = settled()
      const smClockMhz = board.clockMhz
      const seen: string[] = []
      for (let i = 0; i < 100; i++) {
        const reading = {
          ...board.read('both'),
          smClockMhz: i % 10 === 9 ? null : smClockMhz,
          loading: false,
          throttled,
        }
        const action = controller.step({ timeMs: board.timeMs, powerCapW: throttled ? 200 : 120, ...reading })
        seen.push(action.seen.clock)
        for (let tick = 0; tick < 10; tick++) board.tick()
      }
      expect(new Set(seen.slice(50))).toEqual(new Set([throttled ? 'throttled' : 'lost']))
    },
  )

  it('is not reported as lost after its readings have stopped', () => {
    const { controller, board } = settled()
    const seen: string[] = []
    const trace = run(controller, board, {
      durationMs: 20_000,
      capAt: (timeMs) => (timeMs < 35_000 ? 150 : 120),
      disturb: (timeMs, all) => ({ ...all, smClockMhz: timeMs <= 35_100 ? all.smClockMhz : null }),
    })
    seen.push(
      controller.step({ timeMs: board.timeMs, powerCapW: 120, ...board.read('both'), smClockMhz: null, loading: false })
        .seen.clock,
    )
    expect(seen).toEqual(['asked'])
    expect(measure(trace, 45_000).utilisationPercent).toBeGreaterThan(97)
  })

  it.each([110, 190])('learns nothing wrong while a change to %d W is refused', (powerCapW) => {
    const { controller, board } = settled()
    const ratios: number[] = []
    for (let i = 0; i < 100; i++) {
      const seen = {
        timeMs: board.timeMs,
        powerCapW,
        ...board.read('both'),
        smClockMhz: board.clockMhz,
        loading: false,
      }
      const { estimatedPowerW, biasW } = controller.step({ ...seen, refused: i > 0 })
      ratios.push(estimatedPowerW / (estimatedPowerW - biasW))
      for (let tick = 0; tick < 10; tick++) board.tick()
    }
    expect(Math.abs(ratios.at(-1)! - ratios[0]!)).toBeLessThan(0.014)
    const trace = run(controller, board, { durationMs: 60_000, capAt: () => powerCapW })
    expect(settlingMs(trace, 40_000)).toBeLessThan(8000)
    expect(measure(trace, 42_500).violationPercent).toBe(0)
  })

  it('does not wind up while the firmware throttles', () => {
    const { controller, board } = settled()
    const before = board.clockMhz
    for (let i = 0; i < 300; i++) {
      board.clockMhz = 600
      const action = controller.step({
        timeMs: board.timeMs,
        powerCapW: 150,
        ...board.read('both'),
        smClockMhz: 600,
        loading: false,
      })
      expect(action.smClockMhz).toBeLessThanOrEqual(before)
      for (let tick = 0; tick < 10; tick++) board.tick()
    }
    const trace = run(controller, board, { durationMs: 30_000, capAt: () => 150 })
    expect(measure(trace, 60_000).violationPercent).toBeLessThanOrEqual(1)
  })
})
