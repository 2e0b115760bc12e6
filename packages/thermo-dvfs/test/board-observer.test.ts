import { describe, expect, it } from 'vitest'
import { BoardObserver } from '../src/board-observer.js'
import type { ClockObservation } from '../src/clock-observation.js'
import { defaultClockTuning as tuning } from '../src/clock-tuning.js'

const CAP_W = 150
const clocksMhz = Array.from({ length: 41 }, (_, i) => 600 + 15 * i)
const modelW = clocksMhz.map((mhz) => 60 + 0.12 * (mhz - 600))

/** A board that draws what the model says, with a witness that observes it each 100 ms. */
class Observed {
  readonly observer: BoardObserver
  timeMs = 0
  index: number
  /** True power over the model's. */
  factor = 1
  readonly #lateSteps: number
  readonly #instantsW: number[] = []

  constructor({ averages = true, lateMs = 0 } = {}) {
    this.#lateSteps = lateMs / 100
    this.observer = new BoardObserver(clocksMhz, tuning, averages)
    this.observer.setPlant(modelW, 0, false)
    this.index = this.observer.begin(0, CAP_W)
    this.observer.setOut(this.index)
  }

  /** @param asked more than the state that the board runs */
  for(durationMs: number, more: Partial<ClockObservation> = {}, asked = 0): this {
    for (const endMs = this.timeMs + durationMs; this.timeMs < endMs; ) {
      this.timeMs += 100
      // A sensor that never says the same twice.
      this.#instantsW.push(this.factor * modelW[this.index]! + (this.timeMs % 200 === 0 ? 0.1 : -0.1))
      const seen = this.#instantsW.slice(0, this.#instantsW.length - this.#lateSteps)
      const lately = seen.slice(-10)
      const averageW = lately.length === 0 ? null : lately.reduce((sum, powerW) => sum + powerW, 0) / lately.length
      this.observer.observe(
        {
          timeMs: this.timeMs,
          powerCapW: CAP_W,
          powerAverageW: averageW,
          powerInstantW: seen.at(-1) ?? null,
          smClockMhz: clocksMhz[this.index]!,
          loading: false,
          ...more,
        },
        CAP_W,
        this.index + asked,
        false,
      )
    }
    return this
  }

  drawing(factor: number): this {
    this.factor = factor
    return this
  }

  moveBy(steps: number): this {
    this.index += steps
    this.observer.ask()
    return this
  }
}

describe('what is known of a board', () => {
  it.each([
    ['a one-second average', true, 1500],
    ['an instant reading', false, 600],
  ])('is nothing new for the window of %s and half a second after tenants loaded', (_, averages, quietMs) => {
    const board = new Observed({ averages }).for(5000)
    expect(board.observer.quiet).toBe(false)
    board.for(1000, { loading: true }).for(quietMs - 100)
    expect(board.observer.quiet).toBe(true)
    expect(board.for(100).observer.quiet).toBe(false)
  })

  it('begins anew with other tenants while it runs, and leaves no trace of plants before it does', () => {
    const board = new Observed().for(5000)
    expect(board.observer.load.mostProbable).toBe('full')
    board.observer.setPlant(modelW, board.index, true)
    expect(board.observer.load.mostProbable).toBe('changing')
    expect(board.observer.quiet).toBe(true)
    const [once, twice] = [1, 2].map((times) => {
      const observer = new BoardObserver(clocksMhz, tuning, true)
      for (let i = 0; i < times; i++) observer.setPlant(modelW, 3, false)
      return observer.state()
    })
    expect(twice).toEqual(once)
    expect(twice!.history.applied.startsMs).toEqual([])
  })

  it('carries over to other tenants as the ratio of the board to the model', () => {
    const board = new Observed().for(5000)
    const doubled = modelW.map((powerW) => 2 * powerW)
    board.observer.setPlant(doubled, board.index, true)
    expect(board.observer.power(board.index) / doubled[board.index]!).toBeCloseTo(1, 2)
  })
})

describe('a load that comes back heavier than it went', () => {
  it('is not taken for a light one by means that still hold the pause', () => {
    const busy = { activeShare: 1, smUtilPercent: 100 }
    const board = new Observed().for(6000, busy)
    // A lighter network, then nothing, then one that is heavier than both, while the clock moves.
    board.drawing(0.75).for(20_000, busy)
    expect(board.observer.power(board.index)).toBeLessThan(0.8 * modelW[board.index]!)
    board.drawing(0.3).for(3000, { idle: true, smUtilPercent: 0 })
    board.drawing(1.2).for(100, busy).moveBy(-12)
    for (let i = 0; i < 20; i++) {
      board.for(100, busy)
      expect(board.observer.power(board.index)).toBeGreaterThan(0.7 * modelW[board.index]!)
    }
    expect(board.for(3000, busy).observer.power(board.index)).toBeGreaterThan(1.1 * modelW[board.index]!)
  })
})

describe('readings of a board', () => {
  it('are prompt as soon as three of them show a move of the clock', () => {
    const board = new Observed().for(5000)
    expect(board.observer.prompt).toBe(false)
    board.moveBy(-15).for(600)
    expect(board.observer.prompt).toBe(true)
    expect(board.observer.latenessMs).toBe(0)
  })

  it('are not prompt where they show it a second later', () => {
    const board = new Observed({ lateMs: 1000 }).for(6000).moveBy(-15).for(600)
    expect(board.observer.prompt).toBe(false)
    board.for(5000).moveBy(15).for(5000)
    expect(board.observer.prompt).toBe(false)
    expect(board.observer.latenessMs).toBe(1000)
  })

  it.each<[string, Partial<ClockObservation>, number, number]>([
    ['tenants settle', { loading: true }, 0, 500],
    ['only some tenants work', { activeShare: 0.5 }, 0, 0],
    ['the board runs another clock than was asked for', {}, 10, 0],
  ])('say nothing of that while %s', (_, more, asked, settledMs) => {
    const board = new Observed().for(5000).for(3000, more, asked).for(settledMs).moveBy(-15)
    expect(board.for(600, more.loading ? {} : more, asked).observer.prompt).toBe(false)
  })
})

describe('tenants that are being started', () => {
  it('are held against what the clock that was asked for draws, whatever the board ran before', () => {
    const board = new Observed().for(6000)
    const light = board.moveBy(-20).index
    // Less than the clock before draws, and far more than this one does with what ran.
    board.drawing(1.3).for(3000, { loading: true, smClockMhz: null })
    expect(1.3 * modelW[light]!).toBeLessThan(modelW[light + 20]!)
    expect(board.observer.power(light)).toBeGreaterThan(1.2 * modelW[light]!)
  })
})
