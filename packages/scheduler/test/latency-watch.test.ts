import { describe, expect, it } from 'vitest'
import type { WindowObservation } from '../src/index.js'
import { LatencyWatch } from '../src/pctodl/latency-watch.js'

const window = (latencyMs: number | null, reconfigured = false) =>
  ({
    reconfigured,
    tenants: [
      { tenant: { model: 'resnet50', mpsPercent: 50, batchSize: 32 }, throughput: 1, latencyMs, failure: null },
    ],
  }) as unknown as WindowObservation

describe('LatencyWatch', () => {
  it('asks for a plan as much shorter as batches were too long', () => {
    const watch = new LatencyWatch(() => 100)
    expect(watch.step(window(90))).toBeUndefined()
    expect(watch.scale).toBe(1)
    expect(watch.step(window(120))).toBeCloseTo(1.2)
    expect(watch.scale).toBeCloseTo(0.97 / 1.2)
    expect(watch.step(window(97))).toBeUndefined()
  })

  it('asks nothing of windows with restarts or without batches, nor where there is no objective', () => {
    const watch = new LatencyWatch(() => 100)
    expect(watch.step(window(500, true))).toBeUndefined()
    expect(watch.step(window(null))).toBeUndefined()
    expect(new LatencyWatch(() => Number.POSITIVE_INFINITY).step(window(1e9))).toBeUndefined()
  })

  it('gives up asking where even much shorter plans do not help', () => {
    const watch = new LatencyWatch(() => 100)
    let asked = 0
    for (let i = 0; i < 50; i++) if (watch.step(window(300)) !== undefined) asked++
    expect(asked).toBe(1)
    expect(watch.scale).toBe(0.4)
  })
})
