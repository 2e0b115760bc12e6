import { describe, expect, it } from 'vitest'
import { CapLaw, type LawReadings } from '../src/cap-law.js'

const CAP_W = 150
const BOUND_W = 151
const INSTANT_BOUND_W = 154

const reading = (timeMs: number, read: Partial<LawReadings> = {}): LawReadings => ({
  timeMs,
  averageW: null,
  instantW: null,
  fastMeanW: null,
  latenessMs: 0,
  ...read,
})

/** A law that was told these readings, and what the last of them asks for. */
function asked(law: CapLaw, ...readings: readonly LawReadings[]): number {
  for (const one of readings) law.observe(one)
  return law.excessW(readings.at(-1)!, CAP_W, BOUND_W, INSTANT_BOUND_W)
}

describe('the law of the cap', () => {
  it('asks to lower by what the mean of the last second is above the cap, beyond its bound', () => {
    expect(asked(new CapLaw(), reading(0, { averageW: 153 }))).toBe(3)
    expect(asked(new CapLaw(), reading(0, { averageW: 151 }))).toBe(0)
  })

  it('asks the same of smoothed instant readings, beyond a wider one', () => {
    const instant = (fastMeanW: number) => reading(0, { averageW: 149, instantW: fastMeanW, fastMeanW })
    expect(asked(new CapLaw(), instant(155))).toBe(5)
    expect(asked(new CapLaw(), instant(154))).toBe(0)
  })

  it('knows the mean of the last second for a second', () => {
    const law = new CapLaw()
    law.observe(reading(0, { averageW: 140 }))
    law.observe(reading(1000))
    expect(law.powerW).toBe(140)
    law.observe(reading(1001))
    expect(law.powerW).toBeNull()
  })

  it('takes the mean of the instant readings of a second where the board has no average', () => {
    const instants = [100, 100, 100, 100, 100, 160, 160, 160, 160, 160]
    const law = new CapLaw()
    instants.forEach((instantW, i) => {
      law.observe(reading(100 * i, { instantW }))
    })
    expect(law.powerW).toBeCloseTo(130, 9)
  })

  it('asks for nothing more in the time that a mean looks back on after the clock was lowered', () => {
    const law = new CapLaw()
    law.lowered(1000)
    expect(asked(law, reading(2200, { averageW: 156 }))).toBe(0)
    expect(asked(law, reading(2300, { averageW: 156 }))).toBe(6)
    // Instant readings show it sooner, late ones later.
    law.lowered(3000)
    const instant = { averageW: 149, instantW: 158, fastMeanW: 158 }
    expect(asked(law, reading(3500, instant))).toBe(0)
    expect(asked(law, reading(3600, instant))).toBe(8)
    law.lowered(5000)
    expect(asked(law, reading(6800, { averageW: 156, latenessMs: 500 }))).toBe(6)
    expect(asked(law, reading(6700, { averageW: 156, latenessMs: 500 }))).toBe(0)
  })

  it('excuses nothing by an earlier lowering once the clock was raised', () => {
    const law = new CapLaw()
    law.lowered(1000)
    law.raised()
    expect(asked(law, reading(1100, { averageW: 156 }))).toBe(6)
  })

  it('lets nothing be called settled for a second after a mean above the cap, read or not', () => {
    const law = new CapLaw()
    expect(law.unsettled(CAP_W)).toBe(false)
    law.observe(reading(0, { averageW: 150.5 }))
    expect(law.unsettled(CAP_W)).toBe(true)
    law.observe(reading(1000))
    expect(law.unsettled(CAP_W)).toBe(true)
    law.observe(reading(1100))
    expect(law.unsettled(CAP_W)).toBe(false)
    law.observe(reading(1200, { averageW: 150 }))
    expect(law.unsettled(CAP_W)).toBe(false)
  })

  it('asks for nothing on the word of a mean that was not read now', () => {
    expect(asked(new CapLaw(), reading(0, { averageW: 160 }), reading(100))).toBe(0)
  })
})
