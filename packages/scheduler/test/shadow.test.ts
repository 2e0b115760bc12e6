import { loadPerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  allowedBatches,
  batchNeighbours,
  batchPool,
  type Candidate,
  candidatesNear,
  expectedImprovement,
  featuresOf,
  GaussianProcess,
  keyOf,
  mergeSmallest,
  probabilityWithin,
  publishedThreshold,
  ResidualModel,
  restartCostSamples,
  ShadowOptimizer,
  ShadowSearch,
  shareMoves,
  splitLargest,
  type WindowObservation,
} from '../src/index.js'

const predictor = loadPerfModel('3080Ti')
const tenantsOf = (shares: readonly number[], batches: readonly number[] = shares.map(() => 32)): Tenant[] =>
  shares.map((mpsPercent, i) => ({ model: 'resnet50', mpsPercent, batchSize: batches[i]! }))
const sharesOf = (tenants: readonly Tenant[] | undefined) => tenants?.map(({ mpsPercent }) => mpsPercent)

const nearby = { radius: 1, sharePercentStep: 5, memClocksMhz: [] }
const batchesOf = ({ tenants }: Candidate) => tenants.map(({ batchSize }) => batchSize).join()

describe('golden vectors of the published optimizer', () => {
  it.each([
    [0, -0.1],
    [3, -0.0994],
    [50, -0.09],
    [150, -0.07],
    [499, -0.0002],
    [500, 0],
    [750, 0.012642],
    [1000, 0.017293],
    [1500, 0.019634],
  ])('threshold after %d updates', (updates, threshold) => {
    expect(publishedThreshold(updates)).toBeCloseTo(threshold, 6)
  })

  it('expected improvement and chance of keeping the cap', () => {
    expect(expectedImprovement(105, 10, 100)).toBeCloseTo(6.977966, 6)
    expect(probabilityWithin(140, 10, 150)).toBeCloseTo(0.841345, 6)
    expect(expectedImprovement(105, 0, 100)).toBe(5)
    expect(probabilityWithin(150, 0, 150)).toBe(1)
  })

  it('share moves, merge and split', () => {
    expect(new Set(shareMoves([50, 30, 20], 5).map(String))).toEqual(
      new Set(['50,30,20', '55,25,20', '45,35,20', '55,30,15', '45,30,25']),
    )
    expect(shareMoves([40, 40], 5).map(String)).toEqual(expect.arrayContaining(['40,40', '35,65', '65,35']))
    expect(shareMoves([40, 40], 5)).toHaveLength(3)
    // What comes to 100 % by the step alone is taken from nobody, and no share goes below a step.
    expect(shareMoves([50, 45], 5).map(String)).toEqual(['50,45', '55,45', '50,50', '60,40'])
    expect(shareMoves([95, 5], 5).map(String)).toEqual(['95,5', '90,10'])
    expect(shareMoves([5, 5], 5).map(String)).toEqual(['5,5'])
    expect(sharesOf(mergeSmallest(tenantsOf([25, 25, 25, 25])))).toEqual([50, 25, 25])
    expect(sharesOf(splitLargest(tenantsOf([25, 25, 25, 25]), 5))).toEqual([10, 25, 25, 25, 15])
    expect(splitLargest(tenantsOf([5, 5]), 5)).toBeUndefined()
    expect(mergeSmallest(tenantsOf([100]))).toBeUndefined()
  })

  it('batches', () => {
    expect([...batchPool.slice(0, 5), batchPool.at(-1)]).toEqual([1, 2, 4, 8, 12, 256])
    expect(candidatesNear({ tenants: tenantsOf([100], [2]), memClockMhz: 9501 }, nearby).map(batchesOf)).toContain('1')
    expect(allowedBatches(10)).toEqual(Array.from({ length: 15 }, (_, i) => 8 + 4 * i))
    expect(allowedBatches(50)).toEqual(Array.from({ length: 55 }, (_, i) => 40 + 4 * i))
    expect(batchNeighbours(tenantsOf([50, 50], [32, 40]), 3).map(String)).toEqual(
      expect.arrayContaining(['32,40', '40,40', '44,40', '48,40', '32,44', '32,48', '32,52']),
    )
    expect(batchNeighbours(tenantsOf([50, 50], [32, 40]), 3)).toHaveLength(7)
  })
})

