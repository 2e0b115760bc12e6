import { describe, expect, it } from 'vitest'
import { PromptReading, type Shown } from '../src/prompt-reading.js'

const CAP_W = 150

/** Tells it a reading each 100 ms, and whether any of them has shown the last move in time. */
class Board {
  readonly prompt = new PromptReading()
  readonly windowMs: number
  readonly lagMs: number
  timeMs = 0

  /** Instant readings of which nobody knows how late they are, unless said otherwise. */
  constructor({ windowMs = 100, lagMs = 0 } = {}) {
    this.windowMs = windowMs
    this.lagMs = lagMs
  }

  /** The clock draws `modelW` by the model; these are read. Which of them show a move at once. */
  at(modelW: number, readingsW: readonly (number | null)[]): boolean[] {
    return this.told(modelW, readingsW).map((each) => each === 'at-once')
  }

  told(modelW: number, readingsW: readonly (number | null)[]): (Shown | null)[] {
    return readingsW.map((readingW) => {
      this.timeMs += 100
      const { timeMs, windowMs, lagMs } = this
      return this.prompt.observe({ timeMs, readingW, windowMs, modelW, slope: 1, capW: CAP_W, lagMs })
    })
  }

  /** At rest for longer than any reading is late. */
  rest(modelW: number, forMs = 2500): this {
    this.at(modelW, new Array(forMs / 100).fill(modelW))
    return this
  }
}

const shown = (told: readonly boolean[]): number => told.indexOf(true)

describe('instant readings', () => {
  it('are prompt where three in a row show most of a move of the clock', () => {
    // The first step is the move itself.
    expect(shown(new Board().rest(100).at(120, [100, 119, 121, 120]))).toBe(3)
    expect(shown(new Board().rest(120).at(100, [120, 101, 100, 99]))).toBe(3)
    expect(shown(new Board().rest(100).at(120, [100, 111, 111, 111, 111]))).toBe(-1)
  })

  it('have to show it three times in a row, not three times in all', () => {
    expect(shown(new Board().rest(100).at(120, [100, 120, 120, 101]))).toBe(-1)
    expect(shown(new Board().rest(100).at(120, [100, 101, 120, 120, 120]))).toBe(4)
  })

  it('are not prompt where they show it half a second later', () => {
    expect(shown(new Board().rest(100).at(120, [100, 100, 100, 100, 100, 100, 120, 120, 120]))).toBe(-1)
  })

  it('are judged by no move that their noise would hide', () => {
    expect(shown(new Board().rest(100).at(108, [100, 108, 108, 108]))).toBe(-1)
  })

  it('are held against the mean of the last eight before the move', () => {
    // Of 20 W, three fifths have to show.
    const after = (earlier: number, lastW: number) => {
      const board = new Board().rest(100)
      board.at(100, [...new Array(earlier).fill(100), ...new Array(8 - earlier).fill(lastW)])
      return shown(board.at(120, [100, 115, 115, 115]))
    }
    expect([after(0, 104), after(1, 103), after(1, 104), after(8, 104)]).toEqual([-1, 3, -1, 3])
    // The ninth reading from the last counts no more.
    const board = new Board().rest(100)
    board.at(100, [130, ...new Array(8).fill(103)])
    expect(shown(board.at(120, [100, 115.1, 115.1, 115.1]))).toBe(3)
  })

  it('are judged by no move while an earlier one could be what shows', () => {
    expect(shown(new Board().rest(100, 2000).at(120, [100, 120, 120, 120]))).toBe(-1)
  })

  it('are of one clock where the model says nearly the same of two', () => {
    const board = new Board().rest(100, 1500)
    board.at(100.4, new Array(15).fill(100))
    expect(shown(board.at(120, [100, 120, 120, 120]))).toBe(3)
  })

  it('may be missing now and then', () => {
    expect(shown(new Board().rest(100).at(120, [100, 120, null, 120, 120]))).toBe(4)
    expect(shown(new Board().rest(100).at(120, [100, null, null, null, null]))).toBe(-1)
  })

  it('say nothing of the clock where tenants come or go', () => {
    const gone = new Board().rest(100)
    gone.at(120, [100, 120, 120])
    gone.prompt.abandon(gone.timeMs)
    expect(shown(gone.at(120, [120, 120, 120]))).toBe(-1)
    // And the clock must have rested since.
    expect(shown(gone.rest(120, 1500).at(100, [120, 100, 100, 100]))).toBe(-1)
    expect(shown(gone.rest(100).at(120, [100, 120, 120, 120]))).toBe(3)
  })
})

describe('a lateness that is believed in', () => {
  it('is refuted by two readings that show a move before they could, of which the first may come with the move', () => {
    expect(shown(new Board({ lagMs: 500 }).rest(100).at(120, [119, 121]))).toBe(1)
    expect(shown(new Board({ lagMs: 500 }).rest(100).at(120, [119, 100, 101, 100]))).toBe(-1)
  })

  it('is refuted after a shorter rest, for what was moved earlier has shown if it is true', () => {
    expect(shown(new Board({ lagMs: 500 }).rest(100, 2000).at(120, [119, 121]))).toBe(1)
    expect(shown(new Board({ lagMs: 500 }).rest(100, 1800).at(120, [119, 121]))).toBe(-1)
    expect(shown(new Board({ lagMs: 2000 }).rest(100, 2000).at(120, [119, 121]))).toBe(-1)
  })

  it('is refuted by a move of which firmware trims a part away at once, because it holds the board at its limit', () => {
    const board = new Board({ lagMs: 1500 }).rest(100)
    expect([...board.at(130, [103]), ...board.at(118, [119]), ...board.at(116, [115])]).toEqual([false, false, true])
    // Back where it came from, it has nothing to show, whatever is read.
    const back = new Board({ lagMs: 1500 }).rest(100)
    expect([...back.at(130, [103]), ...back.at(100, [119, 119, 119])]).toEqual([false, false, false, false])
    const beyond = new Board({ lagMs: 1500 }).rest(100)
    expect([...beyond.at(130, [103]), ...beyond.at(80, [119, 119, 119])]).toEqual([false, false, false, false])
  })

  it('is refuted by one average that holds as much of a move as it could', () => {
    const averages = { windowMs: 1000, lagMs: 1000 }
    // A move of 40 W: 4 W of it after a tenth of a second, 8 W after two.
    expect(shown(new Board(averages).rest(100).at(140, [101, 108]))).toBe(1)
    expect(shown(new Board(averages).rest(100).at(140, [101, 104, 106, 108, 110]))).toBe(-1)
    // What scatters as little as averages do is no move.
    expect(shown(new Board(averages).rest(100).at(120, [102, 104, 104, 104]))).toBe(-1)
  })

  it('is not refuted by what shows a move after three tenths of a second, as a sensor does that is so late', () => {
    expect(shown(new Board({ lagMs: 500 }).rest(100).at(120, [100, 100, 100, 120, 120]))).toBe(-1)
  })

  it('is confirmed by a move that does not show at once, and by none that is too small to show', () => {
    expect(new Board({ lagMs: 500 }).rest(100).told(120, [100, 100, 100, 100])).toEqual([null, null, null, 'late'])
    expect(new Board({ lagMs: 500 }).rest(100).told(104, [100, 100, 100, 100])).not.toContain('late')
    const trimmed = new Board({ lagMs: 500 }).rest(100)
    expect([...trimmed.told(130, [100]), ...trimmed.told(104, [100, 100, 100])]).not.toContain('late')
    expect(new Board().rest(100).told(120, [100, 100, 100, 100, 100, 100])).not.toContain('late')
  })
})
