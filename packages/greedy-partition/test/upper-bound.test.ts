import { gpuSpecs } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exhaustive, type FeasiblePartition, partition, throughputUpperBound } from '../src/index.js'
import { SyntheticPredictor, syntheticNetworks } from './synthetic-predictor.js'

const board = (key: string) => new SyntheticPredictor(gpuSpecs[key]!)

describe('the upper bound', () => {
  it('is not below the best there is', () => {
    for (const key of Object.keys(gpuSpecs).slice(0, 2)) {
      for (const models of Object.keys(syntheticNetworks)) {
        const options = { models, powerCapW: 0.5 * gpuSpecs[key]!.powerLimitW.max, sharePercentStep: 25 }
        const best = exhaustive(board(key), options) as FeasiblePartition
        const exact = throughputUpperBound(board(key), options)!
        expect(exact).toMatchObject({ weightedThroughput: best.weightedThroughput, exact: true })
        const bound = throughputUpperBound(board(key), options, { maxConfigurations: 0 })!
        expect(bound.exact).toBe(false)
        expect(bound.weightedThroughput, `${models} on ${key}`).toBeGreaterThanOrEqual(best.weightedThroughput)
        expect(bound.weightedThroughput, `${models} on ${key}`).toBeLessThan(4 * best.weightedThroughput)
      }
    }
  })

  it('is not below what the search finds, for networks with weights too', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 120, max: 350, noNaN: true }),
        fc.double({ min: 0.01, max: 10, noNaN: true }),
        (powerCapW, weight) => {
          const options = { models: [{ model: 'light' }, { model: 'heavy', weight }], powerCapW, sharePercentStep: 20 }
          const found = partition(board('A100'), options)
          const bound = throughputUpperBound(board('A100'), options, { maxConfigurations: 0 })
          if (found.feasible) expect(bound!.weightedThroughput).toBeGreaterThanOrEqual(found.weightedThroughput)
        },
      ),
      { numRuns: 10 },
    )
  })

  it('rises with the cap, and does not exist where no tenant keeps it', () => {
    const bounds = [150, 200, 300].map(
      (powerCapW) =>
        throughputUpperBound(board('3080Ti'), { models: 'middle', powerCapW }, { maxConfigurations: 0 })!
          .weightedThroughput,
    )
    expect(bounds[1]!).toBeGreaterThan(bounds[0]!)
    expect(bounds[2]!).toBeGreaterThan(bounds[1]!)
    expect(throughputUpperBound(board('3080Ti'), { models: 'middle', powerCapW: 40 })).toBeNull()
  })

  it('certifies a plan in steps of 10 %: what it leaves is the gap, and no other', () => {
    const options = { models: 'light', powerCapW: 170, sharePercentStep: 10, batchSizes: [8, 32, 128] }
    const found = partition(board('A100'), options) as FeasiblePartition
    const { weightedThroughput, exact } = throughputUpperBound(board('A100'), options)!
    expect(exact).toBe(true)
    expect(weightedThroughput).toBeGreaterThanOrEqual(found.weightedThroughput)
    expect(weightedThroughput).toBeLessThan(1.05 * found.weightedThroughput)
  })

  it('is reached by a space of one tenant', () => {
    const only = { models: 'middle', powerCapW: 250, sharePercentStep: 100, batchSizes: [64] }
    const best = exhaustive(board('A100'), only) as FeasiblePartition
    const bound = throughputUpperBound(board('A100'), only, { maxConfigurations: 0 })!
    expect(bound.weightedThroughput).toBeCloseTo(best.weightedThroughput, 6)
    expect(bound.smClockMhz).toBe(best.configuration.smClockMhz)
  })
})
