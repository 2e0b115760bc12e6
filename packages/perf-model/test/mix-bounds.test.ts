import { SeededRandom } from '@pctodl/numerics'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { loadPerfModel, type MixBounds, type MixBox, mixTotals, type PerfModel } from '../src/index.js'
import { farModel } from './far-models.js'

const boards = ['A100', '3080Ti'].map((board) => loadPerfModel(board))
/** Predictions are solved to 1e-10. */
const NEARLY = 1e-8

/** One to twenty tenants of one or several networks, like or not. */
function randomTenants(random: SeededRandom, networks: readonly string[]): Tenant[] {
  const count = 1 + Math.floor(20 * random.uniform() ** 2)
  const several = random.uniform() < 0.5
  const model = () => networks[Math.floor(random.uniform() * networks.length)]!
  const only = model()
  const like = random.uniform() < 0.3
  const batch = () => Math.max(1, Math.round(256 ** random.uniform()))
  const batchSize = batch()
  let free = 100
  return Array.from({ length: count }, (_, i) => {
    const most = free - (count - 1 - i)
    const mpsPercent = Math.max(1, Math.floor(like ? 100 / count : (most * random.uniform() * 2) / (count - i)))
    const share = Math.min(most, mpsPercent)
    free -= share
    return { model: several ? model() : only, mpsPercent: share, batchSize: like ? batchSize : batch() }
  })
}

/** What tenants add up to: what they draw is where drawing so much makes them draw it. */
function totalsOf(bounds: MixBounds, tenants: number, box: Omit<MixBox, 'low' | 'high'>): Float64Array {
  const totals = new Float64Array(mixTotals.length)
  for (let t = 0; t < 3; t++) for (let i = 0; i < tenants; i++) totals[t]! += bounds.adds(i, t)
  let low = 0
  let high = bounds.mostDrawn(tenants)
  for (let step = 0; step < 60; step++) {
    const drawn = 0.5 * (low + high)
    totals[mixTotals.drawn] = drawn
    let sum = 0
    for (let i = 0; i < tenants; i++) {
      bounds.enter(i, { ...box, low: totals, high: totals })
      sum += bounds.leastDrawn
    }
    if (sum > drawn) low = drawn
    else high = drawn
  }
  return totals
}

/** In every box that a random mix lies in its bounds hold what is predicted, and at its own totals they are nothing else. */
function expectBoundsToHold(model: PerfModel, run: number, random: SeededRandom, leastPartOfPower: number): void {
  const tenants = randomTenants(random, model.networks)
  const memClockMhz = model.memClocksMhz[run % model.memClocksMhz.length]!
  const clocks = smClocksAt(model.spec, memClockMhz)!
  const at = Math.floor(random.uniform() * clocks.length)
  const { throughput, powerW, ...predicted } = model.predict({ tenants, smClockMhz: clocks[at]!, memClockMhz })
  const bounds = model.mixBounds(tenants)!
  const point = { tenants: tenants.length, memClockMhz, lowClockMhz: clocks[at]!, highClockMhz: clocks[at]! }
  const totals = totalsOf(bounds, tenants.length, point)
  const name = `run ${run}: ${JSON.stringify(tenants)} at ${clocks[at]}/${memClockMhz} MHz`
  let exactly = 0
  let exactlyW = bounds.idlePowerW(memClockMhz)
  tenants.forEach((_, i) => {
    bounds.enter(i, { ...point, low: totals, high: totals })
    exactly += bounds.mostThroughput
    exactlyW += bounds.leastStandingW + bounds.leastJPerSample * predicted.tenants[i]!.throughput
    expect(bounds.leastThroughput / bounds.mostThroughput, name).toBeCloseTo(1, 6)
    expect(bounds.leastLatencyMs / predicted.tenants[i]!.latencyMs, name).toBeCloseTo(1, 6)
    expect(bounds.leastDrawn, name).toBeCloseTo(bounds.mostDrawnByOne, 9)
  })
  expect(Math.abs(exactly / throughput - 1), name).toBeLessThan(1e-6)
  // Only the price of DRAM at lower clocks is estimated from below.
  const partOfPower = exactlyW / powerW
  expect(partOfPower, name).toBeGreaterThan(clocks[at] === clocks.at(-1) ? 1 - 1e-6 : leastPartOfPower)

  const wide = random.uniform()
  const below = () => 1 - wide * random.uniform()
  const most = bounds.mostDrawn(tenants.length)
  const box: MixBox = {
    ...point,
    lowClockMhz: clocks[Math.floor(at * below())]!,
    highClockMhz: clocks[at + Math.floor((clocks.length - at) * (1 - below()))]!,
    low: totals.map((x) => x * below() * (1 - NEARLY)),
    high: totals.map((x, t) => {
      const higher = (x / below()) * (1 + NEARLY)
      return t === mixTotals.drawn ? Math.min(most, higher) : higher
    }),
  }
  let leastW = bounds.idlePowerW(memClockMhz)
  let host = 0
  let leastDrawn = 0
  let mostDrawn = 0
  tenants.forEach((_, i) => {
    bounds.enter(i, box)
    const own = predicted.tenants[i]!
    expect(bounds.mostThroughput * (1 + NEARLY), name).toBeGreaterThanOrEqual(own.throughput)
    expect(bounds.leastThroughput * (1 - NEARLY), name).toBeLessThanOrEqual(own.throughput)
    expect(bounds.leastLatencyMs * (1 - NEARLY), name).toBeLessThanOrEqual(own.latencyMs)
    leastW += bounds.leastStandingW + bounds.leastJPerSample * own.throughput
    host += bounds.leastHostPerSample * own.throughput
    leastDrawn += bounds.leastDrawn
    mostDrawn += bounds.mostDrawnByOne
  })
  expect(leastW * (1 - NEARLY), name).toBeLessThanOrEqual(powerW)
  expect(host, name).toBeLessThanOrEqual(1 + NEARLY)
  expect(leastDrawn * (1 - NEARLY), name).toBeLessThanOrEqual(totals[mixTotals.drawn]!)
  expect(mostDrawn * (1 + NEARLY), name).toBeGreaterThanOrEqual(totals[mixTotals.drawn]!)
}

describe('bounds on what tenants do in any mix', () => {
  it('hold what is predicted, in every box that a mix lies in, and at its own totals are nothing else', () => {
    const random = new SeededRandom(20261)
    for (let run = 0; run < 150; run++) expectBoundsToHold(boards[run % boards.length]!, run, random, 0.95)
  })

  it('hold for any model that a parameter file may have', () => {
    const random = new SeededRandom(5)
    for (let run = 0; run < 100; run++)
      expectBoundsToHold(farModel(boards[run % boards.length]!, random), run, random, 0.5)
  })

  it('are of tenants that there can be', () => {
    const model = boards[0]!
    const tenant = { model: 'resnet50', mpsPercent: 10, batchSize: 8 }
    expect(() => model.mixBounds([{ ...tenant, mpsPercent: 0 }])!).toThrow(/tenants\[0\]\.mpsPercent/)
    expect(() => model.mixBounds([tenant, { ...tenant, batchSize: 257 }])!).toThrow(/tenants\[1\]\.batchSize/)
    expect(() => model.mixBounds([{ ...tenant, model: 'lenet' }])!).toThrow(/lenet/)
    expect(() => model.mixBounds([null as never])!).toThrow(/tenants\[0\]/)
  })
})
