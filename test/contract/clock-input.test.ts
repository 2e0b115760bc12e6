import { InvalidInputError } from '@pctodl/platform'
import { ClockController, type ClockControllerOptions } from '@pctodl/thermo-dvfs'
import { describe, expect, it } from 'vitest'

const options: ClockControllerOptions = { smClocksMhz: [600, 900, 1200], reading: 'one-second-average' }
const seen = {
  timeMs: 0,
  powerCapW: 150,
  powerAverageW: 120,
  powerInstantW: null,
  smClockMhz: 900,
  loading: false,
}

describe('bad input', () => {
  it.each<[string, Partial<Record<keyof ClockControllerOptions, unknown>>]>([
    ['smClocksMhz', { smClocksMhz: [] }],
    ['smClocksMhz[1]', { smClocksMhz: [900, 600] }],
    ['reading', { reading: 'instant' }],
    ['sensorTolerancePercent', { sensorTolerancePercent: -1 }],
    ['without', { without: ['dwell'] }],
  ])('names %s', (field, wrong) => {
    const make = () => new ClockController({ ...options, ...wrong } as ClockControllerOptions)
    expect(make).toThrow(InvalidInputError)
    expect(make).toThrow(`${field}: got`)
  })

  it.each([
    [{ sensorTolerancePercent: 0 }, { sensorTolerancePercent: 50 }],
    [{ sensorTolerancePercent: 49.9 }, { sensorTolerancePercent: -0.1 }],
    [{ smClocksMhz: [0.1] }, { smClocksMhz: [0] }],
    [{ smClocksMhz: [600, 601] }, { smClocksMhz: [600, 600] }],
    [{ reading: 'part-time' }, { reading: '' }],
  ])('is not %o, but %o', (allowed, wrong) => {
    const make = (some: object) => new ClockController({ ...options, ...some })
    expect(() => make(allowed)).not.toThrow()
    expect(() => make(wrong)).toThrow(InvalidInputError)
  })

  it('is no power above zero, however little, and no time that stands still', () => {
    const controller = new ClockController(options)
    controller.setPlant([Number.MIN_VALUE, 130, 170])
    controller.step({ ...seen, powerCapW: Number.MIN_VALUE })
    expect(() => controller.step(seen)).not.toThrow()
    for (const wrong of [0, Number.POSITIVE_INFINITY]) {
      expect(() => controller.setPlant([wrong, 130, 170])).toThrow(InvalidInputError)
      expect(() => controller.step({ ...seen, powerCapW: wrong })).toThrow(InvalidInputError)
    }
    expect(() => controller.step({ ...seen, timeMs: Number.NaN })).toThrow('timeMs: got NaN')
    const fresh = new ClockController(options)
    fresh.setPlant([100, 130, 170])
    expect(() => fresh.step({ ...seen, timeMs: Number.NaN })).toThrow('timeMs: got NaN')
    expect(() => fresh.step({ ...seen, timeMs: -500 })).not.toThrow()
  })

  it('wants a plant that fits its clocks', () => {
    const controller = new ClockController(options)
    expect(() => controller.step(seen)).toThrow('plant: got undefined')
    expect(() => controller.setPlant([100, 120])).toThrow('predictedPowerW.length: got 2')
    expect(() => controller.setPlant([100, -90, 120])).toThrow('predictedPowerW[1]: got -90')
    expect(() => controller.setPlant([100, Number.NaN, 120])).toThrow('predictedPowerW[1]: got NaN')
  })

  it('wants caps above zero and time that does not run backwards', () => {
    const controller = new ClockController(options)
    controller.setPlant([100, 130, 170])
    expect(() => controller.step({ ...seen, powerCapW: 0 })).toThrow('powerCapW: got 0')
    controller.step({ ...seen, timeMs: 500 })
    expect(() => controller.step({ ...seen, timeMs: 400 })).toThrow('timeMs: got 400')
  })
})

describe('a board of three clocks', () => {
  const modelW = [100, 110, 121]

  /** The clock after twenty-five seconds, where the board draws a multiple of what its model says. */
  function settled(gain: number, capW: (timeMs: number) => number) {
    const controller = new ClockController(options)
    controller.setPlant(modelW)
    let asked = 600
    for (let timeMs = 100; timeMs <= 25_000; timeMs += 100) {
      const powerAverageW = gain * modelW[options.smClocksMhz.indexOf(asked)]! + (timeMs % 3) / 10
      asked = controller.step({ ...seen, timeMs, powerCapW: capW(timeMs), powerAverageW, smClockMhz: asked }).smClockMhz
    }
    return asked
  }

  it.each([0.85, 1, 1.25])('runs each where a lower cap makes it the best, at %d of the model', (gain) => {
    options.smClocksMhz.forEach((clock, i) => {
      const capW = 1.06 * gain * modelW[i]!
      expect(settled(gain, (timeMs) => (timeMs < 15_000 ? 300 : capW))).toBe(clock)
    })
  })
})
