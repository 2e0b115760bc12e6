import { describe, expect, it } from 'vitest'
import { isStalled, type TenantCounters, tenantRate } from '../src/index.js'

const counters = (more: Partial<TenantCounters>): TenantCounters => ({
  id: 1,
  tenant: { model: 'net', mpsPercent: 50, batchSize: 4 },
  state: 'running',
  samples: 0,
  batches: 0,
  latencySumMs: 0,
  lastCompletionMs: 0,
  lastBatchSize: 4,
  ...more,
})
const worked = counters({ samples: 40, batches: 10, latencySumMs: 1000, lastCompletionMs: 1000 })

describe('what a tenant completed between two edges', () => {
  it('is its batches over the time from completion to completion', () => {
    const after = counters({ samples: 80, batches: 20, latencySumMs: 2000, lastCompletionMs: 2000 })
    expect(tenantRate(worked, after, 1000, 2050)).toMatchObject({ samplesPerS: 40, validity: 'ok', batches: 10 })
  })

  it('is not known where no batch ended, which a longer window would mend', () => {
    expect(tenantRate(worked, worked, 1000, 1050)).toMatchObject({ samplesPerS: null, validity: 'too-short' })
  })

  it('is a lower bound where another process took its place, also before the first batch of that one', () => {
    const fresh = counters({ id: 2, lastCompletionMs: 1500 })
    expect(tenantRate(worked, fresh, 1000, 1600)).toMatchObject({ samplesPerS: 0, validity: 'restarted' })
    const later = counters({ id: 2, samples: 4, batches: 1, latencySumMs: 100, lastCompletionMs: 1600 })
    expect(tenantRate(worked, later, 1000, 1610)).toMatchObject({ validity: 'restarted', samples: 4 })
  })

  it('makes no sense where a pool does not count the size of the last batch', () => {
    const { lastBatchSize: _, ...older } = counters({
      samples: 80,
      batches: 20,
      latencySumMs: 2000,
      lastCompletionMs: 2000,
    })
    expect(tenantRate(worked, older as TenantCounters, 1000, 2050)).toMatchObject({ validity: 'unknown', samples: 0 })
  })

  it('is no stall where a worker prepares for another batch size, for 15 s', () => {
    const tenant = { ...worked.tenant, batchSize: 8 }
    const prepares = counters({ ...worked, tenant })
    expect(isStalled(prepares, 16_000)).toBe(false)
    expect(isStalled(prepares, 16_001)).toBe(true)
    expect(isStalled({ ...prepares, lastBatchSize: 8 }, 4000)).toBe(true)
    expect(isStalled({ ...prepares, tenant: { ...tenant, service: 'search' } }, 4000)).toBe(true)
    expect(isStalled({ ...prepares, state: 'stalled' }, 1000)).toBe(true)
    expect(isStalled({ ...prepares, state: 'failed' }, 1e6)).toBe(false)
  })

  it('makes no sense where a counter falls', () => {
    const after = counters({ samples: 4, batches: 1, latencySumMs: 100, lastCompletionMs: 2000 })
    expect(tenantRate(worked, after, 1000, 2000)).toMatchObject({ samplesPerS: null, validity: 'unknown', samples: 0 })
  })
})
