import { describe, expect, it } from 'vitest'
import { ClockBelief, type ClockEvidence, type ClockHypothesis } from '../src/clock-belief.js'

const usual: ClockEvidence = {
  durationMs: 100,
  steps: 0,
  throttled: false,
  refused: false,
  held: false,
  excused: false,
}

/** What is believed after two seconds of the same evidence. */
function believed(evidence: Partial<ClockEvidence>, belief = new ClockBelief()): ClockHypothesis {
  for (let i = 0; i < 20; i++) belief.update({ ...usual, ...evidence })
  return belief.mostProbable
}

describe('a measured clock', () => {
  it('is the one that was asked for within a step above and two below', () => {
    expect(believed({ steps: 0 })).toBe('asked')
    expect(believed({ steps: 0.75 })).toBe('asked')
    expect(believed({ steps: -2.5 })).toBe('asked')
    expect(believed({ steps: 1 })).toBe('lost')
    expect(believed({ steps: -3 })).toBe('lost')
  })

  it('is throttled where it is below and the firmware says so, and lost where nobody says why', () => {
    expect(believed({ steps: -5, throttled: true })).toBe('throttled')
    expect(believed({ steps: -5 })).toBe('lost')
    // Firmware holds a clock down, never up.
    expect(believed({ steps: 5, throttled: true })).toBe('lost')
  })

  it('is lost at once where the board refused it, until it is seen again', () => {
    const belief = new ClockBelief()
    belief.update({ ...usual, refused: true })
    expect(belief.of('lost')).toBeGreaterThan(0.9)
    expect(believed({}, belief)).toBe('asked')
  })

  it('says nothing where it is not measured, or is underway to another one', () => {
    expect(believed({ steps: null })).toBe('asked')
    expect(believed({ steps: -20, excused: true })).toBe('asked')
    const lost = new ClockBelief()
    lost.update({ ...usual, refused: true })
    expect(believed({ steps: 0, excused: true }, lost)).toBe('asked')
  })

  it('is believed to be another one by several readings, not by one', () => {
    const belief = new ClockBelief()
    belief.update({ ...usual, steps: -5, throttled: true })
    expect(belief.mostProbable).toBe('asked')
  })

  it('some steps below is the asked one where the board holds the cap by its own limit: trimming is what its firmware is for', () => {
    expect(believed({ steps: -5, throttled: true })).toBe('throttled')
    expect(believed({ steps: -5, throttled: true, held: true })).toBe('asked')
    expect(believed({ steps: -8, throttled: true, held: true })).toBe('throttled')
    expect(believed({ steps: -6.5, throttled: true, held: true })).toBe('asked')
    expect(believed({ steps: -6.6, throttled: true, held: true })).toBe('throttled')
    // Up is no trimming.
    expect(believed({ steps: 1, held: true })).toBe('lost')
  })
})
