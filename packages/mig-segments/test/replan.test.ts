import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type MappedGpu,
  type PlannedSegment,
  placementConflict,
  planHeuristically,
  type Replan,
  replan,
  type ServiceProfile,
  TooFewGpusError,
} from '../src/index.js'
import { arbitraryServices } from './arbitrary-services.js'
import { publishedData } from './published-data.js'

const key = (gpu: number, { model, sizeGpcs, start, batchSize, processes }: MappedGpu['segments'][number]) =>
  `${gpu} ${model} ${sizeGpcs}@${start} ${batchSize}x${processes}`
const keysOf = (gpus: readonly MappedGpu[]) =>
  gpus.flatMap(({ index, segments }) => segments.map((segment) => key(index, segment))).sort()

/** Walk the steps from a map: every state legal, shortfalls told, and at the end the new map. */
function walk(current: readonly MappedGpu[], next: Replan): void {
  const standing = new Map(current.map(({ index, segments }) => [index, [...segments]]))
  for (const { kind, gpu, segment } of next.steps) {
    const before = standing.get(gpu) ?? []
    const others = before.filter(({ start }) => start !== segment.start || kind === 'create')
    if (kind !== 'create') expect(others).toHaveLength(before.length - 1)
    const after = kind === 'remove' ? others : [...others, segment]
    expect(placementConflict(after)).toBeNull()
    standing.set(gpu, after)
  }
  expect(keysOf([...standing].map(([index, segments]) => ({ index, segments })))).toEqual(keysOf(next.gpus))
}

