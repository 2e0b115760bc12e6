import path from 'node:path'
import { nearestMonotoneGrid } from '@pctodl/numerics'
import { referenceFolder } from '@pctodl/reference-data'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { curvesOf, findPlan, type GpuProfile, readProfile } from '../src/index.js'

const batches = [4, 8, 32, 64]

/** Noise of a factor of two in time and in power, limits in any order. */
const anyProfile = fc
  .record({
    limits: fc.uniqueArray(fc.integer({ min: 10, max: 40 }), { minLength: 1, maxLength: 4 }),
    noise: fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: 32, maxLength: 32 }),
    idlePowerW: fc.integer({ min: 0, max: 99 }),
  })
  .map(({ limits, noise, idlePowerW }): GpuProfile => {
    const rows = limits.flatMap((limit, l) =>
      batches.map((batchSize, b) => {
        const timeS = (1 + batchSize / 10) * noise[l * 8 + b]!
        return { batchSize, powerLimitW: 10 * limit, timeS, energyJ: timeS * 8 * limit * noise[l * 8 + b + 4]! }
      }),
    )
    return { name: 'any', unit: 'step', idlePowerW, rows }
  })

/** Of interpolating between equal values. */
const ROUNDING = 1e-12

const shares = [1, 3, 4, 5, 8, 20, 32, 63, 64, 65, 200, 4096]

describe('physical curves', () => {
  it('obey physics whatever was measured', () => {
    fc.assert(
      fc.property(anyProfile, (profile) => {
        const { powerLimitsW, idlePowerW, timeS, powerW } = curvesOf(profile)
        powerLimitsW.forEach((limitW, l) => {
          shares.forEach((share, i) => {
            expect(timeS(l, share)).toBeGreaterThan(0)
            expect(powerW(l, share)).toBeGreaterThanOrEqual(idlePowerW)
            expect(powerW(l, share)).toBeLessThanOrEqual(limitW)
            if (i > 0) {
              expect(timeS(l, share)).toBeGreaterThanOrEqual(timeS(l, shares[i - 1]!))
              expect(powerW(l, share)).toBeGreaterThanOrEqual(powerW(l, shares[i - 1]!))
            }
            // Beyond the profile lines with different slopes may cross.
            if (l > 0 && share <= 64) {
              expect(timeS(l, share)).toBeLessThanOrEqual(timeS(l - 1, share) * (1 + ROUNDING))
              expect(powerW(l, share) * (1 + ROUNDING)).toBeGreaterThanOrEqual(powerW(l - 1, share))
            }
          })
          expect(timeS(l, 0)).toBe(0)
          expect(powerW(l, 0)).toBe(idlePowerW)
        })
      }),
    )
  })

  it('go through measurements that obey physics, and know no error then', () => {
    const rows = [100, 200].flatMap((powerLimitW) =>
      batches.map((batchSize) => {
        const timeS = (1 + batchSize / 10) * (300 / powerLimitW)
        return { batchSize, powerLimitW, timeS, energyJ: timeS * 0.7 * powerLimitW }
      }),
    )
    const curves = curvesOf({ name: 'tidy', unit: 'step', idlePowerW: 10, rows })
    for (const { batchSize, powerLimitW, timeS, energyJ } of rows) {
      const limit = curves.powerLimitsW.indexOf(powerLimitW)
      expect(curves.timeS(limit, batchSize)).toBeCloseTo(timeS, 9)
      expect(curves.powerW(limit, batchSize)).toBeCloseTo(energyJ / timeS, 9)
    }
    expect(curves.timeSd).toBeLessThan(1e-9)
    expect(curves.powerSd).toBeLessThan(1e-9)
    // Half way between 8 and 32, and as far beyond 64 as 32 is below.
    expect(curves.timeS(1, 20)).toBeCloseTo(4.5, 9)
    expect(curves.timeS(1, 96)).toBeCloseTo(2 * 11.1 - 6.3, 9)
  })

  it('say how far measurements are from them', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.02, max: 0.5, noNaN: true }), (noise) => {
        const rows = batches.map((batchSize, b) => {
          // Up and down by as much: the nearest non-decreasing line is flat.
          const timeS = Math.exp(b % 2 === 0 ? noise : -noise)
          return { batchSize, powerLimitW: 100, timeS, energyJ: 60 * timeS }
        })
        const { timeSd, powerSd } = curvesOf({ name: 'noisy', unit: 'step', idlePowerW: 0, rows })
        expect(timeSd).toBeCloseTo(noise, 6)
        expect(powerSd).toBeLessThan(1e-9)
      }),
    )
  })
})

