import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeOf, writePlace } from '../site/address/place.js'
import { firstPlan, type PlanQuestion } from '../site/plan/plan-question.js'

const positive = fc.double({ min: 0.001, max: 1e6, noNaN: true })
const question: fc.Arbitrary<PlanQuestion> = fc.record({
  board: fc.constantFrom('3080Ti', 'A100', 'my board & fit.json'),
  networks: fc.uniqueArray(
    fc.record({ model: fc.constantFrom('resnet50', 'vgg19', 'maxvit_t', 'my_net-2'), weight: positive }),
    { minLength: 1, selector: ({ model }) => model },
  ),
  powerCapW: positive,
  powerMarginW: fc.oneof(fc.constant(0), positive),
  sharePercentStep: fc.integer({ min: 1, max: 100 }),
  latencySloMs: fc.option(positive),
  latencyPercentile: fc.constantFrom('mean', 'p99'),
  risk: fc.option(fc.double({ min: 1e-9, max: 0.5, noNaN: true })),
  maxTenants: fc.option(fc.integer({ min: 1, max: 48 })),
  memClockMhz: fc.option(positive),
})

describe('the address of a plan', () => {
  it('holds all that was asked', () => {
    fc.assert(
      fc.property(question, (plan) => {
        expect(placeOf(writePlace({ room: 'plan', plan })).plan).toEqual(plan)
      }),
    )
  })

  it('reads well', () => {
    expect(writePlace({ room: 'plan', plan: { ...firstPlan, latencySloMs: 400 } })).toBe(
      '#/plan?gpu=3080Ti&model=resnet50&cap=200&latency=400',
    )
  })

  it('takes whatever somebody typed', () => {
    for (const hash of [
      '',
      '#',
      '#/',
      '#/nowhere',
      '#/plan?cap=-3&risk=2&tenants=x&model=,,:&step=0&latency=&memory=NaN',
    ]) {
      expect(placeOf(hash).plan).toEqual(firstPlan)
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        placeOf(text)
      }),
    )
  })
})