describe('GaussianProcess', () => {
  it('goes through what was measured and returns to the mean far from it, with all its doubt', () => {
    const process = new GaussianProcess({ amplitude: 0.03, noise: 1e-6 })
    process.fit([[0], [1], [2]], [0.01, 0.03, 0.02])
    expect(process.predict([1]).mean).toBeCloseTo(0.03, 6)
    expect(process.predict([1]).sd).toBeLessThan(1e-4)
    expect(process.predict([50]).mean).toBeCloseTo(0.02, 6)
    expect(process.predict([50]).sd).toBeCloseTo(0.03, 6)
    expect(() => process.fit([[0]], [])).toThrow('values.length: got 0')
  })
})

describe('candidates', () => {
  const present: Candidate = { tenants: tenantsOf([40, 40, 20], [64, 64, 32]), memClockMhz: 9501 }

  it('are each new, fit the board and never the present one', () => {
    const options = { radius: 3, sharePercentStep: 5, memClocksMhz: [9501, 5001] }
    const candidates = candidatesNear(present, options)
    expect(candidates[0]).toEqual({ ...present, memClockMhz: 5001 })
    const keys = candidates.map(keyOf)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).not.toContain(keyOf(present))
    for (const { tenants } of candidates) {
      expect(tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0)).toBe(100)
      for (const { mpsPercent, batchSize } of tenants) {
        expect(mpsPercent).toBeGreaterThanOrEqual(5)
        expect(batchSize).toBeGreaterThanOrEqual(1)
      }
    }
  })

  it('are the same tenants whatever their order', () => {
    expect(keyOf({ ...present, tenants: [...present.tenants].reverse() })).toBe(keyOf(present))
    expect(featuresOf({ ...present, tenants: [...present.tenants].reverse(), smClockMhz: 900 })).toEqual(
      featuresOf({ ...present, smClockMhz: 900 }),
    )
  })

  it('cost what their restarts cost', () => {
    expect(restartCostSamples(present.tenants, tenantsOf([40, 40, 20], [32, 32, 32]), 1000, 4)).toBe(0)
    expect(restartCostSamples(present.tenants, tenantsOf([45, 35, 20]), 1000, 4)).toBeCloseTo((2 / 3) * 4000, 9)
  })
})

describe('ShadowSearch', () => {
  const present: Candidate = { tenants: tenantsOf([100], [8]), memClockMhz: 9501 }
  const question = {
    present,
    throughput: 900,
    targetW: 200,
    memoryBytes: 12 * 2 ** 30,
    threshold: 0.003,
    payBackS: 60,
    restartS: 4,
  }
  const residuals = () => new ResidualModel(predictor, { history: 300, maxPoints: 60, refitInterval: 1 })
  const judge = (candidate: Candidate, overrides: Partial<typeof question> = {}) =>
    new ShadowSearch(predictor, residuals(), { ...question, ...overrides }, []).judge(candidate)

  it('refuses what does not fit the memory or cannot keep the cap', () => {
    const many = { tenants: tenantsOf([20, 20, 20, 20, 20]), memClockMhz: 9501 }
    expect(judge(many)).toBeDefined()
    expect(judge(many, { memoryBytes: 2 ** 30 })).toBeUndefined()
    expect(judge(many, { targetW: 60 })).toBeUndefined()
  })

  it('takes what needs no more memory than what runs, whatever memory is predicted', () => {
    expect(judge({ ...present, memClockMhz: 5001 }, { memoryBytes: 2 ** 20 })).toBeDefined()
    expect(judge({ ...present, tenants: tenantsOf([100], [16]) }, { memoryBytes: 2 ** 20 })).toBeUndefined()
  })

  it('never accepts a predicted loss, whatever its power: the published one did', () => {
    const tenants = tenantsOf([50, 30, 20])
    const from = { tenants, memClockMhz: 9501 }
    const search = new ShadowSearch(
      predictor,
      residuals(),
      { ...question, present: from, throughput: 1e6 },
      candidatesNear(from, { radius: 3, sharePercentStep: 5, memClocksMhz: [9501] }),
    )
    search.run(1e6)
    expect(search.done).toBe(true)
    expect(search.best).toBeUndefined()
  })

  it('weighs a restart against what it brings', () => {
    const search = (payBackS: number) => {
      const found = new ShadowSearch(predictor, residuals(), { ...question, payBackS }, [
        { tenants: tenantsOf([50, 50]), memClockMhz: 9501 },
      ])
      found.run(10)
      return found.best
    }
    expect(search(1e9)).toBeDefined()
    expect(search(0.1)).toBeUndefined()
  })
})