describe('beyond the profile', () => {
  const profileOf = (file: string) => readProfile(path.join(referenceFolder('zeus2'), file), { idlePowerW: 10 })

  it('says how far it errs: of measured traces cut short, what was cut off lies within two standard deviations', () => {
    let within = 0
    let all = 0
    for (const file of ['cifar_a10.json', 'cifar_t4.json', 'imagenet_a10.json', 'imagenet_t4.json']) {
      const whole = profileOf(file)
      const batchSizes = [...new Set(whole.rows.map(({ batchSize }) => batchSize))].sort((a, b) => a - b)
      for (let kept = 3; kept < batchSizes.length; kept++) {
        const largest = batchSizes[kept - 1]!
        const curves = curvesOf({ ...whole, rows: whole.rows.filter(({ batchSize }) => batchSize <= largest) })
        for (const { batchSize, powerLimitW, timeS } of whole.rows) {
          if (batchSize <= largest || batchSize > 5 * largest) continue
          const limit = curves.powerLimitsW.indexOf(powerLimitW)
          const sd = curves.timeSdAt(limit, batchSize)
          expect(sd).toBeGreaterThan(0.02)
          all++
          if (Math.abs(Math.log(timeS / curves.timeS(limit, batchSize))) <= 2 * sd) within++
        }
      }
    }
    expect(all).toBeGreaterThan(50)
    expect(within / all).toBeGreaterThan(0.9)
  })

  it('a tidy trace claims no tenth of a percent at five times its largest batch, and plans say so', () => {
    const rows = [100, 200].flatMap((powerLimitW) =>
      batches.map((batchSize) => {
        const timeS = (1 + batchSize / 10) * (300 / powerLimitW)
        return { batchSize, powerLimitW, timeS, energyJ: timeS * 0.7 * powerLimitW }
      }),
    )
    const profile = { name: 'tidy', unit: 'step' as const, idlePowerW: 10, rows }
    const curves = curvesOf(profile)
    expect(curves.timeSdAt(0, 64)).toBeLessThan(1e-9)
    expect(curves.timeSdAt(0, 320)).toBeGreaterThan(0.05)
    expect(curves.timeSdAt(0, 320)).toBeGreaterThan(curves.timeSdAt(0, 128))
    // Half of the smallest batch: between 1.4 s as at 4 and 1.2 s on the line.
    expect(curves.timeSdAt(1, 2)).toBeCloseTo(0.3 / 2.1 / Math.sqrt(3), 9)
    const { timeSd, energySd } = findPlan({ gpus: [{ profile }], globalBatch: 320 })
    expect(timeSd).toBeCloseTo(curves.timeSdAt(0, 320), 9)
    expect(energySd).toBeGreaterThan(0.05)
    expect(findPlan({ gpus: [{ profile }], globalBatch: 64 }).timeSd).toBeLessThan(1e-9)
  })
})

describe('measured curves', () => {
  it('go through every measurement within the limits', () => {
    fc.assert(
      fc.property(anyProfile, (profile) => {
        const curves = curvesOf(profile, 'measured')
        for (const { batchSize, powerLimitW, timeS, energyJ } of profile.rows) {
          const limit = curves.powerLimitsW.indexOf(powerLimitW)
          expect(curves.timeS(limit, batchSize)).toBe(timeS)
          const powerW = Math.max(curves.idlePowerW, Math.min(energyJ / timeS, powerLimitW))
          expect(curves.powerW(limit, batchSize)).toBeCloseTo(powerW, 9)
        }
      }),
    )
  })
})

describe('the nearest monotone grid', () => {
  it('is monotone, keeps monotone grids, and nothing monotone is nearer', () => {
    const grid = fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 12, maxLength: 12 })
    const distance = (a: Float64Array, b: readonly number[]) =>
      a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0)
    fc.assert(
      fc.property(grid, grid, (values, others) => {
        const nearest = nearestMonotoneGrid(Float64Array.from(values), 3, 4)
        for (let r = 0; r < 3; r++) {
          for (let c = 0; c < 4; c++) {
            if (r > 0) expect(nearest[r * 4 + c]).toBeGreaterThanOrEqual(nearest[(r - 1) * 4 + c]!)
            if (c > 0) expect(nearest[r * 4 + c]).toBeGreaterThanOrEqual(nearest[r * 4 + c - 1]!)
          }
        }
        const monotone = nearestMonotoneGrid(Float64Array.from(others), 3, 4)
        nearestMonotoneGrid(monotone, 3, 4).forEach((value, i) => {
          expect(value).toBeCloseTo(monotone[i]!, 9)
        })
        expect(distance(nearest, values)).toBeLessThanOrEqual(distance(monotone, values) + 1e-6)
      }),
    )
  })
})
