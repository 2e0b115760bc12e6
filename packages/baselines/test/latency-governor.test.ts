import type { Service } from '@pctodl/platform'
import type { ServiceWindow } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { LatencyGovernor, LimitPolicy } from '../src/index.js'
import { a100, applied, sampleOf, untouched, windowOf } from './toy-plant.js'

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 50 },
  weight: 1,
  maxBatchSize: 8,
  maxQueueDelayMs: 0,
}
const CAP_W = 200
const tenants = [{ model: 'resnet50', mpsPercent: 100, batchSize: 8, service: 'search' }]

function started() {
  const clocks = { memClockMhz: 1215, smClockMhz: 1395 }
  const policy = new LimitPolicy({
    name: 'latency-governor',
    spec: a100,
    services: [search],
    plan: () => ({ tenants, ...clocks }),
    planClocks: () => clocks,
    clock: new LatencyGovernor(),
  })
  return { policy, state: applied(untouched, policy.start(CAP_W)) }
}

const windowWith = (p99Ms: number | null, shed = 0, more: Partial<ServiceWindow> = {}): ServiceWindow => ({
  service: 'search',
  arrived: 100,
  completed: 100 - shed,
  late: 0,
  shed,
  failed: 0,
  queued: 0,
  p50Ms: p99Ms,
  p99Ms,
  attainment: 1,
  ...more,
})

describe('the latency governor', () => {
  it('finds the clock at which the p99 is between 0.7 and 0.9 of the objective, and rests there', () => {
    const { policy, state: first } = started()
    let state = first
    const clocks: number[] = []
    for (let i = 1; i <= 60; i++) {
      // A latency in inverse proportion to the clock.
      const services = [windowWith(25_000 / state.smClockMhz!)]
      state = applied(state, policy.onWindow(windowOf(state, i, CAP_W, 80, { services })))
      clocks.push(state.smClockMhz!)
    }
    const settled = clocks.at(-1)!
    expect(25_000 / settled / 50).toBeGreaterThanOrEqual(0.7)
    expect(25_000 / settled / 50).toBeLessThanOrEqual(0.9)
    expect(new Set(clocks.slice(-20))).toEqual(new Set([settled]))
  })

  it('goes up where the p99 is too near, where requests are turned away, and at once where a queue is long', () => {
    const low = () => {
      const { policy, state: first } = started()
      let state = first
      for (let i = 1; i <= 30; i++) {
        const services = [windowWith(1)]
        state = applied(state, policy.onWindow(windowOf(state, i, CAP_W, 80, { services })))
      }
      return { policy, state }
    }
    const rest = low().state.smClockMhz!
    expect(rest).toBeLessThan(700)
    const troubles = [
      windowWith(48),
      windowWith(5, 1),
      windowWith(5, 0, { failed: 1 }),
      windowWith(null, 0, { queued: 1 }),
    ]
    for (const services of troubles.map((window) => [window])) {
      const { policy, state } = low()
      const action = policy.onWindow(windowOf(state, 31, CAP_W, 80, { services }))
      expect(Number(action!.smClockMhz) / rest).toBeGreaterThan(1.15)
    }
    const { policy, state } = low()
    const counted = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, running: 0 }
    const waiting = (queued: number) => ({
      ...sampleOf(200_000, 80, state, CAP_W),
      services: [{ service: 'search', queued, ...counted }],
    })
    expect(policy.onSample(waiting(16))).toBeUndefined()
    expect(policy.onSample(waiting(17))).toEqual({ smClockMhz: 1410 })
  })

  it('leaves the cap to the board, and begins anew for other services', () => {
    const { policy, state } = started()
    expect(state.powerLimitW).toBe(CAP_W)
    expect(policy.onCapChange(170)).toMatchObject({ powerLimitW: 170 })
    expect(policy.onServicesChange([search])).toMatchObject({ tenants, powerLimitW: 170 })
    const reconfigured = windowOf(state, 1, CAP_W, 80, { services: [windowWith(90)], reconfigured: true })
    expect(policy.onWindow(reconfigured)).toBeUndefined()
  })
})
