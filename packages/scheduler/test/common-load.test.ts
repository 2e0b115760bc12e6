import type { Predictor } from '@pctodl/perf-model'
import { modelOf } from '@pctodl/perf-model/node'
import { describe, expect, it } from 'vitest'
import { commonLoad, commonLoadPredictor, planPartition } from '../src/index.js'

const predictor = modelOf('3080Ti', undefined)
const mix = { resnet50: 4, vgg19: 1, mnasnet1_0: 5 }

describe('the load that networks carry together', () => {
  it('is what the network that lags behind lets through, in the asked proportions', () => {
    const tenants = [{ model: 'a' }, { model: 'b' }, { model: 'a' }]
    // 300 of a and 50 of b, asked for as 3 to 1: b lets through 150 of a.
    expect(commonLoad(tenants, (i) => [100, 50, 200][i]!, { a: 3, b: 1 })).toBe(200)
    expect(commonLoad(tenants, (i) => [100, 50, 200][i]!, { a: 6, b: 1 })).toBe(350)
    expect(commonLoad(tenants, () => 1, { a: 1, b: 1, c: 1 })).toBe(0)
  })

  it('is what a plan of several networks makes most of', () => {
    const common = commonLoadPredictor(predictor, mix)
    const models = Object.keys(mix).map((model) => ({ model }))
    const plan = planPartition(common, { models, powerCapW: 170 })
    const planned = common.predict(plan)
    expect(planned.powerW).toBeLessThanOrEqual(170)
    expect(new Set(plan.tenants.map(({ model }) => model))).toEqual(new Set(Object.keys(mix)))
    const most = planPartition(predictor, { models, powerCapW: 170 })
    // The sum is largest where the small network has nearly everything, which serves the mix badly.
    expect(planned.throughput).toBeGreaterThan(2 * common.predict(most).throughput)
    // Equal shares with the best batch of each network and the best clocks are no match.
    const equal = [16, 32, 64, 96].map((batchSize) => {
      const tenants = Object.keys(mix).map((model) => ({ model, mpsPercent: 30, batchSize }))
      return Math.max(
        ...predictor.memClocksMhz.map((memClockMhz) => {
          const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, 170)
          return smClockMhz === undefined ? 0 : common.predict({ tenants, smClockMhz, memClockMhz }).throughput
        }),
      )
    })
    expect(planned.throughput).toBeGreaterThan(1.1 * Math.max(...equal))
  })

  it('counts the networks that are there, and lies in the domain of the predictor, where that knows one', () => {
    const configuration = {
      tenants: [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }],
      smClockMhz: 1200,
      memClockMhz: 9501,
    }
    const common = commonLoadPredictor(predictor, mix)
    // All of the load is what is there of it.
    const { throughput } = predictor.predict(configuration)
    expect(common.predict(configuration).throughput).toBeCloseTo(throughput, 6)
    expect(common.domain!(configuration)).toEqual(predictor.domain(configuration))
    const { spec, memClocksMhz } = predictor
    const plain: Predictor = {
      spec,
      memClocksMhz,
      predict: (asked) => predictor.predict(asked),
      solveSmClock: (...asked) => predictor.solveSmClock(...asked),
      memoryBytes: (tenant) => predictor.memoryBytes(tenant),
    }
    expect(commonLoadPredictor(plain, mix)).not.toHaveProperty('domain')
  })

  it('refuses a part that is none', () => {
    expect(() => commonLoadPredictor(predictor, { resnet50: 0 })).toThrow(/mix\.resnet50/)
  })
})
