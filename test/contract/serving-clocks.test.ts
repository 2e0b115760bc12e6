import { loadPerfModel } from '@pctodl/perf-model'
import type { Service, Tenant } from '@pctodl/platform'
import { ServingClocks } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'

const model = loadPerfModel('3080Ti')
const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 2,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2' }
const tenants: readonly Tenant[] = [search, photos].map((service) => ({
  model: service.model,
  mpsPercent: 50,
  batchSize: 16,
  service: service.name,
}))
const clocks = new ServingClocks(model, tenants, [search, photos], 9501)
const all = clocks.smClocksMhz
const top = all.at(-1)!
/** What the board bears at its top clock, with these rates as the mix. */
const mix = [300, 500]
const most = clocks.loadFactor(top, mix)
const at = (factor: number) => mix.map((rate) => factor * rate)

describe('the lowest clock that keeps all objectives', () => {
  it.each([0.05, 0.4, 0.7, 0.95])('is found as by looking at each, at %d of what the board bears', (part) => {
    const rates = at(part * most)
    const lowest = clocks.lowest(rates)!
    expect(clocks.keeps(lowest, rates)).toBe(true)
    const index = all.indexOf(lowest)
    for (const clock of all.slice(Math.max(0, index - 3), index)) expect(clocks.keeps(clock, rates)).toBe(false)
  })

  it('may be the lowest of all, and is none where the highest does not do', () => {
    expect(clocks.lowest([0.01, 0.01])).toBe(all[0])
    expect(clocks.lowest(at(most))).toBeDefined()
    expect(clocks.lowest(at(2 * most))).toBeUndefined()
  })

  it('is higher for traffic that comes in bursts', () => {
    const rates = at(0.6 * most)
    expect(clocks.lowest(rates, [6, 6])!).toBeGreaterThan(clocks.lowest(rates)!)
  })
})

describe('the load that a clock bears', () => {
  it.each([1, 0.2, 50])('is a factor that it keeps, to a fiftieth, whatever the rates are counted in (%d)', (unit) => {
    const rates = at(unit * most)
    const factor = clocks.loadFactor(900, rates)
    expect(
      clocks.keeps(
        900,
        rates.map((rate) => factor * rate),
      ),
    ).toBe(true)
    expect(
      clocks.keeps(
        900,
        rates.map((rate) => 1.02 * factor * rate),
      ),
    ).toBe(false)
  })

  it('rises with the clock', () => {
    expect(clocks.loadFactor(600, mix)).toBeLessThan(clocks.loadFactor(900, mix))
    expect(clocks.loadFactor(900, mix)).toBeLessThan(most)
  })

  it('is looked for from a hundredth to sixteen times the rates', () => {
    const hundredth = clocks.loadFactor(top, at(80 * most))
    expect(hundredth).toBeGreaterThan(0.0117)
    expect(hundredth).toBeLessThan(0.013)
    expect(clocks.loadFactor(top, at(120 * most))).toBe(0)
    const sixteen = clocks.loadFactor(top, at(most / 14))
    expect(sixteen).toBeGreaterThan(13)
    expect(clocks.loadFactor(top, at(most / 1000))).toBeGreaterThan(15.6)
    expect(clocks.loadFactor(top, at(most / 1000))).toBeLessThanOrEqual(16)
  })
})
