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

  it('knows nothing where no tenant runs', () => {
    expect(new TenantActivity().update(0, []).activeShare).toBeNull()
  })
})
