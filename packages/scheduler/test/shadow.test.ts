import { loadPerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import type { WindowObservation } from '../src/index.js'
import { type Candidate, keyOf, neighboursOf, restartCostSamples, shareMoves } from '../src/neighbourhood.js'
import { ShadowOptimizer, type ShadowOptions } from '../src/shadow-optimizer.js'

const predictor = loadPerfModel('3080Ti')
const tenantsOf = (shares: readonly number[], batches: readonly number[] = shares.map(() => 32)): Tenant[] =>
  shares.map((mpsPercent, i) => ({ model: 'resnet50', mpsPercent, batchSize: batches[i]! }))

describe('neighbours', () => {
  const present: Candidate = { tenants: tenantsOf([40, 40, 20], [64, 64, 32]), memClockMhz: 9501 }

  it('are each new, fit the board and never the present one', () => {
    const candidates = neighboursOf(present, [9501, 5001], 5)
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

  it('move shares by a step, with the rest from the largest', () => {
    expect(shareMoves([50, 30, 20], 5).map(String).sort()).toEqual(['45,30,25', '45,35,20', '55,25,20', '55,30,15'])
    expect(shareMoves([95, 5], 5).map(String)).toEqual(['90,10'])
    expect(shareMoves([5, 5], 5)).toEqual([])
  })

  it('are the same tenants whatever their order, and cost what their restarts cost', () => {
    expect(keyOf({ ...present, tenants: [...present.tenants].reverse() })).toBe(keyOf(present))
    expect(restartCostSamples(present.tenants, tenantsOf([40, 40, 20], [32, 32, 32]), 1000, 4)).toBe(0)
    expect(restartCostSamples(present.tenants, tenantsOf([45, 35, 20]), 1000, 4)).toBeCloseTo((2 / 3) * 4000, 9)
  })
})

describe('ShadowOptimizer', () => {
  const present: Candidate = { tenants: tenantsOf([50, 50], [8, 8]), memClockMhz: 9501 }
  const targetW = 195
  const moment = { present, targetW, memoryBytes: 12 * 2 ** 30, restartS: 3 }

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

  /** An optimizer that has watched a poor configuration long enough to try something. */
  function trying(options: ShadowOptions = {}) {
    const shadow = new ShadowOptimizer(predictor, options)
    for (let i = 0; i < 6; i++) expect(shadow.observe(window(present, 900), targetW)).toBeUndefined()
    const candidate = shadow.idle(() => moment)
    if (!candidate) throw new Error('nothing was suggested')
    return { shadow, candidate }
  }

  it('tries a neighbour that fits, keeps the cap and promises a gain, and says why', () => {
    const { shadow, candidate } = trying()
    expect(keyOf(candidate)).not.toBe(keyOf(present))
    expect(shadow.takeDecisions()).toMatchObject([{ kind: 'shadow-try', throughputBefore: 900 }])
    expect(shadow.takeDecisions()).toEqual([])
  })

  it.each([
    ['no memory is left', { memoryBytes: 2 ** 20, targetW: 60 }, {}],
    ['no neighbour keeps the target', { targetW: 60 }, {}],
  ])('tries nothing where %s', (_, change, options) => {
    const shadow = new ShadowOptimizer(predictor, options)
    for (let i = 0; i < 6; i++) shadow.observe(window(present, 900), targetW)
    expect(shadow.idle(() => ({ ...moment, ...change }))).toBeUndefined()
    expect(shadow.takeDecisions()).toMatchObject([{ kind: 'shadow-none' }])
  })

  it('tries nothing that pays its restarts back too late', () => {
    const slow = new ShadowOptimizer(predictor)
    for (let i = 0; i < 6; i++) slow.observe(window(present, 900), targetW)
    const candidate = slow.idle(() => ({ ...moment, restartS: 1000 }))!
    expect(restartCostSamples(present.tenants, candidate.tenants, 900, 3)).toBe(0)
  })

  it('keeps what measured better, by two windows after the first and one to settle', () => {
    const { shadow, candidate } = trying()
    shadow.takeDecisions()
    for (const throughput of [1, 500, 950])
      expect(shadow.observe(window(candidate, throughput), targetW)).toBeUndefined()
    expect(shadow.observe(window(candidate, 950), targetW)).toBeUndefined()
    expect(shadow.takeDecisions()).toMatchObject([{ kind: 'shadow-kept', after: 950 }])
  })

  it('takes back what hurt, and does not try it again', () => {
    const { shadow, candidate } = trying()
    const answers = Array.from({ length: 6 }, () => shadow.observe(window(candidate, 850), targetW))
    expect(answers.filter(Boolean)).toEqual([present])
    for (let i = 0; i < 30; i++) {
      shadow.observe(window(present, 900), targetW)
      const next = shadow.idle(() => moment)
      if (next) expect(keyOf(next)).not.toBe(keyOf(candidate))
      if (next) break
    }
  })

  it('takes back at once what made a tenant fail', () => {
    const { shadow, candidate } = trying()
    const failed = window(candidate, 400)
    const [first, ...rest] = failed.tenants
    const tenantsThen = [{ ...first!, failure: 'out of memory: needs 3 GiB' }, ...rest]
    expect(shadow.observe({ ...failed, tenants: tenantsThen }, targetW)).toEqual(present)
    expect(shadow.tenantFailed()).toBeUndefined()
  })

  /** Windows until the next search. */
  function windowsUntilSearched(shadow: ShadowOptimizer): number {
    for (let windows = 1; windows < 100; windows++) {
      shadow.observe(window(present, 900), targetW)
      shadow.idle(() => ({ ...moment, targetW: 60 }))
      if (shadow.takeDecisions().length > 0) return windows
    }
    throw new Error('no search')
  }

  it('waits twice as long after each search that found nothing, 16 times at most, and as at first under a new cap', () => {
    const shadow = new ShadowOptimizer(predictor, { interval: 3 })
    const waits = Array.from({ length: 6 }, () => windowsUntilSearched(shadow))
    expect(waits).toEqual([4, 6, 12, 24, 48, 48])
    shadow.capChanged()
    expect(windowsUntilSearched(shadow)).toBe(3)
  })

  it('counts only windows in which one configuration ran undisturbed', () => {
    const shadow = new ShadowOptimizer(predictor, { interval: 1 })
    shadow.observe(window(present, 900), targetW)
    const disturbances: Partial<WindowObservation>[] = [
      { reconfigured: true },
      { powerAverageW: null },
      { smClockMhz: null },
      { throughput: 0 },
      { validity: 'stalled' },
    ]
    for (const disturbed of disturbances) shadow.observe(window(present, 900, disturbed), targetW)
    expect(shadow.idle(() => moment)).toBeUndefined()
    shadow.observe(window(present, 900), targetW)
    shadow.observe(window(present, 900), targetW)
    expect(shadow.idle(() => undefined)).toBeUndefined()
    expect(shadow.idle(() => ({ ...moment, present: { ...present, memClockMhz: 5001 } }))).toBeUndefined()
    expect(shadow.idle(() => moment)).toBeDefined()
  })

  it('refuses options that make no sense', () => {
    expect(() => new ShadowOptimizer(predictor, { interval: 0 })).toThrow('shadow.interval: got 0')
  })
})
