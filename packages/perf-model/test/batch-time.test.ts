import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchTime, pointLayout, termLayout, timeLayout } from '../src/batch-time.js'

const ms = fc.double({ min: 0.01, max: 500, noNaN: true })
const demand = fc.double({ min: 0, max: 8, noNaN: true })

interface Case {
  readonly cyclesMs: number
  readonly mixedMs: number
  readonly streamMs: number
  readonly gapMs: number
  readonly launchMs: number
  readonly hostMs: number
  readonly launchOthers: number
  readonly hostOthers: number
  readonly price: number
  readonly pace: number
  readonly topUnqueuedMs: number
}

const cases = fc.record({
  cyclesMs: ms,
  mixedMs: ms,
  streamMs: ms,
  gapMs: ms,
  launchMs: ms,
  hostMs: ms,
  launchOthers: demand,
  hostOthers: demand,
  price: fc.double({ min: 1, max: 10, noNaN: true }),
  pace: fc.double({ min: 0.05, max: 1, noNaN: true }),
  topUnqueuedMs: fc.oneof(fc.constant(0), ms),
})

/** How price and pace go with the parameter that derivatives are taken by. */
interface Way {
  readonly priceSlope: number
  readonly priceBend: number
  readonly paceSlope: number
}

const ways = fc.record({
  priceSlope: fc.double({ min: 0, max: 3, noNaN: true }),
  priceBend: fc.double({ min: -3, max: 3, noNaN: true }),
  paceSlope: fc.double({ min: 0, max: 1, noNaN: true }),
})
const nowhere: Way = { priceSlope: 0, priceBend: 0, paceSlope: 0 }

function timeOf(given: Case, way: Way = nowhere): Float64Array {
  const terms = new Float64Array(termLayout.stride)
  for (const key of ['cyclesMs', 'mixedMs', 'streamMs', 'gapMs', 'launchMs', 'hostMs', 'topUnqueuedMs'] as const) {
    terms[termLayout[key]] = given[key]
  }
  terms[termLayout.launchOthers] = given.launchOthers
  terms[termLayout.hostOthers] = given.hostOthers
  terms[termLayout.hostShareMs] = given.hostMs / 4
  terms[termLayout.launchOwn] = 0.2
  const point = new Float64Array(pointLayout.length)
  point[pointLayout.price] = given.price
  point[pointLayout.pace] = given.pace
  for (const key of ['priceSlope', 'priceBend', 'paceSlope'] as const) point[pointLayout[key]] = way[key]
  const out = new Float64Array(timeLayout.length)
  batchTime(terms, 0, point, out)
  return out
}

/** A little further along a way: the case there, and the way as it goes on from there. */
function further(given: Case, way: Way, step: number): [Case, Way] {
  const price = given.price + step * (way.priceSlope + 0.5 * step * way.priceBend)
  const pace = given.pace + step * way.paceSlope
  return [
    { ...given, price, pace },
    { ...way, priceSlope: way.priceSlope + step * way.priceBend },
  ]
}

describe('batchTime', () => {
  it.each([
    ['slope', timeLayout.slope, timeLayout.batchMs],
    ['bend', timeLayout.bend, timeLayout.slope],
  ] as const)('has the %s along price and pace that difference quotients show', (_, derivative, of) => {
    const step = 1e-5
    fc.assert(
      fc.property(cases, ways, (given, way) => {
        const above = timeOf(...further(given, way, step))[of]!
        const below = timeOf(...further(given, way, -step))[of]!
        const found = timeOf(given, way)
        expect(Math.abs(found[derivative]! - (above - below) / (2 * step))).toBeLessThan(
          1e-6 * (found[timeLayout.batchMs]! + Math.abs(found[timeLayout.bend]!)),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('rises with every term, and is at no time shorter than the launches or the host of all', () => {
    fc.assert(
      fc.property(cases, fc.double({ min: 1, max: 3, noNaN: true }), (given, factor) => {
        const batchMs = timeOf(given)[timeLayout.batchMs]!
        expect(batchMs).toBeGreaterThanOrEqual(given.launchMs + given.hostMs)
        expect(batchMs).toBeGreaterThanOrEqual(given.hostMs / 4 + given.hostOthers * given.topUnqueuedMs)
        for (const key of ['cyclesMs', 'mixedMs', 'streamMs', 'gapMs', 'launchMs', 'hostMs', 'price'] as const) {
          expect(timeOf({ ...given, [key]: factor * given[key] })[timeLayout.batchMs]!).toBeGreaterThanOrEqual(
            batchMs * (1 - 1e-12),
          )
        }
      }),
      { numRuns: 200 },
    )
  })
})
