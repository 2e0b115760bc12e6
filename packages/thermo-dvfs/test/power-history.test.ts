import { describe, expect, it } from 'vitest'
import { PowerHistory } from '../src/power-history.js'
import { LAGS_MS } from '../src/reading-lag.js'

/** A history of 100 W that steps to 130 W at 10 s. */
function stepped(): PowerHistory {
  const history = new PowerHistory()
  history.push(0, 100)
  history.push(10_000, 130)
  return history
}

/** The same, whose readings are known to be so late. */
function late(lagMs: number): PowerHistory {
  const { applied, lag } = stepped().state
  return new PowerHistory({ applied, lag: { ...lag, index: LAGS_MS.indexOf(lagMs), known: true } })
}

/** From when until when, to 50 ms, the step shows in a reading of a second that ends then. */
function showing(history: PowerHistory, windowMs = 1000): [fromMs: number, toMs: number] {
  const ends = Array.from({ length: 400 }, (_, i) => 50 * i)
  const shown = ends.filter((endMs) => history.spread(endMs, windowMs) > 0)
  return [shown[0]!, shown.at(-1)!]
}

describe('the power that may show in a reading', () => {
  it('is of its window, and of a little before and after, where readings are prompt', () => {
    expect(showing(late(0))).toEqual([10_000, 11_050])
    expect(showing(late(0), 100)).toEqual([10_000, 10_150])
  })

  it('is of the nearest of the lags that are told apart, where readings are late', () => {
    // A quarter of a second on either side.
    expect(showing(late(1000))).toEqual([9750, 11_300])
  })

  it('is of two seconds more while nobody knows how late they are', () => {
    expect(showing(stepped())).toEqual([10_000, 13_050])
    expect([stepped().longestLagMs, stepped().lagMs, late(1500).longestLagMs, late(1500).lagMs]).toEqual([
      2000, 0, 1500, 1500,
    ])
  })

  it('lies between the lowest and the highest of it', () => {
    const history = late(0)
    expect([history.lowest(10_500, 1000), history.highest(10_500, 1000)]).toEqual([100, 130])
    expect(history.under(10_500, 1000)).toBe(115)
    expect([history.lowest(12_000, 1000), history.highest(9000, 1000)]).toEqual([130, 100])
  })

  it('is unsure by a part of that, by more while the lag is not known', () => {
    expect(late(0).uncertainW(10_500, 1000)).toBeCloseTo(0.15 * 30, 9)
    expect(stepped().uncertainW(10_500, 1000)).toBeCloseTo(0.5 * 30, 9)
    expect(stepped().uncertainW(9000, 1000)).toBe(0)
  })

  it('is steady where it spreads by less than a fiftieth', () => {
    const history = (stepW: number) => {
      const steps = late(0)
      steps.push(20_000, 130 + stepW)
      return steps.steady(20_500, 1000)
    }
    expect(history(2.5)).toBe(true)
    expect(history(2.7)).toBe(false)
  })
})

describe('what is known of the lag', () => {
  it('is nothing at first, and that readings are prompt as soon as they have shown it', () => {
    const history = stepped()
    expect([history.lagKnown, history.prompt]).toEqual([false, false])
    history.shownPromptly()
    expect([history.lagKnown, history.prompt, history.longestLagMs]).toEqual([true, true, 0])
    expect([late(500).lagKnown, late(500).prompt]).toEqual([true, false])
  })

  it('moves the window of a reading: it ends so much earlier, and half of a period between readings', () => {
    expect(stepped().endOf(5000)).toBe(4950)
    expect(late(1000).endOf(5000)).toBe(3950)
  })
})

describe('how far power has moved', () => {
  it('is told between two times, and of all the time that a reading may be of', () => {
    const history = stepped()
    expect(history.movedSince(9000, 12_000)).toBe(30)
    expect(history.movedSince(12_000, 9000)).toBe(30)
    expect(history.movedSince(11_000, 12_000)).toBe(0)
    expect([history.longSpread(10_100), history.longSpread(12_999), history.longSpread(13_000)]).toEqual([30, 30, 0])
  })
})

describe('a lateness that is believed in', () => {
  const late = (): PowerHistory => {
    const { applied, lag } = new PowerHistory().state
    return new PowerHistory({ applied, lag: { ...lag, index: LAGS_MS.indexOf(1000), known: true } })
  }

  it('is refuted by two moves in a row that show at once, and by no two with a late one in between', () => {
    const refuted = late()
    refuted.shownPromptly()
    expect(refuted.lagMs).toBe(1000)
    refuted.shownPromptly()
    expect(refuted.prompt).toBe(true)
    const kept = late()
    for (let i = 0; i < 5; i++) {
      kept.shownPromptly()
      kept.shownLate()
    }
    expect(kept.lagMs).toBe(1000)
  })
})
