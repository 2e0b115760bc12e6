import { loadPerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { LoadShedding } from '../src/pctodl/load-shedding.js'
import type { SampleObservation } from '../src/policy.js'

const predictor = loadPerfModel('3080Ti')
const tenants: readonly Tenant[] = [20, 40, 30, 10].map((mpsPercent) => ({
  model: 'resnet50',
  mpsPercent,
  batchSize: 32,
}))
const clocks = { smClockMhz: 1500, memClockMhz: 9501 }
const powerOf = (some: readonly Tenant[]) => predictor.predict({ tenants: some, ...clocks }).powerW
const allW = powerOf(tenants)

/** A board that draws what is predicted and has refused its clock for a second. */
function seen(timeMs: number, powerCapW: number, more: Partial<SampleObservation> = {}): SampleObservation {
  return {
    timeMs,
    telemetry: { powerAverageW: allW, smClockMhz: clocks.smClockMhz },
    powerCapW,
    applied: { tenants, smClockMhz: clocks.smClockMhz, powerLimitW: 350 },
    reconfiguring: false,
    smClockRefusedMs: 1000,
    failures: [],
    ...more,
  } as SampleObservation
}

const step = (shedding: LoadShedding, observation: SampleObservation, powerRatio = 1, delayMs = 0) =>
  shedding.step(observation, { tenants, memClockMhz: clocks.memClockMhz }, powerRatio, delayMs)
const sharesOf = (some: readonly Tenant[] | undefined) => some?.map(({ mpsPercent }) => mpsPercent)

/** A cap that this many of the largest tenants just keep, with 3 % to spare. */
const capFor = (count: number) =>
  powerOf([...tenants].sort((a, b) => b.mpsPercent - a.mpsPercent).slice(0, count)) / 0.97 + 0.01

describe('a board that draws too much and refuses its clock', () => {
  it.each([3, 2, 1])('loses its smallest tenants until %d keep the cap', (count) => {
    const shedding = new LoadShedding(predictor)
    const answer = step(shedding, seen(5000, capFor(count)))
    const largest = [40, 30, 20].slice(0, count)
    expect(sharesOf(answer?.tenants)).toEqual([20, 40, 30].filter((share) => largest.includes(share)))
    expect(answer?.reason).toContain(`${tenants.length - count} tenants stopped`)
    expect(shedding.active).toBe(true)
  })

  it('loses them as soon as it has refused its clock for three tenths of a second', () => {
    expect(step(new LoadShedding(predictor), seen(5000, capFor(2), { smClockRefusedMs: 300 }))).toBeDefined()
  })

  it('keeps the one that draws least where the largest alone draws too much, and none where even that does', () => {
    const keptUnder = (powerCapW: number) => sharesOf(step(new LoadShedding(predictor), seen(5000, powerCapW))?.tenants)
    const minW = powerOf(tenants.slice(3)) / 0.97
    expect(keptUnder(minW + 0.01)).toEqual([10])
    expect(keptUnder(minW - 0.01)).toEqual([])
  })

  it('loses none of none, and has all of them back when it takes its clock again', () => {
    const shedding = new LoadShedding(predictor)
    const none = step(shedding, seen(5000, 10))
    expect(none).toMatchObject({ tenants: [], reason: expect.stringContaining('4 tenants stopped') })
    const { smClockMhz } = clocks
    const empty = { applied: { tenants: [], smClockMhz, powerLimitW: 350 } as Partial<SampleObservation['applied']> }
    const stopped = empty as Partial<SampleObservation>
    for (let timeMs = 5100; timeMs < 8000; timeMs += 100) {
      expect(step(shedding, seen(timeMs, 10, stopped))).toBeUndefined()
    }
    expect(shedding.active).toBe(true)
    const taken = { ...stopped, smClockRefusedMs: 0 }
    expect(step(shedding, seen(8300, 10, taken))).toBeUndefined()
    expect(step(shedding, seen(8400, 10, taken))?.tenants).toBe(tenants)
    expect(shedding.active).toBe(false)
  })

  it('is judged by what was measured, which the prediction is scaled to', () => {
    const powerAverageW = 1.3 * allW
    const heavier = { telemetry: { powerAverageW, smClockMhz: 1500 } as SampleObservation['telemetry'] }
    expect(sharesOf(step(new LoadShedding(predictor), seen(5000, 1.3 * capFor(2), heavier), 1.3)?.tenants)).toEqual([
      40, 30,
    ])
  })

  it.each<[string, number, Partial<SampleObservation>]>([
    ['takes its clock', capFor(2), { smClockRefusedMs: 0 }],
    ['has refused it for less than three tenths of a second', capFor(2), { smClockRefusedMs: 299 }],
    ['keeps the cap within 1 %', allW / 1.01, {}],
    ['says nothing', capFor(2), { telemetry: { powerAverageW: null } as SampleObservation['telemetry'] }],
  ])('loses none while it %s', (_, powerCapW, more) => {
    const shedding = new LoadShedding(predictor)
    expect(step(shedding, seen(5000, powerCapW, more))).toBeUndefined()
    expect(shedding.active).toBe(false)
  })

  it('loses more only when what was stopped has left the mean of the last second', () => {
    const shedding = new LoadShedding(predictor)
    expect(step(shedding, seen(5000, capFor(3)))).toBeDefined()
    expect(step(shedding, seen(6200, capFor(3)))).toBeUndefined()
    expect(step(shedding, seen(6300, capFor(3)))).toBeDefined()
    // Nor when tenants were restarted, as long after.
    expect(step(shedding, seen(9000, allW, { reconfiguring: true }))).toBeUndefined()
    expect(step(shedding, seen(10_200, capFor(3)))).toBeUndefined()
    expect(step(shedding, seen(10_300, capFor(3)))).toBeDefined()
  })

  it('waits for longer where readings come late', () => {
    const shedding = new LoadShedding(predictor)
    expect(step(shedding, seen(5000, capFor(3)), 1, 1000)).toBeDefined()
    expect(step(shedding, seen(7200, capFor(3)), 1, 1000)).toBeUndefined()
    expect(step(shedding, seen(7300, capFor(3)), 1, 1000)).toBeDefined()
  })

  it('loses none where only the reading or only the estimate is above', () => {
    expect(step(new LoadShedding(predictor), seen(5000, 0.98 * allW), 0.9)).toBeUndefined()
    const low = { telemetry: { powerAverageW: 0.9 * allW, smClockMhz: 1500 } } as Partial<SampleObservation>
    expect(step(new LoadShedding(predictor), seen(5000, 0.95 * allW, low))).toBeUndefined()
  })

  it('loses those that would start at a clock that is too high for them, before they do', () => {
    const telemetry = { powerAverageW: 50, smClockMhz: clocks.smClockMhz } as SampleObservation['telemetry']
    const starting = { telemetry, reconfiguring: true }
    expect(sharesOf(step(new LoadShedding(predictor), seen(5000, capFor(2), starting))?.tenants)).toEqual([40, 30])
    // By what the board draws beside what is predicted.
    expect(step(new LoadShedding(predictor), seen(5000, allW, starting), 1)).toBeUndefined()
    expect(sharesOf(step(new LoadShedding(predictor), seen(5000, allW, starting), 1.05)?.tenants)).toEqual([40, 30])
    const held = {
      ...starting,
      applied: { tenants, smClockMhz: 1500, powerLimitW: capFor(2) } as SampleObservation['applied'],
    }
    expect(step(new LoadShedding(predictor), seen(5000, capFor(2), held))).toBeUndefined()
  })

  it('has all of its tenants back when it takes its clock again, once', () => {
    const shedding = new LoadShedding(predictor)
    const fewer = step(shedding, seen(5000, capFor(2)))!.tenants
    // Those of before the first loss, though it lost some twice.
    shedding.step(seen(7000, capFor(1)), { tenants: fewer, memClockMhz: clocks.memClockMhz }, 1, 0)
    const back = step(shedding, seen(8000, capFor(2), { smClockRefusedMs: 0 }))
    expect(back?.tenants).toBe(tenants)
    expect(shedding.active).toBe(false)
    expect(step(shedding, seen(8100, capFor(2), { smClockRefusedMs: 0 }))).toBeUndefined()
  })

  it('loses at least one where not even the lowest clock keeps the cap', () => {
    const shedding = new LoadShedding(predictor)
    expect(sharesOf(shedding.fewer(tenants, clocks, allW, 2 * allW))).toEqual([20, 40, 30])
    expect(sharesOf(shedding.fewer(tenants, clocks, allW, capFor(2)))).toEqual([40, 30])
    // A board that takes its clock keeps one: what is left of the excess is told.
    expect(sharesOf(shedding.fewer(tenants, clocks, allW, 10))).toEqual([10])
    expect(shedding.fewer(tenants.slice(0, 1), clocks, allW, 10)).toBeUndefined()
  })
})
