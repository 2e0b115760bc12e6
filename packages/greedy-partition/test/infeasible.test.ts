import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { exhaustive, type InfeasiblePartition, lowestFeasibleCap, partition } from '../src/index.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const predictor = new SyntheticPredictor(gpuSpecs['3080Ti']!)

describe('what cannot be kept', () => {
  it('says which cap could, and keeps it', () => {
    const result = partition(predictor, { models: 'middle', powerCapW: 40, powerMarginW: 2 }) as InfeasiblePartition
    expect(result).toMatchObject({ feasible: false, reason: 'power-cap' })
    expect(result.message).toContain(`raise it to at least ${result.lowestFeasibleCapW} W`)
    expect(result.lowestFeasibleCapW).toBe(lowestFeasibleCap(predictor, { models: 'middle', powerMarginW: 2 }))
    expect(
      partition(predictor, { models: 'middle', powerCapW: result.lowestFeasibleCapW!, powerMarginW: 2 }).feasible,
    ).toBe(true)
  })

  it('counts the SLO in: a tight one needs more power', () => {
    const lowest = [Infinity, 200, 100].map(
      (latencySloMs) => lowestFeasibleCap(predictor, { models: 'heavy', latencySloMs })!,
    )
    expect(lowest[1]!).toBeGreaterThan(lowest[0]!)
    expect(lowest[2]!).toBeGreaterThan(lowest[1]!)
    expect(partition(predictor, { models: 'heavy', powerCapW: lowest[2]! - 1, latencySloMs: 100 })).toMatchObject({
      reason: 'power-cap',
      lowestFeasibleCapW: lowest[2]!,
    })
  })

  it('names an SLO that no clock keeps, with the lowest latency there is', () => {
    const result = partition(predictor, { models: 'heavy', powerCapW: 300, latencySloMs: 0.5 }) as InfeasiblePartition
    expect(result).toMatchObject({ reason: 'latency-slo', lowestFeasibleCapW: null })
    const lowestMs = Number(/lowest found is ([\d.]+) ms/.exec(result.message)![1])
    expect(lowestMs).toBeGreaterThan(0.5)
    // Whatever the cap: the time of the top clock may need more watts than this board takes.
    const { spec } = predictor
    const stronger = new SyntheticPredictor({ ...spec, powerLimitW: { ...spec.powerLimitW, max: 1000 } })
    const slo = { models: 'heavy', powerCapW: 1000, latencySloMs: lowestMs + 0.01 }
    expect(partition(stronger, slo).feasible).toBe(true)
  })

  it('names device memory that is too small', () => {
    const result = partition(predictor, { models: 'heavy', powerCapW: 300, memoryBytes: 2e8 })
    expect(result).toMatchObject({ feasible: false, reason: 'memory', lowestFeasibleCapW: null, evaluations: 0 })
  })

  it('agrees with the enumeration', () => {
    for (const options of [
      { models: 'middle', powerCapW: 40, sharePercentStep: 25 },
      { models: 'middle', powerCapW: 300, sharePercentStep: 25, latencySloMs: 0.5 },
      { models: 'middle', powerCapW: 300, sharePercentStep: 25, memoryBytes: 1e8 },
    ]) {
      const { evaluations: _, ...all } = exhaustive(predictor, options)
      expect(partition(predictor, options)).toMatchObject(all)
    }
  })

  it('finds a cap for several networks at which they fit', () => {
    const models = [{ model: 'light' }, { model: 'heavy' }]
    const powerCapW = lowestFeasibleCap(predictor, { models, latencySloMs: 200 })!
    expect(partition(predictor, { models, latencySloMs: 200, powerCapW }).feasible).toBe(true)
  })
})
