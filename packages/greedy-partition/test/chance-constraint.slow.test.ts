import { normalQuantileOfTail, normalTail } from '@pctodl/numerics'
import { type Configuration, gpuSpecs, InvalidInputError, smClocksAt } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { type FeasiblePartition, lowestFeasibleCap, type PartitionOptions, partition } from '../src/index.js'
import { riskOfEach } from '../src/plan-risk.js'
import { SyntheticPredictor } from './synthetic-predictor.js'
import { UncertainPredictor } from './uncertain-predictor.js'

const board = () => new UncertainPredictor(gpuSpecs['3080Ti']!)
const options: PartitionOptions = { models: 'middle', powerCapW: 190, sharePercentStep: 10 }
const found = (extra: Partial<PartitionOptions>) => partition(board(), { ...options, ...extra }) as FeasiblePartition

describe('the normal distribution', () => {
  it.each([
    [0.05, 1.6448536269514722],
    [0.01, 2.3263478740408408],
    [0.001, 3.090232306167813],
    [1e-9, 5.9978070150076865],
    [0.5, 0],
  ])('has the tail %d beyond %d', (probability, z) => {
    expect(normalQuantileOfTail(probability)).toBeCloseTo(z, 6)
    expect(normalTail(z)).toBeCloseTo(probability, 12)
  })
})

describe('the chance constraint', () => {
  it('holds each of the plans that could have been chosen to its part of the risk, at the highest clock that does', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 0.5, noNaN: true }),
        fc.double({ min: 110, max: 300, noNaN: true }),
        fc.double({ min: 0, max: 10, noNaN: true }),
        (probability, powerCapW, powerMarginW) => {
          const predictor = board()
          const result = partition(predictor, {
            ...options,
            sharePercentStep: 25,
            powerCapW,
            powerMarginW,
            capExceedanceProbability: probability,
          })
          if (!result.feasible) return
          const each = riskOfEach(probability)
          const tail = (configuration: typeof result.configuration) => {
            const { powerW, powerSdW } = predictor.predict(configuration)
            return normalTail((powerCapW - powerMarginW - powerW) / powerSdW!)
          }
          expect(tail(result.configuration)).toBeLessThanOrEqual(each + 1e-12)
          expect(result.capExceedanceProbability!).toBeLessThanOrEqual(each + 1e-12)
          const clocks = smClocksAt(predictor.spec, result.configuration.memClockMhz)!
          const next = clocks[clocks.indexOf(result.configuration.smClockMhz) + 1]
          if (next === undefined) return
          const { powerW, powerSdW } = predictor.predict({ ...result.configuration, smClockMhz: next })
          const sds = (powerCapW - powerMarginW - powerW) / powerSdW!
          expect(sds < 0 ? 1 : normalTail(sds)).toBeGreaterThan(each - 1e-9)
        },
      ),
      { numRuns: cases(30, 12) },
    )
  })

  it('takes the power that the predictor says is exceeded', () => {
    const heavy = new (class extends UncertainPredictor {
      upperPowerW(configuration: Configuration, probability: number): number {
        const { powerW, powerSdW } = this.predict(configuration)
        return powerW + 2 * normalQuantileOfTail(probability) * powerSdW!
      }
    })(gpuSpecs['3080Ti']!)
    const wanted = { ...options, capExceedanceProbability: 0.05 }
    const plan = partition(heavy, wanted) as FeasiblePartition
    const { powerW, powerSdW } = plan.prediction
    expect((190 - powerW) / powerSdW!).toBeGreaterThan(2 * 1.64)
    expect(plan.capExceedanceProbability!).toBeLessThanOrEqual(0.05)
    expect(plan.capExceedanceProbability!).toBeCloseTo(normalTail((190 - powerW) / powerSdW! / 2), 6)
  })

  it('costs throughput, the more the smaller the risk', () => {
    const throughputs = [undefined, 0.2, 0.01, 1e-6].map(
      (probability) =>
        found(probability === undefined ? {} : { capExceedanceProbability: probability }).weightedThroughput,
    )
    for (let i = 1; i < throughputs.length; i++) expect(throughputs[i]!).toBeLessThan(throughputs[i - 1]!)
  })

  it('never draws more than the plain cap, be the risk one half', () => {
    expect(found({ capExceedanceProbability: 0.5 }).weightedThroughput).toBeLessThanOrEqual(
      found({}).weightedThroughput,
    )
  })

  it('counts into the lowest feasible cap', () => {
    const risk = { models: 'middle', sharePercentStep: 20, capExceedanceProbability: 0.01 }
    const lowest = lowestFeasibleCap(board(), risk)!
    expect(lowest).toBeGreaterThan(lowestFeasibleCap(board(), { models: 'middle', sharePercentStep: 20 })! + 2)
    expect(partition(board(), { ...risk, powerCapW: lowest }).feasible).toBe(true)
    const below = partition(board(), { ...risk, powerCapW: lowest - 0.01 })
    expect(below).toMatchObject({ feasible: false, reason: 'power-cap', lowestFeasibleCapW: lowest })
    expect(!below.feasible && below.message).toContain('with a risk of 0.01 of exceeding it')
  })

  it('is refused where the predictor does not know its error', () => {
    const call = () =>
      partition(new SyntheticPredictor(gpuSpecs['A100']!), { ...options, capExceedanceProbability: 0.05 })
    expect(call).toThrow(InvalidInputError)
    expect(call).toThrow(/capExceedanceProbability.*powerSdW.*powerMarginW/)
  })

  it('is not reported where nobody knows it', () => {
    expect(partition(new SyntheticPredictor(gpuSpecs['A100']!), options)).not.toHaveProperty('capExceedanceProbability')
  })
})
