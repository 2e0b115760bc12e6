import { gpuSpecs, InvalidInputError, smClocksAt } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { SyntheticPredictor } from '../../greedy-partition/test/synthetic-predictor.js'
import { publishedSearch } from '../src/index.js'
import type { PublishedModel } from '../src/search/published-model.js'
import type { PublishedSearchOptions } from '../src/search/published-search.js'
import { batchesFor } from '../src/search/search-axes.js'
import { publishedRuns } from './published-cases.js'
import { publishedOn } from './reference-board.js'

describe('parity with the published search', () => {
  const runs = publishedRuns()

  it('has all 62 runs to compare with', () => {
    expect(runs).toHaveLength(62)
  })

  it.each(runs)('$caseId $variant: $model on $platform, $powerCapW W, step $sharePercentStep', (run) => {
    const result = publishedOn(run)
    // Every decision on the way, then where it led.
    expect(result.steps.map(({ admitted }) => `${admitted.mpsPercent}:${admitted.batchSize}`)).toEqual(run.admitted)
    expect(result.tenants.map((tenant) => tenant.mpsPercent)).toEqual(run.shares)
    expect(result.tenants.map((tenant) => tenant.batchSize)).toEqual(run.batches)
    expect(result.memClockMhz).toBe(run.memClockMhz)
    expect(result.smClockMhz / run.smClockMhz).toBeCloseTo(1, 6)
    expect(result.configsSearched).toBe(run.configsSearched)
    expect(result.overCap).toBe(run.powerW !== null && run.powerW > run.powerCapW)
    if (run.throughput === null) {
      expect(result.prediction).toBeNull()
    } else {
      expect(result.prediction!.throughput / run.throughput).toBeCloseTo(1, 6)
      expect(result.prediction!.powerW / run.powerW!).toBeCloseTo(1, 6)
    }
  })
})

