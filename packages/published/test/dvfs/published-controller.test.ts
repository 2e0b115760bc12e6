import { snapNearest } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  fitPublishedLaw,
  PublishedController,
  PublishedPid,
  publishedFeedForward,
  publishedGuard,
  publishedPower,
  publishedSlope,
} from '../../src/dvfs/index.js'
import { clocksMhz, law } from './golden-law.js'

const powerAt = (clockMhz: number): number => publishedPower(law, clockMhz)

interface Iteration {
  readonly clockMhz: number
  readonly powerW: number
  readonly capW: number
}

/** The published loop: the cap of a schedule is told to the controller at the end of the iteration with its index. */
function closedLoop(biasW: number, iterations: number, caps: Readonly<Record<number, number>>): Iteration[] {
  let capW = caps[0]!
  const controller = new PublishedController(law, capW)
  const rows: Iteration[] = []
  let next = 810
  for (let i = 0; i < iterations; i++) {
    const clockMhz = snapNearest(clocksMhz, next)!
    const powerW = powerAt(clockMhz) + biasW
    rows.push({ clockMhz, powerW, capW })
    next = publishedGuard(clocksMhz, clockMhz, controller.step(clockMhz, powerW), powerW, capW)
    capW = caps[i] ?? capW
    controller.setPowerCap(capW)
  }
  return rows
}

const violations = (rows: readonly Iteration[]): number => rows.filter((row) => row.powerW > row.capW).length

describe('PublishedController, golden vectors', () => {
  it('has the power law of the synthetic plant', () => {
    expect(powerAt(210)).toBeCloseTo(58.32283, 5)
    expect(powerAt(1410)).toBeCloseTo(244.94163, 5)
  })

  it.each([
    [900, 0.160089],
    [1000, 0.171364],
    [1005, 0.171964],
    [1400, 0.231116],
  ])('has slope at %d MHz', (clockMhz, slope) => {
    expect(publishedSlope(law, clockMhz)).toBeCloseTo(slope, 6)
  })

  it.each([
    [50, 210],
    [60, 233.6519],
    [100, 554.0595],
    [150, 873.6454],
    [200, 1163.8241],
    [250, 1410],
  ])('feeds a cap of %d W forward', (capW, clockMhz) => {
    expect(publishedFeedForward(law, capW)).toBeCloseTo(clockMhz, 4)
  })

  it('takes the published steps', () => {
    const controller = new PublishedController(law, 150)
    const steps: readonly [clockMhz: number, powerW: number, nextMhz: number][] = [
      [900, 140, 873.6454],
      [1000, 100, 1233.4206],
      [1000, 165, 929.9738],
      [1005, 149, 1020],
      [1005, 151, 990],
      [1005, 150, 1005],
      [1005, 143.0, 1020],
      [1005, 142.9, 1038.0301],
      [1400, 20, 1410],
      [1400, 330, 1100],
    ]
    for (const [clockMhz, powerW, nextMhz] of steps) expect(controller.step(clockMhz, powerW)).toBeCloseTo(nextMhz, 4)
    controller.setPowerCap(120)
    expect(controller.step(900, 140)).toBeCloseTo(686.9675, 4)
  })

  it('cycles around the cap, half of the time above it', () => {
    const rows = closedLoop(0, 40, { 0: 150 })
    expect(rows.slice(0, 6).map((row) => row.clockMhz)).toEqual([810, 870, 915, 930, 915, 930])
    expect(rows[0]!.powerW).toBeCloseTo(132.39, 2)
    expect(rows[3]!.powerW).toBeCloseTo(151.23, 2)
    expect(violations(rows.slice(10))).toBe(15)
  })

  it.each([
    [15, [825, 840]],
    [-20, [1035, 1050]],
  ])('cycles likewise on a plant %d W off', (biasW, cycle) => {
    const rows = closedLoop(biasW, 60, { 0: 150 }).slice(20)
    expect([...new Set(rows.map((row) => row.clockMhz))].sort((a, b) => a - b)).toEqual(cycle)
    expect(violations(rows)).toBe(20)
  })

  it('follows the published schedule, one iteration late', () => {
    const rows = closedLoop(5, 150, { 0: 200, 50: 160, 100: 120 })
    expect([51, 52, 101, 102].map((i) => rows[i]!.clockMhz)).toEqual([1170, 930, 945, 690])
    expect(rows[51]!.powerW).toBeCloseTo(198.92, 2)
    expect(rows[101]!.powerW).toBeCloseTo(158.69, 2)
    expect(violations(rows)).toBe(75)
    expect(Math.max(...rows.map((row) => row.powerW - row.capW))).toBeCloseTo(38.92, 2)
  })

  it('feeds forward where the cap moves by more than a milliwatt', () => {
    const next = (capW: number) => {
      const controller = new PublishedController(law, 150)
      controller.step(900, 140)
      controller.setPowerCap(capW)
      return controller.step(1005, 149)
    }
    expect(next(150.0009)).toBe(1020)
    expect(next(150.0011)).toBeCloseTo(873.6, 0)
  })

  it('is guarded above the cap where its clock would be the one just used, and no lower than the lowest', () => {
    const guarded = (usedMhz: number, nextMhz: number, powerW: number) =>
      publishedGuard([600, 615, 630], usedMhz, nextMhz, powerW, 150)
    expect([guarded(615, 618, 150), guarded(615, 618, 150.1), guarded(615, 630, 151)]).toEqual([618, 600, 630])
    expect([guarded(600, 601, 151), guarded(615.9, 615, 151), guarded(616, 615, 151)]).toEqual([600, 600, 615])
  })

  it('has a dynamic power that stays at its ends beyond them, and a slope that is never flat', () => {
    const own = { ...law, d3: 0, d2: 0, d1: 0, d0: 0 }
    expect([100, 210, 1410, 2000].map((clockMhz) => publishedPower(own, clockMhz))).toEqual([30, 30, 200, 200])
    expect(publishedPower({ ...own, d1: 0.01 }, 2000)).toBeCloseTo(220, 9)
    expect(publishedSlope({ ...own, dynamicPowerAtReferenceW: 30 }, 900)).toBe(1e-6)
  })

  it('refuses a missing reading', () => {
    const controller = new PublishedController(law, 150)
    expect(() => controller.step(900, 0)).toThrow('powerW: got 0')
    expect(() => controller.step(900, Number.NaN)).toThrow('powerW: got NaN')
  })

  it('refuses a law that is none', () => {
    expect(() => new PublishedController({ ...law, gamma: Number.NaN }, 150)).toThrow('law.gamma')
    expect(() => new PublishedController({ ...law, referenceClockMhz: 210 }, 150)).toThrow('law.referenceClockMhz')
  })
})

