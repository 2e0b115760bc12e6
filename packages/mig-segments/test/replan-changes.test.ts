import { describe, expect, it } from 'vitest'
import type { ServiceProfile } from '../src/index.js'
import { changesTo, PointChoice } from '../src/replan/changes.js'
import { demandsOf } from '../src/service-demand.js'

/** 100 items/s with small batches, 150 with large ones. */
const profile: ServiceProfile = {
  model: 'a',
  points: [
    { sizeGpcs: 1, batchSize: 4, processes: 1, processThroughput: 100, latencyMs: 40 },
    { sizeGpcs: 1, batchSize: 8, processes: 1, processThroughput: 150, latencyMs: 53 },
  ],
}
const small = (start: number) => ({ model: 'a', sizeGpcs: 1 as const, start, batchSize: 4, processes: 1 })
const place = (start: number) => ({ model: 'a', sizeGpcs: 1 as const, start })

/** Segments with small batches run at these places; the layout has those, for a rate and a latency. */
function changed(running: readonly number[], wanted: readonly number[], ratePerS: number, latencyMs = 200) {
  const { served } = demandsOf([profile], [{ model: 'a', ratePerS, latencyMs }])
  const current = [{ index: 0, segments: running.map(small) }]
  const changes = changesTo(new Map([[0, wanted.map(place)]]), current, new PointChoice([profile], served, undefined))
  const starts = (located: readonly { readonly segment: { readonly start: number } }[]) =>
    located.map(({ segment }) => segment.start)
  return {
    kept: starts(changes.kept),
    restarted: starts(changes.restarted.map(({ after }) => after)),
    created: starts(changes.created),
    removed: starts(changes.removed),
  }
}

describe('what changes on the way to a layout', () => {
  it('is nothing where segments serve the rate as they run, be there better batch sizes', () => {
    expect(changed([0, 1], [0, 1], 200)).toEqual({ kept: [0, 1], restarted: [], created: [], removed: [] })
  })

  it('is the batch size of as many segments as the rate takes', () => {
    expect(changed([0, 1], [0, 1], 201)).toMatchObject({ kept: [1], restarted: [0] })
    expect(changed([0, 1], [0, 1], 251)).toMatchObject({ kept: [], restarted: [0, 1] })
  })

  it('is what comes and what goes, and what comes counts for the rate', () => {
    expect(changed([0, 1], [0, 2], 250)).toEqual({ kept: [0], restarted: [], created: [2], removed: [1] })
    expect(changed([0, 1], [0, 2], 251)).toMatchObject({ kept: [], restarted: [0] })
  })

  it('is the batch size of a segment that is too slow for its latency', () => {
    const slow = { ...profile, points: [profile.points[0]!, { ...profile.points[1]!, latencyMs: 30 }] }
    const { served } = demandsOf([slow], [{ model: 'a', ratePerS: 10, latencyMs: 80 }])
    const points = new PointChoice([slow], served, undefined)
    const { restarted, kept } = changesTo(new Map([[0, [place(0)]]]), [{ index: 0, segments: [small(0)] }], points)
    expect({ restarted: restarted.length, kept: kept.length }).toEqual({ restarted: 1, kept: 0 })
  })
})
