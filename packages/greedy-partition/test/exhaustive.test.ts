import { gpuSpecs, InvalidInputError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { countCompositions, exhaustive, type FeasiblePartition } from '../src/index.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const predictor = () => new SyntheticPredictor(gpuSpecs['3080Ti']!)

describe('exhaustive', () => {
  it('counts multisets', () => {
    // Shares of 50 and 100 with two batch sizes each: 2 + 2 single tenants and 3 pairs of halves.
    expect(countCompositions(predictor(), { models: 'middle', sharePercentStep: 50, batchSizes: [8, 16] })).toBe(7)
    expect(
      countCompositions(predictor(), { models: 'middle', sharePercentStep: 50, batchSizes: [8, 16], maxTenants: 1 }),
    ).toBe(4)
  })

  it('evaluates each of them in each memory state, once', () => {
    // Small batches, so that device memory excludes no composition.
    const options = { models: 'light', sharePercentStep: 25, batchSizes: [4, 8, 16] }
    const result = exhaustive(predictor(), { ...options, powerCapW: 300 })
    expect(result.evaluations).toBe(2 * countCompositions(predictor(), options))
    expect(result).toMatchObject({ feasible: true, stoppedBecause: 'exhausted' })
  })

  it('looks at no more than it is allowed to, in all memory states together', () => {
    const options = { models: 'light', sharePercentStep: 50, batchSizes: [8, 16], powerCapW: 300 }
    expect(exhaustive(predictor(), options, { maxConfigurations: 14 }).evaluations).toBe(14)
    expect(() => exhaustive(predictor(), options, { maxConfigurations: 13 })).toThrow('this one leaves 14')
    expect(exhaustive(predictor(), { ...options, maxTenants: 1 }).evaluations).toBe(8)
    const both = { ...options, models: [{ model: 'light' }, { model: 'middle' }] }
    expect(countCompositions(predictor(), both)).toBe(4 + 4 + 10)
    // Four pairs have a tenant of each network.
    expect(exhaustive(predictor(), both).evaluations).toBe(2 * 4)
  })

  it('is as good as every configuration that a plain loop finds', () => {
    const board = predictor()
    const best = exhaustive(board, { models: 'middle', powerCapW: 170, sharePercentStep: 50 }) as FeasiblePartition
    let loop = 0
    for (const memClockMhz of board.memClocksMhz) {
      for (const a of [4, 8, 16, 32, 64, 96, 128, 192, 256]) {
        for (const b of [4, 8, 16, 32, 64, 96, 128, 192, 256]) {
          for (const tenants of [
            [{ model: 'middle', mpsPercent: 100, batchSize: a }],
            [{ model: 'middle', mpsPercent: 50, batchSize: a }],
            [a, b].map((batchSize) => ({ model: 'middle', mpsPercent: 50, batchSize })),
          ]) {
            const memory = tenants.reduce((sum, tenant) => sum + board.memoryBytes(tenant), 0)
            const smClockMhz = board.solveSmClock(tenants, memClockMhz, 170)
            if (smClockMhz === undefined || memory > board.spec.memoryBytes) continue
            loop = Math.max(loop, board.predict({ tenants, memClockMhz, smClockMhz }).throughput)
          }
        }
      }
    }
    expect(best.prediction.throughput).toBeCloseTo(loop, 6)
  })

  it('refuses a space that would take a day', () => {
    expect(() => exhaustive(predictor(), { models: 'middle', powerCapW: 200, sharePercentStep: 5 })).toThrow(
      InvalidInputError,
    )
  })
})