describe('PublishedPid, golden vectors', () => {
  it.each([
    [{ kp: 7e-4, ki: 4e-5, kd: 5e-6, alpha: 0.97 }, [810, 870, 885, 900, 900, 900]],
    [{ kp: 0.05, ki: 0.005, kd: 0, alpha: 0.97 }, [210, 900, 900, 900]],
  ])('with gains %o', (gains, expected) => {
    const pid = new PublishedPid(clocksMhz, gains)
    let clockMhz = expected[0]!
    const seen = [clockMhz]
    while (seen.length < expected.length) {
      clockMhz = pid.step(clockMhz, powerAt(clockMhz), 150)
      seen.push(clockMhz)
    }
    expect(seen).toEqual(expected)
    expect(powerAt(clockMhz)).toBeCloseTo(146.4, 1)
  })

  it('refuses a clock that is none, and a missing reading', () => {
    const pid = new PublishedPid(clocksMhz)
    expect(() => pid.step(211, 100, 150)).toThrow('smClockMhz: got 211')
    expect(() => pid.step(210, 0, 150)).toThrow('powerW: got 0')
  })
})

describe('fitPublishedLaw', () => {
  it('finds the exponent of a law of its own kind, and stays close to one with a static part', () => {
    const own = { ...law, d3: 0, d2: 0, d1: 0, d0: 0, gamma: 1.7 }
    const fitted = fitPublishedLaw(
      clocksMhz,
      clocksMhz.map((clock) => publishedPower(own, clock)),
    )
    expect(fitted.gamma).toBeCloseTo(1.7, 10)
    const close = fitPublishedLaw(clocksMhz, clocksMhz.map(powerAt))
    for (const clock of clocksMhz)
      expect(Math.abs(publishedPower(close, clock) / powerAt(clock) - 1)).toBeLessThan(0.05)
  })

  it.each([0.6, 1, 2.9, 5.8])('finds an exponent of %d, with the ends exact', (gamma) => {
    const own = { ...law, d3: 0, d2: 0, d1: 0, d0: 0, gamma }
    const fitted = fitPublishedLaw(
      clocksMhz,
      clocksMhz.map((clock) => publishedPower(own, clock)),
    )
    expect(fitted.gamma).toBeCloseTo(gamma, 8)
    for (const clock of [clocksMhz[0]!, clocksMhz.at(-1)!])
      expect(publishedPower(fitted, clock)).toBeCloseTo(publishedPower(own, clock), 9)
  })

  it('looks for exponents from a half to six', () => {
    const fittedTo = (gamma: number) => {
      const own = { ...law, d3: 0, d2: 0, d1: 0, d0: 0, gamma }
      return fitPublishedLaw(
        clocksMhz,
        clocksMhz.map((clock) => publishedPower(own, clock)),
      ).gamma
    }
    expect([fittedTo(0.3), fittedTo(8)]).toEqual([expect.closeTo(0.5, 6), expect.closeTo(6, 6)])
  })

  it('is right at both of two clocks', () => {
    const fitted = fitPublishedLaw([210, 1410], [60, 240])
    expect(publishedPower(fitted, 210)).toBeCloseTo(60, 9)
    expect(publishedPower(fitted, 1410)).toBeCloseTo(240, 9)
  })

  it('refuses power that does not rise', () => {
    expect(() => fitPublishedLaw([210, 225], [50, 50])).toThrow('powersW: got 50')
    expect(() => fitPublishedLaw([210], [50])).toThrow('powersW.length: got 1')
  })
})
