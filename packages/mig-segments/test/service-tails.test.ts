import { describe, expect, it } from 'vitest'
import type { PlannedSegment, ServiceProfile } from '../src/index.js'
import { tailsOf } from '../src/tail/service-tails.js'
import { withBatchRates } from '../src/tail/tail-points.js'

const points: ServiceProfile['points'] = [
  { sizeGpcs: 1, batchSize: 1, processes: 1, processThroughput: 100, latencyMs: 10 },
  { sizeGpcs: 2, batchSize: 1, processes: 1, processThroughput: 200, latencyMs: 5 },
  { sizeGpcs: 2, batchSize: 8, processes: 1, processThroughput: 200, latencyMs: 40 },
]
const profile = withBatchRates({ model: 'net', points })

const segmentAt = (index: number, start: number): PlannedSegment => {
  const { sizeGpcs, batchSize, processes, processThroughput, latencyMs } = profile.points[index]!
  return { model: 'net', sizeGpcs, start, batchSize, processes, throughput: processThroughput, latencyMs }
}

const tails = (segments: readonly PlannedSegment[], ratePerS: number, dispatch: 'shared' | 'split') => {
  const capacity = segments.reduce((sum, { throughput }) => sum + throughput, 0)
  const gpcs = segments.reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0)
  const served = [{ model: 'net', ratePerS, latencyMs: 100, segments: segments.length, gpcs, capacity }]
  return tailsOf({ gpus: [{ index: 0, segments }], served }, [profile], 1, dispatch)[0]!
}

describe('what is expected of a service with unlike segments', () => {
  const [fast, slow] = [segmentAt(0, 0), segmentAt(2, 2)]

  it('is of a queue that they share, with the batches of the slowest', () => {
    const both = tails([fast, slow], 30, 'shared')
    expect(both).toMatchObject({ workers: 2, utilisation: 0.1 })
    expect(both.p99Ms).toBeGreaterThanOrEqual(40)
    expect(tails([fast], 10, 'shared').p99Ms).toBeLessThan(40)
  })

  it('is of queues of their own what the worst of them gives, each with its part of the requests', () => {
    const both = tails([fast, slow], 150, 'split')
    const alone = [tails([fast], 50, 'split'), tails([slow], 100, 'split')]
    expect(both.p99Ms).toBe(Math.max(...alone.map(({ p99Ms }) => p99Ms)))
    expect(both.lateShare).toBe(Math.max(...alone.map(({ lateShare }) => lateShare)))
    expect(both.utilisation).toBeCloseTo(0.5, 9)
  })

  it('has no end where as much comes as is served', () => {
    expect(tails([fast], 100, 'shared').p99Ms).toBe(Number.POSITIVE_INFINITY)
  })
})
