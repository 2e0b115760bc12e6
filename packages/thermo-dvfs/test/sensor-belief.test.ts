import { describe, expect, it } from 'vitest'
import { SensorBelief, type SensorEvidence } from '../src/sensor-belief.js'

/** A sensor that is told a sample each 100 ms. */
class Sensor {
  readonly belief = new SensorBelief()
  timeMs = 0
  energyJ = 0

  /** @param trueW what the energy counter counts; null where there is none */
  for(seconds: number, evidence: Partial<SensorEvidence>, trueW: number | null = null): this {
    for (let i = 0; i < 10 * seconds; i++) {
      this.timeMs += 100
      this.energyJ += (trueW ?? 0) / 10
      this.belief.update({
        timeMs: this.timeMs,
        durationMs: 100,
        present: true,
        varied: true,
        shouldVary: false,
        lagMs: 0,
        readingW: 150,
        steady: true,
        energyJ: trueW === null ? null : this.energyJ,
        meterPowerW: null,
        ...evidence,
      })
    }
    return this
  }
}

const believed = (sensor: Sensor): string => sensor.belief.mostProbable

describe('a power sensor', () => {
  it('is good while its readings come and vary, late where they are known to be, missing where none come', () => {
    expect(believed(new Sensor().for(5, {}))).toBe('good')
    expect(believed(new Sensor().for(5, { lagMs: 500 }))).toBe('late')
    expect(believed(new Sensor().for(5, { present: false, varied: false, readingW: null }))).toBe('missing')
  })

  it('is frozen where it repeats itself although the clock moved, or together with the energy counter; not on a quiet load', () => {
    expect(believed(new Sensor().for(3, { varied: false }))).toBe('good')
    expect(believed(new Sensor().for(3, { varied: false, shouldVary: true }))).toBe('frozen')
    expect(believed(new Sensor().for(3, { varied: false }, 150))).toBe('good')
    expect(believed(new Sensor().for(3, { varied: false }, 0))).toBe('frozen')
  })

  it.each([
    [
      'an energy counter',
      (sensor: Sensor, seconds: number, w: number, more: Partial<SensorEvidence>) => sensor.for(seconds, more, w),
    ],
    [
      'a meter',
      (sensor: Sensor, seconds: number, w: number, more: Partial<SensorEvidence>) =>
        sensor.for(seconds, { ...more, meterPowerW: w }),
    ],
  ] as const)('is doubted where %s has begun to count more, by as much', (_, witnessed) => {
    const sensor = new Sensor()
    witnessed(sensor, 20, 150, {})
    expect([believed(sensor), sensor.belief.correction]).toEqual(['good', 1])
    witnessed(sensor, 6, 165, {})
    expect(believed(sensor)).toBe('doubted')
    expect(sensor.belief.correction).toBeCloseTo(1.1, 2)
    witnessed(sensor, 6, 150, {})
    expect([believed(sensor), sensor.belief.correction]).toEqual(['good', 1])
    // Where the witness has less, the reading is the careful one.
    witnessed(sensor, 6, 135, {})
    expect(sensor.belief.correction).toBe(1)
  })

  it.each([
    ['an energy counter', (sensor: Sensor, more: Partial<SensorEvidence>) => sensor.for(1, more, 165)],
    ['a meter', (sensor: Sensor, more: Partial<SensorEvidence>) => sensor.for(1, { ...more, meterPowerW: 165 })],
  ] as const)('is not held against %s in stretches that are too short, however many', (_, witnessed) => {
    const sensor = new Sensor()
    for (let i = 0; i < 10; i++) {
      witnessed(sensor, {})
      witnessed(sensor, { steady: false })
    }
    expect(sensor.belief.correction).toBe(1)
  })

  it.each([
    ['an energy counter', (sensor: Sensor, silent: boolean) => sensor.for(0.1, silent ? { varied: false } : {}, 165)],
    ['a meter', (sensor: Sensor, silent: boolean) => sensor.for(0.1, { meterPowerW: silent ? null : 165 })],
  ] as const)('is held against %s over samples that tell nothing, too', (_, witnessed) => {
    const sensor = new Sensor()
    for (let i = 0; i < 80; i++) witnessed(sensor, i % 2 === 1)
    expect(sensor.belief.correction).toBeGreaterThan(1.05)
  })

  it('is not held against an energy counter that is read once in a second or less often', () => {
    const counted = (everyS: number) => {
      const sensor = new Sensor()
      for (let i = 0; i < 40; i++) {
        sensor.for(everyS - 0.1, {}).for(0.1, { energyJ: 165 * everyS * i })
      }
      return sensor.belief.correction
    }
    expect(counted(0.9)).toBeGreaterThan(1.05)
    expect(counted(1)).toBe(1)
  })

  it('is held against a meter by the time that each sample stands for', () => {
    const sensor = new Sensor().for(10, { meterPowerW: 150 })
    // A quarter of the time it says a third more.
    for (let i = 0; i < 10; i++) sensor.for(0.1, { meterPowerW: 200 }).for(0.3, { meterPowerW: 150 })
    const even = sensor.belief.correction
    sensor.for(10, { meterPowerW: 150 })
    for (let i = 0; i < 10; i++) {
      sensor.for(0.1, { meterPowerW: 200 })
      sensor.timeMs += 200
      sensor.for(0.1, { meterPowerW: 150 })
    }
    expect(even).toBeGreaterThan(1.05)
    expect(sensor.belief.correction).toBeCloseTo(even, 1)
  })
})