describe('the published search on any model', () => {
  const board = new SyntheticPredictor(gpuSpecs['A100']!)
  /** The synthetic board knows its own clocks only; here others take the next one below. */
  const modelAt = (memClockMhz: number): PublishedModel => ({
    predictAll: (shares, batches, smClockMhz) =>
      board.predict({
        tenants: shares.map((mpsPercent, i) => ({ model: 'middle', mpsPercent, batchSize: batches[i]! })),
        smClockMhz: smClocksAt(board.spec, memClockMhz)!.findLast((clock) => clock <= smClockMhz)!,
        memClockMhz,
      }),
  })
  const options: PublishedSearchOptions = {
    model: 'middle',
    powerCapW: 180,
    sharePercentStep: 10,
    smClocksMhz: smClocksAt(board.spec, board.memClocksMhz[0]!)!,
    memClocksMhz: board.memClocksMhz,
  }

  it('stays in the higher memory state where a lower one gives the same', () => {
    const oneState = (): PublishedModel => modelAt(board.memClocksMhz[0]!)
    const memClocksMhz = [5001, 9501, 810]
    for (const variant of ['standard', 'vectorized'] as const) {
      // Steps of 30 % leave some to deal out, after which the clocks are found again.
      for (const sharePercentStep of [10, 30]) {
        const result = publishedSearch(oneState, { ...options, variant, sharePercentStep, memClocksMhz })
        expect(result.memClockMhz).toBe(9501)
      }
    }
  })

  it('hands out the whole board, clocks falling', () => {
    for (const variant of ['standard', 'vectorized'] as const) {
      const result = publishedSearch(modelAt, { ...options, variant })
      expect(result.tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)).toBe(100)
      const clocks = result.steps.map((step) => step.smClockMhz)
      expect(clocks).toEqual(clocks.toSorted((a, b) => b - a))
    }
  })

  it('says that it found nothing, where the published program predicts for no tenants', () => {
    const result = publishedSearch(modelAt, { ...options, powerCapW: 30 })
    expect(result).toMatchObject({ tenants: [], prediction: null, overCap: false, steps: [] })
  })

  it('loses the share that full tenants cannot take', () => {
    const result = publishedSearch(modelAt, { ...options, maxTenants: 2, maxSharePercent: 30, powerCapW: 400 })
    expect(result.tenants.map((tenant) => tenant.mpsPercent)).toEqual([30, 30])
  })

  it('counts a plan that takes the cap to the watt as none above it', () => {
    const flat: PublishedModel = {
      predictAll: (shares) => ({
        throughput: shares.length,
        powerW: options.powerCapW,
        smUtilPercent: 50,
        memUtilPercent: 50,
        tenants: shares.map(() => ({ throughput: 1, latencyMs: 1 })),
      }),
    }
    const result = publishedSearch(() => flat, options)
    expect(result.tenants.length).toBeGreaterThan(0)
    expect(result).toMatchObject({ overCap: false, prediction: { powerW: options.powerCapW } })
  })

  it('asks for each model and each configuration once', () => {
    for (const variant of ['standard', 'vectorized'] as const) {
      const models: number[] = []
      const asked: string[] = []
      const counting = (memClockMhz: number): PublishedModel => {
        models.push(memClockMhz)
        const model = modelAt(memClockMhz)
        return {
          predictAll: (shares, batches, smClockMhz) => {
            asked.push(`${shares} ${batches} ${smClockMhz} ${memClockMhz}`)
            return model.predictAll(shares, batches, smClockMhz)
          },
        }
      }
      publishedSearch(counting, { ...options, variant, sharePercentStep: 30 })
      expect(models.sort()).toEqual([...options.memClocksMhz].sort())
      expect(new Set(asked).size).toBe(asked.length)
    }
  })

  it('begins with the tenant that does most per percent of share, from nothing', () => {
    const linear: PublishedModel = {
      predictAll: (shares) => ({
        throughput: shares.reduce((sum, share) => sum + 0.1 + 0.1 * share, 0),
        powerW: 100,
        smUtilPercent: 50,
        memUtilPercent: 50,
      }),
    }
    for (const variant of ['standard', 'vectorized'] as const) {
      const { steps } = publishedSearch(() => linear, { ...options, variant })
      expect(steps.map(({ admitted }) => admitted.mpsPercent)).toEqual(new Array(10).fill(10))
    }
  })

  it('halves the range of clocks twelve times, where none of them is near the cap', () => {
    for (const variant of ['standard', 'vectorized'] as const) {
      const clocks = new Set<number>()
      const stepped: PublishedModel = {
        predictAll: (_, __, smClockMhz) => {
          clocks.add(smClockMhz)
          return { throughput: 1, powerW: smClockMhz < 1234.56 ? 100 : 200, smUtilPercent: 50, memUtilPercent: 50 }
        },
      }
      const space = { powerCapW: 150, sharePercentStep: 100, maxTenants: 1, memClocksMhz: [9501] }
      const table = Array.from({ length: 17001 }, (_, i) => 400 + i / 10)
      const { steps } = publishedSearch(() => stepped, { ...options, ...space, variant, smClocksMhz: table })
      expect(steps[0]!.smClockMhz).toBeCloseTo(1234.5, 0)
      clocks.delete(steps[0]!.smClockMhz)
      // Both ends, and those of the narrower range of the first variant.
      expect(clocks.size).toBe((variant === 'standard' ? 4 : 2) + 12)
    }
  })

  it('tries the published batches', () => {
    const space = { ...options, shares: [], maxTotalBatch: undefined }
    expect(batchesFor(space, 5, 1)).toEqual([4, 8, 16, 32])
    expect(batchesFor(space, 85, 1)).toEqual([96, 128, 192, 256])
    expect(batchesFor({ ...space, model: 'vgg19' }, 85, 1)).toEqual([96, 128])
    expect(batchesFor({ ...space, maxTotalBatch: 64 }, 20, 2)).toEqual([16, 32])
    // Nothing between 68 and 32: the nearest to the lower end.
    expect(batchesFor({ ...space, maxTotalBatch: 64 }, 85, 2)).toEqual([64])
  })

  it.each<[string, Partial<PublishedSearchOptions>]>([
    ['powerCapW', { powerCapW: 0 }],
    ['sharePercentStep', { sharePercentStep: 2.5 }],
    ['sharePercentStep', { sharePercentStep: 0 }],
    ['sharePercentStep', { sharePercentStep: 101 }],
    ['smClocksMhz', { smClocksMhz: [] }],
    ['memClocksMhz', { memClocksMhz: [] }],
  ])('refuses a bad %s', (field, bad) => {
    expect(() => publishedSearch(modelAt, { ...options, ...bad })).toThrow(InvalidInputError)
    expect(() => publishedSearch(modelAt, { ...options, ...bad })).toThrow(field)
  })
})
