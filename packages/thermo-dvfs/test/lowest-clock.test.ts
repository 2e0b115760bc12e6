import { describe, expect, it } from 'vitest'
import { BoardObserver } from '../src/board-observer.js'
import { defaultClockTuning as tuning } from '../src/clock-tuning.js'
import { ClockController } from '../src/index.js'
import { LowestClock } from '../src/lowest-clock.js'

const CAP_W = 100
const clocksMhz = Array.from({ length: 41 }, (_, i) => 600 + 15 * i)
const modelW = clocksMhz.map((mhz) => 60 + 0.12 * (mhz - 600))

/** The lowest clock of a board that is told what it reads, in steps of 50 ms. */
class Watched {
  readonly board: BoardObserver
  readonly lowest: LowestClock
  timeMs = 0
  index = 40
  readonly #answerMs: number
  readonly #activeShare: number
  /** The state that ran at the end of each step. */
  readonly #ran: number[] = []

  /**
   * @param scale of the model's power
   * @param lagMs of power readings
   * @param answerMs of clock readings
   * @param activeShare of the tenants that work: what is read of a part of them teaches nothing
   */
  constructor({ scale = 1, lagMs = 0, answerMs = 0, activeShare = 1 } = {}) {
    this.#answerMs = answerMs
    this.#activeShare = activeShare
    const known = new BoardObserver(clocksMhz, tuning, true)
    known.setPlant(
      modelW.map((powerW) => scale * powerW),
      0,
      false,
    )
    const state = known.state()
    // How late readings are was found out before.
    Object.assign(state.history.lag, { known: true, index: lagMs / 250 })
    Object.assign(state.runClock, { answerMs })
    this.board = new BoardObserver(clocksMhz, tuning, true, state)
    this.board.begin(0, CAP_W)
    this.board.setOut(this.index)
    this.lowest = new LowestClock(this.board, tuning.guardPercent)
  }

  /**
   * @param powerW that is read by both sensors; null where nothing is
   * @returns for how long it has read that until an excess was told, ms
   */
  for(durationMs: number, powerW: number | null, averageOnly = false): number | undefined {
    const fromMs = this.timeMs
    let toldMs: number | undefined
    while (this.timeMs < fromMs + durationMs) {
      this.timeMs += 50
      this.#ran.push(this.index)
      const seen = this.#ran.at(-1 - this.#answerMs / 50) ?? this.#ran[0]!
      // A sensor that never says the same twice.
      const readW = powerW === null ? null : powerW + (this.timeMs % 100 === 0 ? 0.01 : -0.01)
      this.board.observe(
        {
          timeMs: this.timeMs,
          powerCapW: CAP_W,
          powerAverageW: readW,
          powerInstantW: averageOnly ? null : readW,
          smClockMhz: clocksMhz[seen]!,
          loading: false,
          activeShare: this.#activeShare,
          stallNoticeMs: 300,
        },
        CAP_W,
        this.index,
        false,
      )
      this.lowest.observe(this.timeMs, CAP_W, this.index)
      if (this.lowest.state.excess) toldMs ??= this.timeMs - fromMs
    }
    return toldMs
  }

  /** The lowest clock is asked for, and runs from the next step on. */
  lower(): this {
    this.index = 0
    this.board.ask()
    return this
  }

  get infeasible(): boolean {
    return this.lowest.state.infeasible
  }
}

/** A board that has run its highest clock for three seconds, and goes to its lowest. */
function lowered(options: ConstructorParameters<typeof Watched>[0] = {}, atW = 108): Watched {
  const watched = new Watched(options)
  watched.for(3000, atW)
  return watched.lower()
}

