import type { TenantCounters } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { TenantActivity } from '../src/tenant-activity.js'

const counters = (id: number, batches: number): TenantCounters => ({
  id,
  tenant: { model: 'resnet50', mpsPercent: 50, batchSize: 8 },
  state: 'running',
  samples: 8 * batches,
  batches,
  latencySumMs: 100 * batches,
  lastCompletionMs: 0,
  lastBatchSize: 8,
})

describe('TenantActivity', () => {
  it('misses a tenant that stands still for longer than three of its batches, and no sooner', () => {
    const activity = new TenantActivity()
    const shareAt = (timeMs: number) =>
      activity.update(timeMs, [
        counters(1, Math.floor(timeMs / 100)),
        counters(2, Math.min(10, Math.floor(timeMs / 100))),
      ])
    for (let timeMs = 100; timeMs <= 1600; timeMs += 100) expect(shareAt(timeMs).activeShare).toBe(1)
    expect(shareAt(1700)).toEqual({ activeShare: 0.5, stallNoticeMs: 600 })
  })

  it('begins anew with a tenant that has not run meanwhile: before its first batches nothing is missed', () => {
    const activity = new TenantActivity()
    activity.update(0, [counters(1, 10)])
    activity.update(100, [{ ...counters(1, 10), state: 'loading' }])
    // Ten seconds later it runs again, with as many batches as before.
    expect(activity.update(10_000, [counters(1, 10)]).activeShare).toBe(1)
    expect(activity.update(10_600, [counters(1, 10)]).activeShare).toBe(1)
    expect(activity.update(10_700, [counters(1, 10)]).activeShare).toBe(0)
    // Nor is one missed that is gone, and another one is not taken for it.
    activity.update(10_800, [])
    expect(activity.update(20_000, [counters(1, 10)]).activeShare).toBe(1)
  })

  it('waits two seconds for a first batch', () => {
    const activity = new TenantActivity()
    for (const [timeMs, share] of [
      [0, 1],
      [2000, 1],
      [2001, 0],
    ] as const) {
      expect(activity.update(timeMs, [counters(1, 0)])).toEqual({ activeShare: share, stallNoticeMs: 2000 })
    }
  })

  it('knows nothing where no tenant runs', () => {
    expect(new TenantActivity().update(0, []).activeShare).toBeNull()
  })
})
