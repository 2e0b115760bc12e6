import { loadPerfModel } from '@pctodl/perf-model'
import type { Configuration, Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type ReplanContext, Replanning } from '../src/pctodl/replanning.js'

const predictor = loadPerfModel('3080Ti')
const tenantsOf = (shares: readonly number[], batchSize: number): Tenant[] =>
  shares.map((mpsPercent) => ({ model: 'resnet50', mpsPercent, batchSize }))
const present = { tenants: tenantsOf([50, 50], 4), memClockMhz: 9501 }
const better: Configuration = { tenants: tenantsOf([50, 50], 32), memClockMhz: 9501, smClockMhz: 900 }
const alike: Configuration = { tenants: tenantsOf([40, 60], 4), memClockMhz: 9501, smClockMhz: 1560 }
const quicker: Configuration = { tenants: tenantsOf([25, 25, 25, 25], 32), memClockMhz: 9501, smClockMhz: 750 }
const restarting: Configuration = { tenants: tenantsOf([25, 25, 25, 25], 32), memClockMhz: 9501, smClockMhz: 900 }

function replanning(plan: Configuration | undefined) {
  const asked: number[] = []
  const made = new Replanning({
    predictor,
    payBackS: 60,
    sharesAfterS: 35,
    plan: (modelledCapW) => {
      asked.push(modelledCapW)
      return plan
    },
  })
  return { made, asked }
}

const context = (timeMs: number, more: Partial<ReplanContext> = {}): ReplanContext => ({
  timeMs,
  present,
  powerCapW: 180,
  powerRatio: 1,
  settled: true,
  infeasible: false,
  restartS: 4,
  expected: ({ tenants }) => (tenants === present.tenants ? 1000 : 1100),
  ...more,
})

