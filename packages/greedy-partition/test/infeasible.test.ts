import { gpuSpecs, smClocksAt } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { exhaustive, type InfeasiblePartition, lowestFeasibleCap, partition } from '../src/index.js'
import { capFor } from '../src/lowest-feasible-cap.js'
import { SyntheticPredictor } from './synthetic-predictor.js'
import { UncertainPredictor } from './uncertain-predictor.js'

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

describe('the lowest cap', () => {
  it('is the least over all tenants and clocks that keep the bounds, in all memory states and in each', () => {
    const batchSizes = [4, 32, 128]
    for (const latencySloMs of [Infinity, 100, 50, 25]) {
      const caps = predictor.memClocksMhz.map((memClockMhz) => {
        let minW = Infinity
        for (const mpsPercent of [25, 50, 75, 100]) {
          for (const batchSize of batchSizes) {
            const tenants = [{ model: 'middle', mpsPercent, batchSize }]
            for (const smClockMhz of smClocksAt(predictor.spec, memClockMhz)!) {
              const { powerW, tenants: of } = predictor.predict({ tenants, smClockMhz, memClockMhz })
              if (of[0]!.latencyMs <= latencySloMs) minW = Math.min(minW, powerW)
            }
          }
        }
        const options = {
          models: 'middle',
          sharePercentStep: 25,
          batchSizes,
          latencySloMs,
          memClocksMhz: [memClockMhz],
        }
        expect(lowestFeasibleCap(predictor, options)).toBeCloseTo(minW, 2)
        return minW
      })
      const all = lowestFeasibleCap(predictor, { models: 'middle', sharePercentStep: 25, batchSizes, latencySloMs })!
      expect(all).toBeCloseTo(Math.min(...caps), 2)
    }
  })

  it('is one that two networks keep together: with halves of the board, and not with more', () => {
    const models = [{ model: 'light' }, { model: 'middle' }]
    const halves = { models, sharePercentStep: 50, batchSizes: [4, 64] }
    let minW = Infinity
    for (const memClockMhz of predictor.memClocksMhz) {
      const smClockMhz = smClocksAt(predictor.spec, memClockMhz)![0]!
      for (const [light, middle] of [
        [4, 4],
        [4, 64],
        [64, 4],
        [64, 64],
      ] as const) {
        const tenants = [
          { model: 'light', mpsPercent: 50, batchSize: light },
          { model: 'middle', mpsPercent: 50, batchSize: middle },
        ]
        minW = Math.min(minW, predictor.predict({ tenants, smClockMhz, memClockMhz }).powerW)
      }
    }
    expect(lowestFeasibleCap(predictor, halves)).toBeCloseTo(minW, 2)
    // Each service could be met with the whole board.
    const alone = partition(predictor, { models: 'middle', powerCapW: 350, sharePercentStep: 100, batchSizes: [4, 64] })
    const half = partition(predictor, {
      ...halves,
      models: 'middle',
      powerCapW: 350,
      maxTenants: 1,
      maxSharePercent: 50,
    })
    if (!alone.feasible || !half.feasible) throw new Error('not to be planned')
    const minTenantThroughput = (alone.weightedThroughput + half.weightedThroughput) / 2
    expect(lowestFeasibleCap(predictor, { ...halves, models: 'middle', minTenantThroughput })).not.toBeNull()
    expect(lowestFeasibleCap(predictor, { ...halves, minTenantThroughput })).toBeNull()
  })

  it('leaves the power after the margin, and is the next milliwatt', () => {
    for (let power = 1; power < 3000; power += 7) {
      for (const margin of [0, 1, 2, 333]) {
        const capW = capFor(power / 1000, margin / 1000)
        expect(capW - margin / 1000).toBeGreaterThanOrEqual(power / 1000)
        expect(capW).toBeLessThan((power + margin + 1.5) / 1000)
      }
    }
  })
})

describe('what a cap would have to leave', () => {
  const message = (of: object, board = new UncertainPredictor(gpuSpecs['A100']!)) =>
    (partition(board, { models: 'middle', powerCapW: 20, sharePercentStep: 50, ...of }) as InfeasiblePartition).message

  it('is said where it is more than the power', () => {
    expect(message({})).not.toContain('with')
    expect(message({ powerMarginW: 0.5 })).toContain('W (with the margin of 0.5 W)')
    // Half a standard deviation.
    expect(message({ capExceedanceProbability: 0.3 })).toContain('W (with a risk of 0.3 of exceeding it)')
    expect(message({ powerMarginW: 2, capExceedanceProbability: 0.3 })).toContain(
      'W (with the margin of 2 W and a risk of 0.3 of exceeding it)',
    )
  })
})
