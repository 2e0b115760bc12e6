import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ClockController, type ClockObservation } from '../src/index.js'
import { live, modelAt, type Story, stories } from './law-stories.js'
import { clocksMhz } from './toy-board.js'

interface Other {
  readonly clocksMhz?: readonly number[]
  /** Watts there for a watt here. */
  readonly watts?: number
  readonly seen: (seen: ClockObservation) => ClockObservation
}

/** Where another controller that sees the same in other units first does otherwise, and what; null where it never does. */
function differs(story: Story, { clocksMhz: clocks = clocksMhz, watts = 1, seen: told }: Other) {
  const reading = story.reading === 'part-time' ? 'part-time' : 'one-second-average'
  const other = new ClockController({ smClocksMhz: clocks, reading })
  other.setPlant(clocksMhz.map((clockMhz) => watts * modelAt(clockMhz)))
  for (const { timeMs, seen, action } of live(story)) {
    const { smClockMhz, status, seen: board } = other.step(told(seen))
    const [is, was] = [
      [clocks.indexOf(smClockMhz), status, board.sensor],
      [clocksMhz.indexOf(action.smClockMhz), action.status, action.seen.sensor],
    ]
    if (is.join() !== was.join()) return { timeMs, is, was }
  }
  return null
}

const scaled = (value: number | null, factor: number) => (value === null ? null : factor * value)
const same = (other: Other) =>
  fc.assert(
    fc.property(stories, (story) => {
      expect(differs(story, other)).toBeNull()
    }),
    { numRuns: 3, endOnFailure: true },
  )

describe('a controller does the same', () => {
  it('on a board of twice the watts under twice the cap', () => {
    same({
      watts: 2,
      seen: (seen) => ({
        ...seen,
        powerCapW: 2 * seen.powerCapW,
        powerAverageW: scaled(seen.powerAverageW, 2),
        powerInstantW: scaled(seen.powerInstantW, 2),
        powerLimitW: scaled(seen.powerLimitW ?? null, 2),
      }),
    })
  })

  it('on a board whose clocks are all twice as high', () => {
    same({
      clocksMhz: clocksMhz.map((clockMhz) => 2 * clockMhz),
      seen: (seen) => ({ ...seen, smClockMhz: scaled(seen.smClockMhz, 2) }),
    })
  })

  it('whenever its clock began to count', () => {
    same({ seen: (seen) => ({ ...seen, timeMs: seen.timeMs + 2 ** 20 }) })
  })
})

describe('a controller that begins without a reading', () => {
  it.each([0, 1e6, -1e6])('is blind after a second and a half, not at once (from %d ms on)', (beginMs) => {
    const controller = new ClockController({ smClocksMhz: clocksMhz, reading: 'one-second-average' })
    controller.setPlant(clocksMhz.map(modelAt))
    const statuses = Array.from({ length: 30 }, (_, i) => {
      const silent = { powerAverageW: null, powerInstantW: null, smClockMhz: null }
      return controller.step({ timeMs: beginMs + 100 * i, powerCapW: 150, loading: false, ...silent }).status
    })
    expect(statuses.indexOf('blind')).toBe(16)
    expect(statuses.lastIndexOf('tracking')).toBe(15)
  })
})
