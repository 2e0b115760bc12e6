import { goldenJson } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import {
  fitPublishedCurves,
  type ProfiledGpu,
  publishedAllocation,
  publishedMethods,
} from '../../src/training/index.js'

type PublishedRows = Readonly<Record<string, readonly { power_limit: number; time: number; energy: number }[]>>

/** A profile in the published form: by batch size, what each limit took. */
function profile(name: string): ProfiledGpu {
  const rows = Object.entries(goldenJson(`zeus2/${name}.json`) as PublishedRows).flatMap(([batch, limits]) =>
    limits.map((limit) => ({
      batchSize: Number(batch),
      powerLimitW: limit.power_limit,
      timeS: limit.time,
      energyJ: limit.energy,
    })),
  )
  return { name, rows }
}

describe('golden figures of the published code', () => {
  const golden = goldenJson('zeus2/golden.json')

  it('fits the parabolas of exact least squares to 1e-9, and those of the iterative fitter to 1e-5', () => {
    const relative = (found: readonly number[], wanted: number[], tolerance: number) =>
      found.forEach((value, i) => {
        expect(Math.abs(value / wanted[i]! - 1)).toBeLessThan(tolerance)
      })
    for (const [gpu, name] of [
      ['a10', 'cifar_a10'],
      ['t4', 'cifar_t4'],
    ] as const) {
      const curves = fitPublishedCurves(profile(name))
      for (const [fits, tolerance] of [
        [golden.exactLeastSquares.fits[gpu], 1e-9],
        [golden.fits[gpu], 1e-5],
      ] as const) {
        expect(curves.map(({ powerLimitW }) => powerLimitW)).toEqual(
          fits.map(({ powerLimit }: { powerLimit: number }) => powerLimit),
        )
        curves.forEach(({ timeS, powerW }, i) => {
          relative(timeS, fits[i].time, tolerance)
          relative(powerW, fits[i].power, tolerance)
        })
      }
    }
  })

  it('allocates as the published code, in both orders of the GPUs', () => {
    for (const order of golden.orders) {
      for (const method of publishedMethods) {
        const wanted = order[method]
        const found = publishedAllocation([profile(order.gpu1), profile(order.gpu2)], method)
        expect(found.shares).toEqual([wanted.b1, wanted.b2])
        expect(found.powerLimitsW).toEqual([wanted.p1, wanted.p2])
        expect(found.candidates).toBe(wanted.candidates)
        expect(Math.abs(found.cost / wanted.cost - 1)).toBeLessThan(1e-6)
        expect(Math.abs(found.maxCost / wanted.maxCost - 1)).toBeLessThan(1e-6)
      }
    }
    const pair = [profile('cifar_a10'), profile('cifar_t4')]
    for (const method of ['bruteForce', 'baseline'] as const) {
      const { cost } = publishedAllocation(pair, method)
      expect(Math.abs(cost / golden.exactLeastSquares[method].cost - 1)).toBeLessThan(1e-9)
    }
  })
})
