import { describe, expect, it } from 'vitest'
import { powerResiduals, throughputResiduals, utilisationResiduals } from '../src/fit/stage-residuals.js'

type Row = Parameters<typeof throughputResiduals.write>[0]
type Evaluator = Parameters<typeof throughputResiduals.write>[1]

/** A row of unlike tenants, each measured at 100 samples/s, and an evaluator that predicts this multiple for all. */
function written(count: number, factor: number): number[] {
  const tenantThroughput = new Array<number>(count).fill(100)
  const row = {
    kinds: new Int32Array(count),
    likeTenants: false,
    row: { throughput: 100 * count, tenantThroughput },
  } as unknown as Row
  const evaluator = {
    totalThroughput: 100 * count * factor,
    throughput: Float64Array.from(tenantThroughput, (value) => value * factor),
  } as unknown as Evaluator
  const out = new Float64Array(throughputResiduals.count(row))
  throughputResiduals.write(row, evaluator, out, 0, 0)
  return [...out]
}

describe('residuals of a row', () => {
  it('are errors in units of 3 % in total', () => {
    expect(written(4, 1.03)[0]).toBeCloseTo(Math.log(1.03) / 0.03, 9)
    expect(written(4, 1)[0]).toBe(0)
  })

  it.each([1, 2, 8, 48])('of %d tenants weigh together what one tenant weighs that is off by as much', (count) => {
    const [, ...tenants] = written(count, 1.06)
    expect(tenants).toHaveLength(count)
    expect(Math.hypot(...tenants)).toBeCloseTo(Math.log(1.06) / 0.06, 9)
  })

  it('count power in units of 2 %, and no more than the limit where the clock is nominal', () => {
    const power = (powerW: number, nominalClock: boolean) => {
      const out = new Float64Array(1)
      const row = { nominalClock, row: { powerAverageW: 200 } } as unknown as Row
      powerResiduals.write(row, { powerW } as unknown as Evaluator, out, 0, 210)
      return out[0]
    }
    expect(power(204, false)).toBeCloseTo(Math.log(1.02) / 0.02, 9)
    expect(power(300, true)).toBeCloseTo(Math.log(1.05) / 0.02, 9)
    expect(power(300, false)).toBeCloseTo(Math.log(1.5) / 0.02, 9)
  })

  it('count utilisation in units of three points', () => {
    const out = new Float64Array(1)
    const row = { row: { memUtilPercent: 40 } } as unknown as Row
    utilisationResiduals.write(row, { memUtilPercent: 46 } as unknown as Evaluator, out, 0, 0)
    expect(out[0]).toBe(2)
  })
})
