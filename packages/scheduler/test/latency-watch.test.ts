import { loadPerfModel } from '@pctodl/perf-model'
import { describe, expect, it } from 'vitest'
import { PctodlPolicy, type WindowObservation } from '../src/index.js'
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

  it('shortens the batches that take too long, and leaves the others', () => {
    const watch = new LatencyWatch(() => 100)
    const [late] = window(104).tenants
    const [timely] = window(80).tenants
    const [single] = window(120).tenants
    const seen = { ...window(104), tenants: [late!, timely!] }
    expect(watch.shortened(seen)?.map(({ batchSize }) => batchSize)).toEqual([29, 32])
    const one = { ...single!, tenant: { ...single!.tenant, batchSize: 1 } }
    expect(watch.shortened({ ...seen, tenants: [late!, one] })).toBeUndefined()
  })
})

describe('a latency objective that a plan misses', () => {
  const objectiveMs = 80
  const policy = () =>
    new PctodlPolicy({
      predictor: loadPerfModel('3080Ti'),
      model: 'vgg19',
      partition: { latencySloMs: objectiveMs },
      shadow: false,
    })
  /** What it answers where the first tenant takes so much of the objective, and the others less. */
  const answer = (share: number) => {
    const asked = policy()
    const { tenants } = asked.start(155)
    const of = (i: number) => (i === 0 ? share : 0.8) * objectiveMs
    const seen = tenants!.map((tenant, i) => ({ tenant, throughput: 1, latencyMs: of(i), failure: null }))
    const action = asked.onWindow({ reconfigured: false, tenants: seen, endMs: 10_000 } as unknown as WindowObservation)
    return { before: tenants!, action }
  }

  it('by little is kept by smaller batches of the late tenants, so that nothing restarts', () => {
    const { before, action } = answer(1.05)
    expect(before.length).toBeGreaterThan(1)
    const [late, ...others] = action!.tenants!
    expect(late!.batchSize).toBeLessThan(before[0]!.batchSize)
    expect(late!.mpsPercent).toBe(before[0]!.mpsPercent)
    expect(others).toEqual(before.slice(1))
    expect(answer(0.9).action).toBeUndefined()
  })

  it('by much asks for another plan', () => {
    expect(answer(1.5).action).toBeUndefined()
  })
})
