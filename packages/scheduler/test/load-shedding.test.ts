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
    applied: { smClockMhz: clocks.smClockMhz },
    reconfiguring: false,
    smClockRefusedMs: 1000,
    failures: [],
    ...more,
  } as SampleObservation
}

const step = (shedding: LoadShedding, observation: SampleObservation) =>
  shedding.step(observation, tenants, clocks.memClockMhz)
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

  it('keeps one tenant whatever the cap', () => {
    expect(sharesOf(step(new LoadShedding(predictor), seen(5000, 10))?.tenants)).toEqual([40])
  })

  it('is judged by what was measured, which the prediction is scaled to', () => {
    const powerAverageW = 1.3 * allW
    const heavier = { telemetry: { powerAverageW, smClockMhz: 1500 } as SampleObservation['telemetry'] }
    expect(sharesOf(step(new LoadShedding(predictor), seen(5000, 1.3 * capFor(2), heavier))?.tenants)).toEqual([40, 30])
  })

  it.each<[string, number, Partial<SampleObservation>]>([
    ['takes its clock', capFor(2), { smClockRefusedMs: 0 }],
    ['has refused it for less than half a second', capFor(2), { smClockRefusedMs: 499 }],
    ['keeps the cap nearly', allW / 1.02, {}],
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
    // Nor while tenants are restarted, and as long after.
    expect(step(shedding, seen(9000, capFor(3), { reconfiguring: true }))).toBeUndefined()
    expect(step(shedding, seen(10_200, capFor(3)))).toBeUndefined()
    expect(step(shedding, seen(10_300, capFor(3)))).toBeDefined()
  })

  it('has all of its tenants back when it takes its clock again, once', () => {
    const shedding = new LoadShedding(predictor)
    const fewer = step(shedding, seen(5000, capFor(2)))!.tenants
    // Those of before the first loss, though it lost some twice.
    shedding.step(seen(7000, capFor(1)), fewer, clocks.memClockMhz)
    const back = step(shedding, seen(7100, capFor(2), { smClockRefusedMs: 0 }))
    expect(back?.tenants).toBe(tenants)
    expect(shedding.active).toBe(false)
    expect(step(shedding, seen(7200, capFor(2), { smClockRefusedMs: 0 }))).toBeUndefined()
  })

  it('loses at least one where not even the lowest clock keeps the cap', () => {
    const shedding = new LoadShedding(predictor)
    expect(sharesOf(shedding.fewer(tenants, clocks, allW, 2 * allW))).toEqual([20, 40, 30])
    expect(sharesOf(shedding.fewer(tenants, clocks, allW, capFor(2)))).toEqual([40, 30])
    expect(shedding.fewer(tenants.slice(0, 1), clocks, allW, 10)).toBeUndefined()
  })
})
