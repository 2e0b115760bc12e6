import {
  assertServices,
  assertTenants,
  attainmentBetween,
  LatencyHistogram,
  type Service,
  type ServiceCounters,
  sameProcess,
  unaccountedRequests,
} from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const service: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 50 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 2,
}

const counters = (counts: Partial<ServiceCounters>): ServiceCounters => ({
  service: 'search',
  timeMs: 0,
  arrived: 0,
  completed: 0,
  late: 0,
  shed: 0,
  failed: 0,
  queued: 0,
  running: 0,
  latencies: new LatencyHistogram(),
  ...counts,
})

describe('assertServices', () => {
  it('takes what is a list of services', () => {
    expect(() => assertServices([service, { ...service, name: 'other', maxQueueDelayMs: 0 }])).not.toThrow()
  })

  it.each([
    ['name', { name: '' }],
    ['model', { model: 7 }],
    ['objective.p99Ms', { objective: { p99Ms: 0 } }],
    ['objective.p99Ms', { objective: undefined }],
    ['objective.p99Ms', { objective: { p99Ms: Number.NaN } }],
    ['weight', { weight: Number.POSITIVE_INFINITY }],
    ['weight', { weight: -1 }],
    ['maxBatchSize', { maxBatchSize: 1.5 }],
    ['maxQueueDelayMs', { maxQueueDelayMs: -1 }],
    ['maxQueueDelayMs', { maxQueueDelayMs: Number.POSITIVE_INFINITY }],
  ])('refuses a wrong %s by name: %j', (field, change) => {
    const wrong = { ...service, name: 'other', ...change } as Service
    expect(() => assertServices([service, wrong])).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', field: `services[1].${field}` }),
    )
  })

  it('refuses two services of one name, and none at all', () => {
    expect(() => assertServices([service, service])).toThrow('no other service has')
    expect(() => assertServices([])).toThrow('at least one')
    expect(() => assertServices([null as never])).toThrow('services[0]')
  })
})

it('a tenant may serve a service, which needs no other process', () => {
  const tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 8 }
  const serving = { ...tenant, service: 'search' }
  expect(() => assertTenants([serving])).not.toThrow()
  expect(() => assertTenants([{ ...tenant, service: '' }])).toThrow('tenants[0].service')
  expect(sameProcess(tenant, serving)).toBe(true)
})

describe('service counters', () => {
  it('say how many requests are not accounted for', () => {
    const whole = { arrived: 15, completed: 5, shed: 4, failed: 3, queued: 2, running: 1 }
    expect(unaccountedRequests(counters(whole))).toBe(0)
    expect(unaccountedRequests(counters({ ...whole, arrived: 16 }))).toBe(1)
    expect(unaccountedRequests(counters({ ...whole, running: 2 }))).toBe(-1)
  })

  it('give the share that was answered in time between two readings', () => {
    const earlier = counters({ completed: 100, late: 50 })
    expect(attainmentBetween(earlier, earlier)).toBeNull()
    expect(attainmentBetween(earlier, counters({ completed: 108, late: 51, shed: 1, failed: 1 }))).toBe(0.7)
  })
})