describe('readings of the lowest clock above the cap', () => {
  it.each([
    [0, 0, 300],
    [500, 0, 800],
    [1000, 0, 1300],
    // The clock is seen to be the lowest when that is told: what is as late is of the same time.
    [1000, 1000, 1300],
    [500, 1000, 1300],
    [1000, 500, 1300],
  ])(
    'are an excess where they are %d ms late, and those of the clock %d ms, after %d ms',
    (lagMs, answerMs, afterMs) => {
      const toldMs = lowered({ lagMs, answerMs }).for(3000, 108)
      expect(toldMs).toBeGreaterThanOrEqual(afterMs)
      // In that step or the next one, for how late the clock is told is learnt from that telling, too.
      expect(toldMs).toBeLessThanOrEqual(afterMs + (answerMs > 0 ? 50 : 0))
    },
  )

  it('are one only after a mean of a second can be of it, where only such are read', () => {
    expect(lowered().for(3000, 108, true)).toBe(1300)
  })

  it('must be above it by the guard', () => {
    const above = (percent: number) => {
      const watched = lowered({}, 99.5)
      watched.for(6000, 99.5)
      return watched.for(50, CAP_W * (1 + percent / 100)) !== undefined
    }
    expect([above(tuning.guardPercent - 0.1), above(tuning.guardPercent + 0.1)]).toEqual([false, true])
  })

  it('are none of it at another clock, nor where nothing is read', () => {
    expect(new Watched().for(5000, 108)).toBeUndefined()
    const silent = lowered()
    expect(silent.for(5000, null)).toBeUndefined()
    expect(silent.infeasible).toBe(false)
  })

  it('end with it, and are awaited as long again when it is lowered again', () => {
    const watched = lowered()
    watched.for(1000, 108)
    expect(watched.lowest.state).toMatchObject({ excess: true, infeasible: true })
    watched.index = 40
    watched.for(500, 108)
    expect(watched.lowest.state).toMatchObject({ excess: false, infeasible: false })
    expect(watched.lower().for(1000, 108)).toBe(300)
  })
})

it('are none yet in the first step, whatever the time: what the board ran before, nobody knows', () => {
  const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
  controller.setPlant(modelW)
  const told = Array.from({ length: 6 }, (_, i) => {
    const reading = { powerAverageW: 90, powerInstantW: 90 + i / 100, smClockMhz: clocksMhz[0]!, loading: false }
    return controller.step({ timeMs: 1e9 + 100 * i, powerCapW: 50, ...reading }).seen.excess
  })
  expect(told).toEqual([false, false, false, true, true, true])
})

describe('an estimate of the lowest clock above the cap', () => {
  /** 60 W at the lowest clock are taken for 120 W. */
  const misjudged = () => lowered({ scale: 2, activeShare: 0.5 }, 99)

  it('counts until readings of it tell', () => {
    const watched = misjudged()
    watched.for(100, 99)
    expect(watched.board.power(0)).toBeGreaterThan(CAP_W)
    expect(watched.lowest.state).toMatchObject({ excess: false, infeasible: true })
  })

  it('counts no longer once readings of it are well below the cap, and until then goes on to', () => {
    const infeasibleAfter = (readW: number) => {
      const watched = misjudged()
      watched.for(2000, readW)
      return [watched.board.power(0) > CAP_W, watched.infeasible]
    }
    expect(infeasibleAfter(94)).toEqual([true, false])
    expect(infeasibleAfter(96)).toEqual([true, true])
  })

  it('counts again where nothing is read any more', () => {
    const watched = misjudged()
    watched.for(2000, 94)
    expect(watched.infeasible).toBe(false)
    watched.for(100, null)
    expect(watched.infeasible).toBe(true)
  })
})

describe('a lowest clock that was too much', () => {
  it('is enough again a hundredth below the cap, and not before', () => {
    const watched = lowered()
    watched.for(3000, 103)
    expect(watched.infeasible).toBe(true)
    watched.for(6000, 99.5)
    expect(watched.infeasible).toBe(true)
    watched.for(6000, 98.5)
    expect(watched.infeasible).toBe(false)
    // What was enough stays so up to the cap, and the guard beyond it.
    watched.for(6000, 99.5)
    expect(watched.infeasible).toBe(false)
  })
})

it('goes on from its state as if nothing had happened', () => {
  const watched = lowered()
  watched.for(200, 108)
  const copy = new LowestClock(watched.board, tuning.guardPercent, JSON.parse(JSON.stringify(watched.lowest.state)))
  for (let i = 0; i < 4; i++) {
    watched.for(50, 108)
    copy.observe(watched.timeMs, CAP_W, 0)
    expect(copy.state).toEqual(watched.lowest.state)
  }
  expect(copy.state.excess).toBe(true)
})
