import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PowerReadings } from '../src/power-readings.js'

type Raw = Parameters<PowerReadings['observe']>[0]

const CAP_W = 100

/** Readings each 100 ms, of a board whose model goes up to 120 W under a cap of 100 W. */
class Read {
  readonly readings = new PowerReadings()
  timeMs = 0

  next(averageW: number | null, instantW: number | null = null, more: Partial<Raw> = {}): PowerReadings {
    this.timeMs += 100
    this.readings.observe({
      timeMs: this.timeMs,
      durationMs: 100,
      averageW,
      instantW,
      highestW: 120,
      powerCapW: CAP_W,
      steady: true,
      ...more,
    })
    return this.readings
  }

  for(durationMs: number, averageW: number | null, instantW: number | null = null, more: Partial<Raw> = {}): this {
    for (const endMs = this.timeMs + durationMs; this.timeMs < endMs; ) this.next(averageW, instantW, more)
    return this
  }
}

describe('readings of power', () => {
  it('are usable above nothing and up to four times what the model has at most', () => {
    const usable = (powerW: number | null) => {
      const { averageW, instantW } = new Read().next(powerW, powerW)
      expect(instantW).toBe(averageW)
      return averageW
    }
    for (const powerW of [0.001, 100, 480]) expect(usable(powerW)).toBe(powerW)
    for (const powerW of [null, 0, -5, 480.1, Number.POSITIVE_INFINITY]) expect(usable(powerW)).toBeNull()
  })

  it('vary where a usable one differs from the last of its sensor, and not because one is missing', () => {
    const read = new Read()
    expect(read.next(90, 91).varied).toBe(true)
    expect(read.next(90, 91).varied).toBe(false)
    expect(read.next(null, 91).varied).toBe(false)
    expect(read.next(90, null).varied).toBe(false)
    expect(read.next(90, 91).varied).toBe(false)
    expect(read.next(90, 91.1).varied).toBe(true)
    expect(read.next(90.1, 91.1).varied).toBe(true)
    // A fault of the sensor is no news of the power.
    expect(read.next(5000, 5000).varied).toBe(false)
  })

  it('were last usable when one of them was', () => {
    const read = new Read()
    read.readings.begin(50)
    expect(read.next(null, null).state.lastUsableMs).toBe(50)
    expect(read.next(90, null).state.lastUsableMs).toBe(200)
    expect(read.next(null, 90).state.lastUsableMs).toBe(300)
    expect(read.next(0, 0).state.lastUsableMs).toBe(300)
  })

  it('that are discarded count as never read since a time', () => {
    const read = new Read().for(1000, 90, 90)
    read.readings.discard(400)
    expect(read.readings).toMatchObject({ averageW: null, instantW: null, state: { lastUsableMs: 400 } })
  })

  it('are above a power where the newest of any sensor is, and not at it', () => {
    const { readings } = new Read().for(100, 90, 95)
    expect([94.9, 95, 96].map((powerW) => readings.above(powerW))).toEqual([true, false, false])
    const { readings: averages } = new Read().for(100, 97, 95)
    expect([96.9, 97].map((powerW) => averages.above(powerW))).toEqual([true, false])
    expect(new PowerReadings().above(0)).toBe(false)
  })

  it('have a mean of the last second: the average, or where none is usable the smoothed instant readings', () => {
    const meanW = (readings: PowerReadings) => {
      // By halving: the highest power that the mean is above.
      let [low, high] = [0, 1000]
      while (high - low > 1e-9) {
        const middle = (low + high) / 2
        if (readings.meanAbove(middle)) low = middle
        else high = middle
      }
      return low
    }
    expect(meanW(new Read().next(90, 99))).toBeCloseTo(90, 6)
    expect(new Read().next(90, 99).meanAbove(90)).toBe(false)
    const read = new Read().for(5000, null, 80)
    expect(meanW(read.readings)).toBeCloseTo(80, 6)
    // After half a second all but 1/e of a step shows in it.
    read.for(500, null, 100)
    expect(meanW(read.readings)).toBeCloseTo(100 - 20 / Math.E, 6)
    expect(new PowerReadings().meanAbove(0)).toBe(false)
  })

  it('have a faster mean, in which all but 1/e of a step shows after three tenths of a second', () => {
    const read = new Read().for(5000, null, 80).for(300, null, 100)
    expect(read.readings.state.fastMeanW).toBeCloseTo(100 - 20 / Math.E, 6)
    // Where none comes, it stays.
    expect(read.for(300, 90, null).readings.state.fastMeanW).toBeCloseTo(100 - 20 / Math.E, 6)
  })

  it('have means of the instant ones between the least and the most that was read, whatever the pace', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.double({ min: 1, max: 400, noNaN: true })), {
      minLength: 1,
      maxLength: 20,
    })
    fc.assert(
      fc.property(steps, (list) => {
        const readings = new PowerReadings()
        let timeMs = 0
        for (const [durationMs, instantW] of list) {
          timeMs += durationMs
          const raw = { timeMs, durationMs, averageW: null, instantW, highestW: 120, powerCapW: CAP_W, steady: true }
          readings.observe(raw)
        }
        const powersW = list.map(([, powerW]) => powerW)
        for (const meanW of [readings.state.fastMeanW!, readings.state.slowMeanW!]) {
          expect(meanW).toBeGreaterThanOrEqual(Math.min(...powersW) - 1e-9)
          expect(meanW).toBeLessThanOrEqual(Math.max(...powersW) + 1e-9)
        }
        // The faster one is nearer to the newest.
        const newest = powersW.at(-1)!
        if (list.length === 2) {
          const off = (meanW: number | null) => Math.abs(meanW! - newest)
          expect(off(readings.state.fastMeanW)).toBeLessThanOrEqual(off(readings.state.slowMeanW) + 1e-9)
        }
      }),
    )
  })

  it('contradict each other after two seconds apart by more than an eighth of the cap or so, and then the higher is believed', () => {
    for (const [averageW, instantW, believed] of [
      [80, 95, 'instantW'],
      [95, 80, 'averageW'],
    ] as const) {
      const read = new Read().for(2000, averageW, instantW)
      expect(read.readings.contradictory).toBe(false)
      expect(read.readings).toMatchObject({ averageW, instantW })
      const { contradictory, ...usable } = read.next(averageW, instantW)
      expect(contradictory).toBe(true)
      expect([usable.averageW, usable.instantW]).toEqual([
        believed === 'averageW' ? 95 : null,
        believed === 'instantW' ? 95 : null,
      ])
    }
    expect(new Read().for(10_000, 80, 92).readings.contradictory).toBe(false)
    expect(new Read().for(10_000, 80, 92.1).readings.contradictory).toBe(true)
  })

  it('contradict each other no longer where they agree, or where tenants start', () => {
    const apart = () => new Read().for(5000, 80, 95)
    expect(apart().for(2000, 94, 95).readings.contradictory).toBe(false)
    expect(apart().next(80, 95, { steady: false }).contradictory).toBe(false)
    // One that is silent says nothing against it.
    expect(apart().next(80, null).contradictory).toBe(true)
    expect(apart().next(95, null).contradictory).toBe(true)
    expect(apart().for(1000, null, 80).next(null, 80).contradictory).toBe(true)
    expect(
      new Read().for(1500, 80, 95).for(100, 80, 95, { steady: false }).for(1500, 80, 95).readings.contradictory,
    ).toBe(false)
  })

  it('go on from their state', () => {
    const read = new Read().for(3000, 80, 95)
    const again = new PowerReadings(structuredClone(read.readings.state))
    const raw = {
      timeMs: 3100,
      durationMs: 100,
      averageW: 81,
      instantW: 96,
      highestW: 120,
      powerCapW: CAP_W,
      steady: true,
    }
    again.observe(raw)
    read.readings.observe(raw)
    expect(again).toEqual(read.readings)
  })
})
