import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Place, placeOf, writePlace } from '../site/address/place.js'
import { firstSubject } from '../site/learn/story.js'
import { firstPlan, type PlanQuestion } from '../site/plan/plan-question.js'
import { disturbanceKinds, firstRun, policyNames, type RunQuestion } from '../site/run/run-question.js'

const firstPlace: Place = { room: 'plan', plan: firstPlan, run: firstRun, learn: firstSubject }

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

const run: fc.Arbitrary<RunQuestion> = fc.record({
  board: fc.constantFrom('3080Ti', 'A100'),
  model: fc.constantFrom('resnet50', 'my_net-2'),
  caps: fc
    .uniqueArray(fc.record({ powerCapW: positive, atS: positive }), { selector: ({ atS }) => atS })
    .map((caps) => [{ powerCapW: 200, atS: 0 }, ...caps.sort((a, b) => a.atS - b.atS)]),
  policies: fc
    .subarray([...policyNames], { minLength: 1 })
    .map((names) => policyNames.filter((name) => names.includes(name))),
  seed: fc.nat(),
  durationS: fc.integer({ min: 1, max: 720 }).map((windows) => windows * 5),
  disturbances: fc.array(fc.record({ kind: fc.constantFrom(...disturbanceKinds), atS: positive })),
})

describe('the address of a run', () => {
  it('holds all that was asked', () => {
    fc.assert(
      fc.property(run, (asked) => {
        expect(placeOf(writePlace({ ...firstPlace, room: 'run', run: asked })).run).toEqual(asked)
      }),
    )
  })

  it('takes whatever somebody typed', () => {
    for (const words of [
      '',
      'caps=0',
      'caps=100@5',
      'caps=1,2@9,3@4',
      'policies=no',
      'seed=x&seconds=-4&events=no@3,kill@-1',
    ]) {
      expect(placeOf(`#/run?${words}`).run).toEqual(firstRun)
    }
  })
})

describe('the address of a plan', () => {
  it('holds all that was asked', () => {
    fc.assert(
      fc.property(question, (plan) => {
        expect(placeOf(writePlace({ ...firstPlace, plan })).plan).toEqual(plan)
      }),
    )
  })

  it('reads well', () => {
    expect(writePlace({ ...firstPlace, plan: { ...firstPlan, latencySloMs: 400 } })).toBe(
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
