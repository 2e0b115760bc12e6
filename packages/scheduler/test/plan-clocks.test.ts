import { modelOf } from '@pctodl/perf-model/node'
import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { planClocks } from '../src/index.js'

const predictor = modelOf('3080Ti', undefined)
const whole = (batchSize: number): Tenant[] => [{ model: 'resnet50', mpsPercent: 100, batchSize }]

describe('planClocks', () => {
  it.each([110, 150, 200, 260])('gives the pair of clocks with the most throughput within %d W', (capW) => {
    const plan = planClocks(predictor, whole(64), capW)
    const best = predictor.predict({ tenants: whole(64), ...plan })
    expect(best.powerW).toBeLessThanOrEqual(capW)
    for (const { memClockMhz, smClocksMhz } of predictor.spec.clockStates) {
      if (!predictor.memClocksMhz.includes(memClockMhz)) continue
      for (const smClockMhz of smClocksMhz) {
        const { powerW, throughput } = predictor.predict({ tenants: whole(64), smClockMhz, memClockMhz })
        if (powerW <= capW) expect(throughput).toBeLessThanOrEqual(best.throughput * (1 + 1e-9))
      }
    }
  })

  it('chooses among the memory clocks that it is given', () => {
    const [highest, lower] = predictor.memClocksMhz
    expect(planClocks(predictor, whole(64), 200, [highest!]).memClockMhz).toBe(highest)
    expect(planClocks(predictor, whole(64), 200, [lower!]).memClockMhz).toBe(lower)
  })

  it('goes as low as it can where nothing keeps the cap', () => {
    expect(planClocks(predictor, whole(64), 30)).toEqual({ memClockMhz: 5001, smClockMhz: 210 })
  })

  it('takes a batch beyond those that predictors know for the largest that they do', () => {
    expect(planClocks(predictor, whole(1024), 150)).toEqual(planClocks(predictor, whole(256), 150))
  })
})
