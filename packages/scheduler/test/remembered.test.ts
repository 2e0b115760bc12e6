import { describe, expect, it } from 'vitest'
import { remembered } from '../src/remembered.js'

describe('remembered', () => {
  it('searches once for the same question, and again for another predictor or number', () => {
    let searches = 0
    const search = () => ++searches
    const predictor = {}
    expect(remembered(predictor, { powerCapW: 100 }, search)).toBe(1)
    expect(remembered(predictor, { powerCapW: 100 }, search)).toBe(1)
    expect(remembered({}, { powerCapW: 100 }, search)).toBe(2)
    expect(remembered(predictor, { powerCapW: Number.POSITIVE_INFINITY }, search)).toBe(3)
    expect(remembered(predictor, { powerCapW: Number.NaN }, search)).toBe(4)
  })

  it('keeps nothing that a clock may have cut short', () => {
    let searches = 0
    const question = { powerCapW: 100, now: () => 0 }
    const predictor = {}
    remembered(predictor, question, () => ++searches)
    expect(remembered(predictor, question, () => ++searches)).toBe(2)
    expect(remembered(predictor, { powerCapW: 100 }, () => ++searches)).toBe(3)
  })

  it('is the same object for all callers, so that none can change it', () => {
    const plan = remembered({}, 'plan', () => ({ tenants: [{ batchSize: 8 }] }))
    expect(() => plan.tenants.push({ batchSize: 4 })).toThrow(TypeError)
    expect(() => Object.assign(plan.tenants[0]!, { batchSize: 4 })).toThrow(TypeError)
  })
})