describe('replan', () => {
  it('reaches a sound map step by step, and counts what it changes', () => {
    const factors = fc.array(fc.double({ min: 0.3, max: 3, noNaN: true }), { minLength: 7, maxLength: 7 })
    fc.assert(
      fc.property(arbitraryServices, factors, fc.boolean(), ({ profiles, objectives }, changes, consolidate) => {
        const before = planHeuristically(profiles, objectives)
        const changed = objectives.map((objective, i) => ({
          ...objective,
          ratePerS: objective.ratePerS * changes[i]!,
        }))
        const next = replan(before.gpus, profiles, changed, { consolidate })
        for (const { segments } of next.gpus) expect(placementConflict(segments)).toBeNull()
        for (const { capacity, ratePerS } of next.served) {
          expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
        }
        expect(next.gpuCount).toBeLessThanOrEqual(
          consolidate ? next.freshGpus : Math.max(before.gpuCount, next.freshGpus),
        )
        const segments = next.gpus.reduce((sum, gpu) => sum + gpu.segments.length, 0)
        expect(next.kept + next.restarted + next.created).toBe(segments)
        walk(before.gpus, next)
      }),
      { numRuns: 60, seed: 11 },
    )
  })

  it('creates few segments where rates of the largest published row rise, and fewer where a GPU may be taken for them', () => {
    const { profiles, scenarios } = publishedData('sc24')
    const created = (factor: number, movesPerGpu?: number) => {
      const before = scenarios[5]!.map((each) => ({ ...each, ratePerS: factor * each.ratePerS }))
      const after = before.map((each, i) => (i % 3 === 0 ? { ...each, ratePerS: 1.15 * each.ratePerS } : each))
      const current = planHeuristically(profiles, before).gpus
      const next = replan(current, profiles, after, movesPerGpu === undefined ? {} : { movesPerGpu })
      walk(current, next)
      return next
    }
    const still = created(1)
    expect(still.created).toBeLessThanOrEqual(24)
    expect(still.gpuCount).toBe(still.freshGpus)
    expect(created(4).created).toBeLessThanOrEqual(18)
    const dear = created(1, 3)
    const moved = dear.created + 3 * (dear.gpuCount - dear.freshGpus)
    expect(dear.gpuCount).toBeGreaterThan(dear.freshGpus)
    expect(moved).toBeLessThan(still.created)
    expect(created(1, 1000).gpuCount).toBe(still.gpuCount)
    expect(() => created(1, -1)).toThrow(/movesPerGpu/)
  })

  it('changes nothing where nothing changed', () => {
    fc.assert(
      fc.property(arbitraryServices, ({ profiles, objectives }) => {
        const { gpus } = planHeuristically(profiles, objectives)
        const next = replan(gpus, profiles, objectives)
        expect(next.steps.filter(({ kind }) => kind !== 'remove')).toEqual([])
        expect(next.gpuCount).toBeLessThanOrEqual(gpus.length)
      }),
      { numRuns: 30, seed: 12 },
    )
  })

  const profiles: ServiceProfile[] = ['a', 'b'].map((model) => ({
    model,
    points: ([1, 2, 3, 4, 7] as const).flatMap((sizeGpcs) =>
      [4, 16].map((batchSize) => ({
        sizeGpcs,
        batchSize,
        processes: 1,
        processThroughput: sizeGpcs * (batchSize === 4 ? 80 : 100),
        latencyMs: batchSize === 4 ? 10 : 40,
      })),
    ),
  }))
  const segment = (model: string, sizeGpcs: PlannedSegment['sizeGpcs'], start: number, batchSize = 16) => ({
    model,
    sizeGpcs,
    start,
    batchSize,
    processes: 1,
  })

  it('adds a segment beside the others when a rate rises', () => {
    const current = [{ index: 0, segments: [segment('a', 1, 6), segment('b', 2, 0)] }]
    const next = replan(current, profiles, [
      { model: 'a', ratePerS: 180, latencyMs: 100 },
      { model: 'b', ratePerS: 200, latencyMs: 100 },
    ])
    expect(next).toMatchObject({ created: 1, kept: 2, removed: 0, restarted: 0, gpuCount: 1, reconfiguredGpus: 1 })
  })

  it('restarts in place when a latency tightens, and says that the service is short meanwhile', () => {
    const current = [{ index: 3, segments: [segment('a', 2, 0)] }]
    const next = replan(current, profiles, [{ model: 'a', ratePerS: 150, latencyMs: 50 }])
    expect(next).toMatchObject({ restarted: 1, created: 0, reconfiguredGpus: 0 })
    expect(next.steps).toMatchObject([
      { kind: 'restart', gpu: 3, segment: { batchSize: 4, start: 0 }, shortfall: { capacity: 0, needed: 150 } },
    ])
  })

  it('creates before it removes where there is room', () => {
    const current = [{ index: 0, segments: [segment('a', 1, 6)] }]
    const one: ServiceProfile = { model: 'a', points: profiles[0]!.points.filter(({ sizeGpcs }) => sizeGpcs !== 1) }
    const next = replan(current, [one], [{ model: 'a', ratePerS: 90, latencyMs: 100 }])
    expect(next.steps.map(({ kind, shortfall }) => [kind, shortfall])).toEqual([
      ['create', undefined],
      ['remove', undefined],
    ])
  })

  it('takes down what is no longer asked for', () => {
    const current = [{ index: 0, segments: [segment('a', 1, 6), segment('gone', 2, 0)] }]
    const next = replan(current, profiles, [{ model: 'a', ratePerS: 90, latencyMs: 100 }])
    expect(next.steps).toMatchObject([{ kind: 'remove', segment: { model: 'gone' } }])
  })

  it('refuses a map that cannot run, and too few GPUs', () => {
    const overlapping = [{ index: 0, segments: [segment('a', 4, 0), segment('b', 1, 1)] }]
    expect(() => replan(overlapping, profiles, [])).toThrow(/current map, GPU 0: got '1@1 overlaps 4@0/)
    const objectives = [{ model: 'a', ratePerS: 5000, latencyMs: 100 }]
    expect(() => replan([], profiles, objectives, { maxGpus: 2 })).toThrow(TooFewGpusError)
  })
})
