import { loadPerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import {
  type Candidate,
  candidatesNear,
  keyOf,
  ResidualModel,
  restartCostSamples,
  ShadowOptimizer,
  type ShadowOptions,
  ShadowSearch,
  type WindowObservation,
} from '../src/index.js'

const predictor = loadPerfModel('3080Ti')
const tenantsOf = (shares: readonly number[], batches: readonly number[]): Tenant[] =>
  shares.map((mpsPercent, i) => ({ model: 'resnet50', mpsPercent, batchSize: batches[i]! }))
const TARGET_W = 195
const MEMORY_BYTES = 12 * 2 ** 30
const present: Candidate = { tenants: tenantsOf([50, 50], [8, 8]), memClockMhz: 9501 }
const batched: Candidate = { tenants: tenantsOf([50, 50], [32, 32]), memClockMhz: 9501 }
const split: Candidate = { tenants: tenantsOf([50, 25, 25], [32, 32, 32]), memClockMhz: 9501 }

describe('what is expected of a candidate', () => {
  const question = {
    present,
    throughput: 900,
    targetW: TARGET_W,
    memoryBytes: MEMORY_BYTES,
    threshold: 0.003,
    payBackS: 60,
    restartS: 4,
  }
  const newResiduals = () => new ResidualModel(predictor, { history: 300, maxPoints: 60, refitInterval: 1 })
  const searchFor = (more: Partial<typeof question> = {}, residuals = newResiduals(), candidates: Candidate[] = []) =>
    new ShadowSearch(predictor, residuals, { ...question, ...more }, candidates)

  it('is at the highest clock that keeps the target', () => {
    const { smClockMhz, powerW, feasible } = searchFor().judge(batched)!
    expect(smClockMhz).toBe(predictor.solveSmClock(batched.tenants, 9501, TARGET_W))
    expect(powerW).toBeCloseTo(predictor.predict({ ...batched, smClockMhz }).powerW, 9)
    expect(feasible).toBeGreaterThan(0.999)
  })

  it('is corrected by what was measured where something like it ran', () => {
    const configuration = { ...batched, smClockMhz: 900 }
    const { powerW, throughput } = predictor.predict(configuration)
    const residuals = newResiduals()
    for (let i = 0; i < 10; i++) residuals.learn({ configuration, powerW: 1.1 * powerW, throughput: 0.9 * throughput })
    residuals.refit()
    const [plain, corrected] = [searchFor().judge(batched)!, searchFor({}, residuals).judge(batched)!]
    expect(corrected.smClockMhz).toBeLessThan(plain.smClockMhz)
    expect(corrected.powerW).toBeLessThanOrEqual(TARGET_W)
    expect(corrected.throughput).toBeLessThan(0.95 * plain.throughput)
    expect(corrected.throughputSd / corrected.throughput).toBeLessThan(plain.throughputSd / plain.throughput)
    expect(corrected.powerSdW).toBeLessThan(plain.powerSdW)
  })

  it('pays back its restarts, going and, as likely as it fails, coming back, by what it gains', () => {
    const { throughput, better, payBackS } = searchFor().judge(split)!
    expect(throughput).toBeGreaterThan(900)
    const lost = restartCostSamples(present.tenants, split.tenants, 900, 4) * (2 - better)
    expect(payBackS).toBeCloseTo(lost / (throughput - 900), 9)
    // What restarts nothing has nothing to pay back; what gains nothing never does.
    expect(searchFor().judge(batched)!.payBackS).toBe(0)
    expect(searchFor({ throughput: 1e5 }).judge(split)!.payBackS).toBe(Number.POSITIVE_INFINITY)
  })

  it('is better with half a chance where it promises as much as there is', () => {
    const { throughput } = searchFor().judge(batched)!
    expect(searchFor({ throughput }).judge(batched)!.better).toBeCloseTo(0.5, 9)
    const [less, more] = [0.95, 1.05].map((part) => searchFor({ throughput: part * throughput }).judge(batched)!)
    expect(less!.better).toBeGreaterThan(0.8)
    expect(more!.better).toBeLessThan(0.2)
    expect(less!.score).toBeGreaterThan(more!.score)
  })

  it('may be tried where it is more likely better than not; with restarts, where that is all but sure', () => {
    const found = (candidate: Candidate, part: number) => {
      const { throughput } = searchFor().judge(candidate)!
      const search = searchFor({ throughput: part * throughput, payBackS: 1e9 }, newResiduals(), [candidate])
      search.run(1)
      return search.best !== undefined
    }
    // One deviation is 3.9 %: 0.6 of the chance lies a quarter of one below, 0.9 of it 1.28.
    expect([0.97, 0.988, 0.992].map((part) => found(batched, part))).toEqual([true, true, false])
    expect([0.9, 0.94, 0.96, 0.97].map((part) => found(split, part))).toEqual([true, true, false, false])
  })

  it('fits where it leaves a twentieth of the memory', () => {
    const bytes = split.tenants.reduce((sum, tenant) => sum + predictor.memoryBytes(tenant), 0)
    expect(searchFor({ memoryBytes: bytes / 0.949 }).judge(split)).toBeDefined()
    expect(searchFor({ memoryBytes: bytes / 0.951 }).judge(split)).toBeUndefined()
  })

  it('is the same in slices as at once, and the best is the one of the highest score that may be tried', () => {
    const candidates = candidatesNear(present, { radius: 3, sharePercentStep: 5, memClocksMhz: [9501, 5001] })
    const [once, sliced] = [searchFor({}, newResiduals(), candidates), searchFor({}, newResiduals(), candidates)]
    once.run(1e6)
    while (!sliced.done) {
      const before = sliced.judged
      sliced.run(7)
      expect(sliced.judged).toBe(Math.min(candidates.length, before + 7))
    }
    expect(sliced.best).toEqual(once.best)
    expect([sliced.judged, sliced.feasible]).toEqual([once.judged, once.feasible])
    const judged = candidates.flatMap((candidate) => searchFor().judge(candidate) ?? [])
    expect(once.feasible).toBe(judged.length)
    const mayBeTried = judged.filter(
      ({ throughput, better, payBackS }) =>
        throughput > 900 * 1.003 && better >= (payBackS > 0 ? 0.9 : 0.6) && payBackS <= 60,
    )
    expect(once.best!.score).toBe(Math.max(...mayBeTried.map(({ score }) => score)))
  })
})

describe('trials', () => {
  const window = (
    candidate: Candidate,
    throughput: number,
    more: Partial<WindowObservation> = {},
  ): WindowObservation => ({
    iteration: 1,
    startMs: 0,
    endMs: 5000,
    powerCapW: 200,
    powerAverageW: TARGET_W,
    powerMaxW: TARGET_W,
    smClockMhz: 900,
    memClockMhz: candidate.memClockMhz,
    smUtilPercent: 99,
    memUtilPercent: 50,
    throughput,
    samples: 5 * throughput,
    tenants: candidate.tenants.map((tenant) => ({ tenant, throughput: throughput / 2, latencyMs: 20, failure: null })),
    applied: { tenants: candidate.tenants, smClockMhz: 900, memClockMhz: candidate.memClockMhz, powerLimitW: 350 },
    reconfigured: false,
    ...more,
  })
  const contextOf = (candidate: Candidate) => () => ({
    present: candidate,
    targetW: TARGET_W,
    memoryBytes: MEMORY_BYTES,
    restartS: 3,
  })

  /** Windows that pass until something is suggested or found wanting. */
  function windowsUntilSearched(shadow: ShadowOptimizer): number {
    for (let windows = 1; windows < 200; windows++) {
      shadow.observe(window(present, 900), TARGET_W)
      for (let slice = 0; slice < 100; slice++) {
        const suggestion = shadow.idle(contextOf(present))
        const decisions = shadow.takeDecisions()
        if (suggestion || decisions.length > 0) return windows
      }
    }
    throw new Error('nothing was searched')
  }

  /** Nothing promises ten times as much. */
  const hopeless = { threshold: 10 }
  const waitsOf = (options: ShadowOptions) => {
    const shadow = new ShadowOptimizer(predictor, options)
    const waits: number[] = []
    for (let search = 0; search < 7; search++) {
      waits.push(windowsUntilSearched(shadow))
      if (shadow.inTrial) {
        // Whatever it tries, hurts: one window to settle, two that count.
        for (let i = 0; i < 3; i++) shadow.tenantFailed()
        shadow.takeDecisions()
      }
    }
    return waits
  }

  it('wait for so many undisturbed windows, after the first of a configuration', () => {
    expect(windowsUntilSearched(new ShadowOptimizer(predictor))).toBe(4)
    expect(windowsUntilSearched(new ShadowOptimizer(predictor, { interval: 5 }))).toBe(6)
    // Two are needed to know what there is.
    expect(windowsUntilSearched(new ShadowOptimizer(predictor, { interval: 1 }))).toBe(3)
  })

  it('wait twice as long each time that nothing was found or a trial failed, 16 times at most', () => {
    expect(waitsOf({ interval: 3, ...hopeless })).toEqual([4, 6, 12, 24, 48, 48, 48])
    expect(waitsOf({ interval: 3 })).toEqual([4, 6, 12, 24, 48, 48, 48])
  })

  it('wait as at first under another cap', () => {
    const shadow = new ShadowOptimizer(predictor, { interval: 4, ...hopeless })
    for (let search = 0; search < 3; search++) windowsUntilSearched(shadow)
    shadow.observe(window(present, 900), TARGET_W)
    shadow.capChanged()
    // The configuration is the one of before: none of its windows is its first.
    expect(windowsUntilSearched(shadow)).toBe(4)
  })

  /** A trial of a batched configuration that was put in force from outside, and how it is judged by what its windows measure. */
  function tried(...measured: readonly number[]) {
    const shadow = new ShadowOptimizer(predictor)
    for (let i = 0; i < 4; i++) shadow.observe(window(present, 900), TARGET_W)
    shadow.beginTrial(present, batched)
    expect(shadow.inTrial).toBe(true)
    const answers = measured.map((throughput) => shadow.observe(window(batched, throughput), TARGET_W))
    return { shadow, answers, decisions: shadow.takeDecisions() }
  }

  it('are judged by two windows, after one that is of both and one to settle', () => {
    const good = tried(100, 100, 950, 950)
    expect(good.decisions).toMatchObject([{ kind: 'shadow-kept', reason: 'it measured 5.6 %', after: 950 }])
    expect(good.answers).toEqual([undefined, undefined, undefined, undefined])
    const bad = tried(2000, 2000, 900, 890)
    expect(bad.answers).toEqual([undefined, undefined, undefined, present])
    expect(bad.decisions).toMatchObject([{ kind: 'shadow-rolled-back', reason: 'it measured -0.6 %', before: 900 }])
  })

  it('have hurt where they measure a thousandth less, and not before', () => {
    expect(tried(1, 1, 899.2, 899.2).answers.at(-1)).toBeUndefined()
    expect(tried(1, 1, 899, 899).answers.at(-1)).toBe(present)
  })

  it('are not judged by windows of another configuration, and not begun where nothing is known of the one before', () => {
    const { shadow } = tried(950, 950)
    for (let i = 0; i < 5; i++) expect(shadow.observe(window(split, 100), TARGET_W)).toBeUndefined()
    expect(shadow.inTrial).toBe(true)
    const fresh = new ShadowOptimizer(predictor)
    fresh.beginTrial(present, batched)
    expect(fresh.inTrial).toBe(false)
    expect(fresh.tenantFailed()).toBeUndefined()
  })

  it('know throughput from the last three windows', () => {
    const shadow = new ShadowOptimizer(predictor)
    for (const throughput of [1, 500, 800, 900, 1000]) shadow.observe(window(present, throughput), TARGET_W)
    expect(shadow.throughput).toBeCloseTo(900, 6)
    shadow.observe(window(present, 700, { validity: 'stalled' }), TARGET_W)
    expect(shadow.throughput).toBeCloseTo(900, 6)
    expect(keyOf(present)).not.toBe(keyOf(batched))
  })

  it('are not looked for where the moment is not known, or has changed since', () => {
    const shadow = new ShadowOptimizer(predictor)
    for (let i = 0; i < 6; i++) shadow.observe(window(present, 900), TARGET_W)
    for (let i = 0; i < 50; i++) expect(shadow.idle(() => undefined)).toBeUndefined()
    expect(shadow.takeDecisions()).toEqual([])
    shadow.idle(contextOf(present))
    for (let i = 0; i < 50; i++) expect(shadow.idle(contextOf(batched))).toBeUndefined()
    expect(shadow.takeDecisions()[0]).toMatchObject({ kind: 'shadow-none' })
  })
})
