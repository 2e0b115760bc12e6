import type { ServiceReading } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { Admission } from '../src/services/admission.js'
import { ServicePressure } from '../src/services/service-pressure.js'

const reading = (counts: Partial<ServiceReading>): ServiceReading =>
  ({
    ...({
      service: 'a',
      timeMs: 0,
      arrived: 0,
      completed: 0,
      late: 0,
      shed: 0,
      failed: 0,
      queued: 0,
      running: 0,
    } as const),
    ...(counts as object),
  }) as ServiceReading

describe('how much harder a service is tried than the model says', () => {
  /** Told ten times a second for so long: a hundred are decided each second, `inTime` of a hundred in time. */
  function pressed(seconds: number, inTime: number, pressure = new ServicePressure(), fromS = 0): ServicePressure {
    for (let tenth = 0; tenth <= 10 * seconds; tenth++) {
      const second = fromS + tenth / 10
      const completed = 100 * second
      pressure.update(1000 * second, reading({ completed, late: completed * (1 - inTime / 100) }), false)
    }
    return pressure
  }

  it('is judged by what of the last seconds was answered in time', () => {
    const pressure = new ServicePressure()
    expect(pressure.attainment).toBeNull()
    pressure.update(0, reading({ completed: 10 }), false)
    expect(pressure.attainment).toBeNull()
    pressure.update(100, reading({ completed: 10 }), false)
    expect(pressure.attainment).toBeNull()
    pressure.update(200, reading({ completed: 14, late: 1, shed: 3, failed: 1 }), false)
    expect(pressure.attainment).toBe(3 / 8)
    // What was decided more than five seconds ago counts no more.
    pressure.update(5150, reading({ completed: 18, late: 2, shed: 3, failed: 1 }), false)
    expect(pressure.attainment).toBe(3 / 4)
  })

  it('rises each second in which the objective is missed, to twice at most', () => {
    expect(pressed(0.9, 50).factor).toBe(1)
    expect(pressed(1, 50).factor).toBeCloseTo(1.12, 9)
    expect(pressed(3, 98.9).factor).toBeCloseTo(1.12 ** 3, 9)
    expect(pressed(20, 50).factor).toBe(2)
  })

  it('falls where the objective is kept amply, to so much as is taken on trust', () => {
    expect(pressed(3, 99.5).factor).toBe(1)
    expect(pressed(3, 99.8).factor).toBeCloseTo(0.985 ** 3, 9)
    expect(pressed(60, 100).factor).toBe(0.85)
  })

  it('forgets what is excused, and counters that begin again', () => {
    const pressure = pressed(0.9, 50)
    pressure.update(1000, reading({ completed: 100, late: 50 }), true)
    expect({ factor: pressure.factor, attainment: pressure.attainment }).toEqual({ factor: 1, attainment: null })
    pressure.update(1100, reading({ completed: 120, late: 50 }), false)
    pressure.update(1200, reading({ completed: 5 }), false)
    expect(pressure.attainment).toBeNull()
  })
})

describe('how much of the arrivals is let in', () => {
  /** A hundred requests come each second, `answered` are answered, and so many wait. */
  function admitting(
    seconds: number,
    answered: number,
    queued: number,
    exhausted = true,
    admission = new Admission(100),
  ) {
    const shares: number[] = []
    for (let tenth = 0; tenth <= 10 * seconds; tenth++) {
      const counts = { arrived: 10 * tenth, completed: (answered * tenth) / 10, queued }
      admission.update(100 * tenth, reading(counts), exhausted)
      shares.push(admission.share)
    }
    return shares
  }

  it('is all while the clock may still rise, or nobody waits for long', () => {
    expect(admitting(2, 50, 100, false).at(-1)).toBe(1)
    expect(admitting(2, 100, 4).at(-1)).toBe(1)
  })

  it('is a little less than what was answered, once that is known and the last in the queue would be late', () => {
    const shares = admitting(0.8, 50, 100)
    expect(shares.slice(0, 8)).toEqual(Array(8).fill(1))
    expect(shares[8]).toBeCloseTo(0.93 * 0.5, 9)
    // Something must come in to be measured.
    expect(admitting(1, 0, 100).at(-1)).toBe(0.02)
  })

  it('opens again: quickly where hardly anybody waits, slowly where some do', () => {
    const admission = new Admission(100)
    const [closed] = admitting(0.8, 50, 100, true, admission).slice(-1)
    admission.forget()
    expect(admitting(0.3, 100, 0, false, admission).at(-1)).toBeCloseTo(closed! + 4 * 0.01, 9)
    admission.forget()
    // A request and a half of a hundred a second wait for 15 ms of 100.
    const slowly = admitting(0.3, 100, 1.5, false, admission)
    expect(slowly.at(-1)! - slowly[1]!).toBeCloseTo(2 * 0.002, 9)
  })

  it('counts anew where counters do', () => {
    const admission = new Admission(100)
    admitting(0.7, 50, 100, true, admission)
    admission.update(800, reading({ arrived: 1, completed: 0, queued: 100 }), true)
    expect(admission.share).toBe(1)
  })
})