describe('Replanning', () => {
  it('plans by what the board draws at the clocks of the new cap, and judges a small gain later, by measurement', () => {
    const { made, asked } = replanning(alike)
    made.capChanged(100_000)
    // Where the clock was sent to is not yet where power was read.
    expect(made.step(context(100_100, { powerRatio: 0.8 }))).toBeUndefined()
    expect(made.step(context(101_900, { powerRatio: 0.8 }))).toBeUndefined()
    expect(asked).toEqual([])
    expect(made.step(context(102_000))).toBeUndefined()
    expect(asked).toEqual([180])
    for (let timeMs = 102_100; timeMs < 135_000; timeMs += 100) expect(made.step(context(timeMs))).toBeUndefined()
    expect(made.step(context(135_000))).toMatchObject({ plan: alike, forThroughput: true })
    expect(made.pending).toBe(false)
  })

  it('changes tenants after the clocks for a large gain where caps have lasted long enough to pay for the restarts', () => {
    const { made } = replanning(better)
    made.capChanged(100_000)
    expect(made.step(context(101_900, { settled: false }))).toBeUndefined()
    expect(made.step(context(102_000, { settled: false }))).toBeUndefined()
    expect(made.step(context(102_100, { settled: false }))).toMatchObject({ plan: better, forThroughput: false })
  })

  it('waits where caps have not lasted, until this one has', () => {
    const { made } = replanning(quicker)
    for (const timeMs of [50_000, 52_000, 54_000]) made.capChanged(timeMs)
    let timeMs = 54_100
    while (made.pending && timeMs < 80_000) {
      if (made.step(context(timeMs, { settled: false }))) break
      timeMs += 100
    }
    // Four processes of four for 4 s: as long as that takes to regain.
    expect(timeMs).toBeGreaterThan(56_000)
    expect(timeMs).toBeLessThan(80_000)
    expect(made.pending).toBe(false)
  })

  it('waits for the clock to rest', () => {
    const { made } = replanning(alike)
    made.capChanged(0)
    made.step(context(2000))
    expect(made.step(context(60_000, { settled: false }))).toBeUndefined()
    expect(made.step(context(60_100))).toBeDefined()
  })

  it('changes at once where the present tenants do not keep the cap at any clock', () => {
    const { made } = replanning(better)
    made.capChanged(0)
    made.step(context(100, { powerCapW: 50, infeasible: true }))
    const replan = made.step(context(200, { powerCapW: 50, settled: false, infeasible: true }))
    expect(replan).toMatchObject({ plan: better, forThroughput: false })
  })

  it('weighs what keeps the cap after all, also where the lowest clock does not just now, and what has no clock by the model alone', () => {
    for (const more of [{ infeasible: true }, { powerCapW: 50, infeasible: false }]) {
      const { made } = replanning(alike)
      made.capChanged(0)
      made.step(context(2000, { ...more, settled: false }))
      // Adopted at once where both say that no clock keeps it; here nothing was measured, and little is promised.
      const found = made.step(context(2100, { ...more, settled: false }))
      if (more.infeasible) expect(found).toBeUndefined()
      else expect(found).not.toMatchObject({ reason: 'the present tenants do not keep the new cap at any clock' })
    }
  })

  it('refuses what does not regain its restarts in time, and says so', () => {
    const { made } = replanning(restarting)
    const step = (gain: number) => {
      made.capChanged(0)
      made.step(context(2000))
      return made.step(
        context(60_000, { expected: ({ tenants }) => (tenants === present.tenants ? 1000 : 1000 + gain) }),
      )
    }
    // Four processes of four for 4 s at 1000 samples/s are 4000 samples: 60 s at 67 more.
    expect(step(60)).toBeUndefined()
    expect(made.takeDecisions()).toMatchObject([{ kind: 'plan-rejected', lost: 4000, restarted: 4 }])
    expect(step(70)).toMatchObject({ plan: restarting })
  })

  it('waits with what would pay, until the cap has lasted as long as that takes', () => {
    const { made } = replanning(restarting)
    made.capChanged(0)
    made.step(context(2000))
    const expected = ({ tenants }: { tenants: readonly Tenant[] }) => (tenants === present.tenants ? 1000 : 1080)
    let timeMs = 35_000
    while (timeMs < 120_000 && made.step(context(timeMs, { expected })) === undefined) timeMs += 100
    expect(timeMs).toBeGreaterThanOrEqual(50_000)
    expect(timeMs).toBeLessThan(56_000)
    expect(made.takeDecisions()).toEqual([])
  })

  it('asks the predictor where nothing was measured', () => {
    const { made } = replanning(better)
    made.capChanged(0)
    made.step(context(2000))
    expect(made.step(context(35_000, { expected: () => undefined }))).toMatchObject({ plan: better })
  })

  it('is over where there is no plan', () => {
    const { made } = replanning(undefined)
    made.capChanged(0)
    made.step(context(2000))
    expect(made.pending).toBe(false)
  })

  it.each([
    [0.8, 225],
    [1.2, 150],
  ])('reviews the first plan once where the board draws %d times the prediction', (powerRatio, modelledCapW) => {
    const { made, asked } = replanning(better)
    made.step(context(34_900, { powerRatio }))
    expect(made.pending).toBe(false)
    made.step(context(35_000, { powerRatio }))
    expect(made.takeDecisions()).toMatchObject([{ kind: 'plan-review', powerRatio }])
    made.step(context(35_100, { powerRatio }))
    expect(asked).toEqual([modelledCapW])
    expect(made.step(context(35_200, { powerRatio }))).toMatchObject({ plan: better })
    made.step(context(90_000, { powerRatio }))
    expect(made.pending).toBe(false)
  })

  it('leaves the first plan alone where the predictor is right', () => {
    const { made } = replanning(better)
    made.step(context(35_000, { powerRatio: 1.04 }))
    made.step(context(60_000, { powerRatio: 1.2 }))
    expect(made.pending).toBe(false)
  })

  it('knows no help where the cap is not kept and the best plan is what runs, or there is none', () => {
    const same: Configuration = { ...present, smClockMhz: 900 }
    for (const plan of [same, undefined]) {
      const { made } = replanning(plan)
      made.capNotKept(10_000)
      let answer = made.step(context(10_100))
      if (plan) {
        expect(answer).toBeUndefined()
        answer = made.step(context(10_200))
      }
      expect(answer).toBe('helpless')
      expect(made.pending).toBe(false)
      expect(made.takeDecisions()).toEqual([])
    }
  })

  it('takes what it finds where the cap is not kept, however long that takes to pay', () => {
    const { made, asked } = replanning(restarting)
    made.capNotKept(10_000)
    made.step(context(10_100, { settled: false, powerRatio: 1.2 }))
    expect(asked).toEqual([0.97 * 150])
    const expected = () => 1000
    expect(made.step(context(10_200, { settled: false, expected }))).toMatchObject({
      plan: restarting,
      forThroughput: false,
    })
    expect(made.pending).toBe(false)
  })

  it('leaves more free each time that what it found does not keep the cap either, until the cap is another one', () => {
    const { made, asked } = replanning(restarting)
    const mend = (timeMs: number) => {
      made.capNotKept(timeMs)
      made.step(context(timeMs + 100))
      made.step(context(timeMs + 200))
    }
    mend(10_000)
    mend(20_000)
    made.capChanged(30_000)
    made.step(context(30_100, { infeasible: true }))
    expect(asked.map((watts) => Math.round(1000 * watts) / 1000)).toEqual([174.6, 169.2, 174.6])
  })

  it('leaves nothing free where no plan does, and never more than is sensible, however long the cap is not kept', () => {
    const asked: number[] = []
    const lowestW = 178
    const made = new Replanning({
      predictor,
      payBackS: 60,
      sharesAfterS: 35,
      plan: (modelledCapW, optional) => {
        asked.push(modelledCapW)
        expect(optional).toBe(modelledCapW < 180)
        return modelledCapW >= lowestW ? restarting : undefined
      },
    })
    for (let timeMs = 10_000; timeMs < 800_000; timeMs += 10_000) {
      made.capNotKept(timeMs)
      expect(made.step(context(timeMs + 100))).toBeUndefined()
      expect(made.step(context(timeMs + 200))).toMatchObject({ plan: restarting })
    }
    expect(Math.min(...asked)).toBeCloseTo(0.85 * 180, 6)
  })

  it('takes a plan for shorter batches at once, and stops nobody where it is what runs', () => {
    const { made } = replanning(better)
    made.latencyMissed(10_000)
    expect(made.step(context(10_100, { settled: false }))).toBeUndefined()
    expect(made.step(context(10_200, { settled: false }))).toMatchObject({ plan: better, forThroughput: false })
    for (const plan of [{ ...present, smClockMhz: 900 }, undefined]) {
      const { made: nothing } = replanning(plan)
      nothing.latencyMissed(10_000)
      expect(nothing.step(context(10_100))).toBeUndefined()
      expect(nothing.step(context(10_200))).toBeUndefined()
      expect(nothing.pending).toBe(false)
    }
  })

  it('weighs its plan again where firmware holds the board down: once for each cap, and not while it plans already', () => {
    const { made } = replanning(better)
    made.throttled(50_000)
    expect(made.pending).toBe(true)
    made.step(context(50_100))
    expect(made.step(context(50_200))).toMatchObject({ plan: better, forThroughput: true })
    made.throttled(60_000)
    expect(made.pending).toBe(false)
    made.capChanged(70_000)
    made.throttled(70_100)
    // The plan for the new cap waits for the clocks all the same.
    expect(made.step(context(70_200))).toBeUndefined()
    expect(made.step(context(71_900))).toBeUndefined()
  })

  it('forgets how urgent it was with the next cap', () => {
    const { made } = replanning(alike)
    made.capNotKept(10_000)
    made.capChanged(20_000)
    made.step(context(22_000))
    expect(made.step(context(22_100))).toBeUndefined()
    expect(made.pending).toBe(true)
  })
})
