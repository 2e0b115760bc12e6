import { snapDown, snapNearest } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { snapUp } from '../src/snap.js'

const states = fc
  .uniqueArray(fc.integer({ min: 100, max: 2200 }), { minLength: 1, maxLength: 130 })
  .map((clocks) => clocks.sort((a, b) => a - b))
const wanted = fc.double({ min: 0, max: 2500, noNaN: true })

describe('snapping to supported states', () => {
  it('finds what a scan finds', () => {
    fc.assert(
      fc.property(states, wanted, (clocks, mhz) => {
        expect(snapDown(clocks, mhz)).toBe(clocks.findLast((clock) => clock <= mhz))
        expect(snapUp(clocks, mhz)).toBe(clocks.find((clock) => clock >= mhz))
      }),
    )
  })

  it('finds the nearest, the lower of two equally near', () => {
    fc.assert(
      fc.property(states, wanted, (clocks, mhz) => {
        const nearest = snapNearest(clocks, mhz)!
        const distance = Math.min(...clocks.map((clock) => Math.abs(clock - mhz)))
        expect(Math.abs(nearest - mhz)).toBe(distance)
        expect(nearest).toBe(clocks.find((clock) => Math.abs(clock - mhz) === distance))
      }),
    )
    expect(snapNearest([200, 300], 250)).toBe(200)
  })

  it('leaves a supported state where it is', () => {
    fc.assert(
      fc.property(states, fc.nat(), (clocks, n) => {
        const clock = clocks[n % clocks.length]!
        expect([snapDown(clocks, clock), snapUp(clocks, clock), snapNearest(clocks, clock)]).toEqual(
          Array(3).fill(clock),
        )
      }),
    )
  })

  it('has no answer beyond the ends, or without states', () => {
    expect(snapDown([300, 315], 299.9)).toBeUndefined()
    expect(snapUp([300, 315], 315.1)).toBeUndefined()
    expect(snapNearest([300, 315], 10)).toBe(300)
    expect(snapNearest([300, 315], 9999)).toBe(315)
    expect([snapDown([], 1), snapUp([], 1), snapNearest([], 1)]).toEqual([undefined, undefined, undefined])
  })
})
