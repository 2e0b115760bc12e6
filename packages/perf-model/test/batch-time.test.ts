import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchTime, termLayout, timeLayout } from '../src/batch-time.js'

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

function timeOf(given: Case): Float64Array {
  const terms = new Float64Array(termLayout.stride)
  terms[termLayout.gapMs] = given.gapMs
  terms[termLayout.launchMs] = given.launchMs
  terms[termLayout.hostMs] = given.hostMs
  terms[termLayout.launchOthers] = given.launchOthers
  terms[termLayout.hostOthers] = given.hostOthers
  terms[termLayout.hostShareMs] = given.hostMs / 4
  const out = new Float64Array(timeLayout.length)
  const { cyclesMs, mixedMs, streamMs, price, pace, topUnqueuedMs } = given
  batchTime(terms, 0, cyclesMs, mixedMs, streamMs, price, pace, 0.2, topUnqueuedMs, out)
  return out
}

describe('batchTime', () => {
  it.each(['price', 'pace'] as const)('has the derivative by the %s that its difference quotients show', (by) => {
    const derivative = by === 'price' ? timeLayout.perPrice : timeLayout.perPace
    fc.assert(
      fc.property(cases, (given) => {
        const step = 1e-5 * given[by]
        const above = timeOf({ ...given, [by]: given[by] + step })[timeLayout.batchMs]!
        const below = timeOf({ ...given, [by]: given[by] - step })[timeLayout.batchMs]!
        const found = timeOf(given)[derivative]!
        const scale = timeOf(given)[timeLayout.batchMs]! / given[by]
        expect(Math.abs(found - (above - below) / (2 * step))).toBeLessThan(1e-6 * scale)
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