describe('ShadowOptimizer', () => {
  const tenants = tenantsOf([50, 50], [8, 8])
  const present: Candidate = { tenants, memClockMhz: 9501 }
  const targetW = 195

  const window = (candidate: Candidate, throughput: number, overrides: Partial<WindowObservation> = {}) =>
    ({
      iteration: 1,
      startMs: 0,
      endMs: 5000,
      powerCapW: 200,
      powerAverageW: targetW,
      powerMaxW: targetW,
      smClockMhz: 900,
      memClockMhz: candidate.memClockMhz,
      smUtilPercent: 99,
      memUtilPercent: 50,
      throughput,
      samples: 5 * throughput,
      tenants: candidate.tenants.map((tenant) => ({
        tenant,
        throughput: throughput / 2,
        latencyMs: 20,
        failure: null,
      })),
      applied: { tenants: candidate.tenants, smClockMhz: 900, memClockMhz: candidate.memClockMhz, powerLimitW: 350 },
      reconfigured: false,
      ...overrides,
    }) satisfies WindowObservation

  /** An optimizer that has watched a poor configuration long enough to suggest something. */
  function suggesting() {
    const shadow = new ShadowOptimizer(predictor)
    const context = () => ({ present, targetW, memoryBytes: 12 * 2 ** 30, restartS: 3 })
    for (let i = 0; i < 6; i++) expect(shadow.observe(window(present, 900), targetW)).toBeUndefined()
    for (let i = 0; i < 200; i++) {
      const suggestion = shadow.idle(context)
      if (suggestion) return { shadow, suggestion }
    }
    throw new Error('nothing was suggested')
  }

  it('finds a better neighbour, in slices, and says why', () => {
    const { shadow, suggestion } = suggesting()
    expect(suggestion.throughput).toBeGreaterThan(900)
    expect(shadow.inTrial).toBe(true)
    expect(shadow.takeDecisions()[0]).toMatchObject({ kind: 'shadow-try', throughputBefore: expect.any(Number) })
    expect(shadow.takeDecisions()).toEqual([])
  })

  it('keeps what measured better', () => {
    const { shadow, suggestion } = suggesting()
    shadow.takeDecisions()
    for (let i = 0; i < 6; i++) expect(shadow.observe(window(suggestion, 1000), targetW)).toBeUndefined()
    expect(shadow.inTrial).toBe(false)
    expect(shadow.takeDecisions()[0]).toMatchObject({ kind: 'shadow-kept' })
  })

  it('takes back what hurt, and does not try it again', () => {
    const { shadow, suggestion } = suggesting()
    const answers = Array.from({ length: 6 }, () => shadow.observe(window(suggestion, 850), targetW))
    expect(answers.filter(Boolean)).toEqual([present])
    for (let i = 0; i < 20; i++) shadow.observe(window(present, 900), targetW)
    const context = () => ({ present, targetW, memoryBytes: 12 * 2 ** 30, restartS: 3 })
    for (let i = 0; i < 200; i++) {
      const next = shadow.idle(context)
      if (next) expect(keyOf(next)).not.toBe(keyOf(suggestion))
    }
  })

  it('takes back at once what made a tenant fail', () => {
    const { shadow, suggestion } = suggesting()
    const failed = window(suggestion, 400)
    const [first, ...rest] = failed.tenants
    const tenantsThen = [{ ...first!, failure: 'out of memory: needs 3 GiB' }, ...rest]
    expect(shadow.observe({ ...failed, tenants: tenantsThen }, targetW)).toEqual(present)
  })

  it('learns only from windows in which one configuration ran undisturbed', () => {
    const shadow = new ShadowOptimizer(predictor)
    shadow.observe(window(present, 900), targetW)
    for (const overrides of [
      { reconfigured: true },
      { powerAverageW: null },
      { smClockMhz: null },
      { throughput: 0 },
    ]) {
      shadow.observe(window(present, 900, overrides), targetW)
    }
    expect(shadow.throughput).toBeUndefined()
    shadow.observe(window(present, 900), targetW)
    shadow.observe(window(present, 900), targetW)
    expect(shadow.throughput).toBeCloseTo(900, 6)
    shadow.capChanged()
    expect(shadow.throughput).toBeUndefined()
  })

  it('refuses options that make no sense', () => {
    expect(() => new ShadowOptimizer(predictor, { threshold: -0.1 })).toThrow('shadow.threshold: got -0.1')
    expect(() => new ShadowOptimizer(predictor, { interval: 0 })).toThrow('shadow.interval: got 0')
  })
})
