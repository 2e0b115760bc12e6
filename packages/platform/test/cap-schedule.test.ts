import { capAt, capSchedule, fixedCap, InvalidInputError } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('a cap schedule', () => {
  it('holds each cap from its time on', () => {
    const schedule = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 1000, powerCapW: 160 },
      { atMs: 2500, powerCapW: 120 },
    ])
    expect([0, 999, 1000, 2499, 2500, 1e9].map((timeMs) => capAt(schedule, timeMs))).toEqual([
      200, 200, 160, 160, 120, 120,
    ])
    expect(capAt(fixedCap(180), 12_345)).toBe(180)
  })

  it('says at any time what its latest step said', () => {
    const steps = fc
      .uniqueArray(fc.integer({ min: 1, max: 10_000 }), { maxLength: 10 })
      .map((times) => [0, ...times.sort((a, b) => a - b)].map((atMs, i) => ({ atMs, powerCapW: 100 + i })))
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 11_000 }), (drawn, timeMs) => {
        const expected = drawn.findLast((step) => step.atMs <= timeMs)!.powerCapW
        expect(capAt(capSchedule(drawn), timeMs)).toBe(expected)
      }),
    )
  })

  it.each([
    [[], /capSchedule\[0\]\.atMs: got undefined, expected 0/],
    [[{ atMs: 5, powerCapW: 200 }], /capSchedule\[0\]\.atMs: got 5/],
    [[{ atMs: 0, powerCapW: 0 }], /capSchedule\[0\]\.powerCapW: got 0/],
    [[{ atMs: 0, powerCapW: Number.NaN }], /capSchedule\[0\]\.powerCapW/],
    [[{ atMs: 0, powerCapW: Number.POSITIVE_INFINITY }], /capSchedule\[0\]\.powerCapW/],
    [
      [
        { atMs: 0, powerCapW: 200 },
        { atMs: 0, powerCapW: 100 },
      ],
      /capSchedule\[1\]\.atMs: got 0, expected a time after/,
    ],
  ])('%j is refused', (steps, message) => {
    expect(() => capSchedule(steps)).toThrow(InvalidInputError)
    expect(() => capSchedule(steps)).toThrow(message)
  })
})
