import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { fixedCap, type Telemetry, type TenantCounters, VirtualClock } from '@pctodl/platform'
import { runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { MeasuringWindow } from '../src/measuring-window.js'

const applied = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 300 }
const ORIGIN_MS = 1_000_000

/** A tenant with batches of 8 that take 40 ms each while it works: 200 samples/s. */
function counters(batches: number, lastCompletionMs: number, more: Partial<TenantCounters> = {}): TenantCounters {
  return {
    id: 1,
    tenant: { model: 'resnet50', mpsPercent: 50, batchSize: 8 },
    state: 'running',
    samples: 8 * batches,
    batches,
    latencySumMs: 40 * batches,
    lastCompletionMs: ORIGIN_MS + lastCompletionMs,
    lastBatchSize: batches > 0 ? 8 : 0,
    ...more,
  }
}

function telemetry(timeMs: number): Telemetry {
  return {
    timeMs: ORIGIN_MS + timeMs,
    powerAverageW: 200,
    powerInstantW: null,
    energyJ: null,
    smClockMhz: 1410,
    memClockMhz: 1215,
    smUtilPercent: 90,
    memUtilPercent: 30,
    temperatureC: 60,
    memoryUsedBytes: null,
    clocksEventReasons: [],
  }
}

/** A window from 5 to 10 s with these readings at its start, in between, and at its end. */
function windowOf(start: TenantCounters, end: TenantCounters, between: readonly [atMs: number, TenantCounters][] = []) {
  const window = new MeasuringWindow(5000, [start], ORIGIN_MS)
  for (const [atMs, counter] of between) window.add(telemetry(atMs), [counter], false)
  window.add(telemetry(10_000), [end], false)
  return window.close(2, 10_000, 250, [end], applied)
}

describe('a measuring window', () => {
  it('measures from completion to completion where all is well', () => {
    const window = windowOf(counters(125, 4990), counters(250, 9990))
    expect(window).toMatchObject({ throughput: 200, validity: 'ok', samples: 1000 })
    expect(window.tenants[0]).toMatchObject({ throughput: 200, validity: 'ok', latencyMs: 40 })
  })

  it.each([700, 1400, 3000])('gives a lower bound where a tenant stops %d ms before the end', (idleMs) => {
    const batches = Math.floor((5000 - idleMs) / 40)
    const window = windowOf(counters(125, 5000), counters(125 + batches, 5000 + 40 * batches))
    expect(window).toMatchObject({ validity: 'stalled', throughput: (8 * batches) / 5, samples: 8 * batches })
    expect(window.tenants[0]!.throughput).toBe((8 * batches) / 5)
  })

  it('marks a tenant that stalled in the midst of it and went on', () => {
    const hung = counters(150, 6000)
    const window = windowOf(counters(125, 5000), counters(200, 10_000), [[7500, hung]])
    expect(window.tenants[0]).toMatchObject({ validity: 'stalled', throughput: 120 })
    const reported = windowOf(counters(125, 5000), counters(250, 10_000), [
      [6500, counters(150, 6000, { state: 'stalled' })],
    ])
    expect(reported.validity).toBe('stalled')
  })

  it('does not call it a stall that a tenant prepares for another batch size', () => {
    const tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 16 }
    const prepares = counters(150, 6000, { tenant })
    const after = counters(250, 9990, { tenant, samples: 8 * 150 + 16 * 100, lastBatchSize: 16 })
    const within = windowOf(counters(125, 5000), after, [
      [7500, prepares],
      [9000, prepares],
    ])
    expect(within).toMatchObject({ validity: 'ok', samples: 8 * 25 + 16 * 100 })
    const atEnd = windowOf(counters(125, 5000), prepares, [[7500, prepares]])
    expect(atEnd).toMatchObject({ validity: 'too-short', throughput: 40, samples: 200 })
    // A worker that takes more than 15 s does not prepare any more.
    const tooLong = windowOf(counters(150, -7000, { tenant }), counters(150, -7000, { tenant }))
    expect(tooLong.validity).toBe('stalled')
  })

  it('knows nothing of counters that fall, at its edges or between', () => {
    const fallen = windowOf(counters(400, 4990), counters(200, 9990))
    expect(fallen).toMatchObject({ throughput: 0, samples: 0, validity: 'unknown' })
    expect(fallen.tenants[0]).toMatchObject({ throughput: null, validity: 'unknown', latencyMs: null })
    const dipped = windowOf(counters(125, 4990), counters(250, 9990), [
      [6000, counters(150, 5990)],
      [7000, counters(10, 6990)],
    ])
    expect(dipped).toMatchObject({ throughput: 0, samples: 0, validity: 'unknown' })
    expect(windowOf(counters(125, 4990), counters(Number.NaN, 9990)).validity).toBe('unknown')
  })

  it('has means and a highest of what was read, and none where nothing was', () => {
    const window = new MeasuringWindow(5000, [], ORIGIN_MS)
    const silent = {
      powerAverageW: null,
      smClockMhz: null,
      memClockMhz: null,
      smUtilPercent: null,
      memUtilPercent: null,
    }
    window.add({ ...telemetry(5100), ...silent }, [], false)
    const close = () => window.close(1, 10_000, 250, [], applied)
    const means = (told: WindowObservation) => [
      told.powerAverageW,
      told.powerMaxW,
      told.smClockMhz,
      told.memClockMhz,
      told.smUtilPercent,
      told.memUtilPercent,
    ]
    expect(means(close())).toEqual([null, null, null, null, null, null])
    for (const [timeMs, powerAverageW] of [
      [5200, -3],
      [5300, -1],
    ] as const) {
      window.add({ ...telemetry(timeMs), powerAverageW }, [], false)
      window.add({ ...telemetry(timeMs), ...silent }, [], false)
    }
    expect(means(close())).toEqual([-2, -1, 1410, 1215, 90, 30])
  })

  it('is too short for a batch that is longer than it', () => {
    const slow = { latencySumMs: 24_000 }
    const window = windowOf(counters(3, 4000, slow), counters(3, 4000, slow))
    expect(window).toMatchObject({ throughput: 0, validity: 'too-short' })
    expect(window.tenants[0]).toMatchObject({ throughput: null, validity: 'too-short', latencyMs: null })
  })

  it('counts a tenant that was restarted in it from its start, and says so', () => {
    const window = windowOf(counters(125, 4990), counters(50, 9990, { id: 2 }))
    expect(window).toMatchObject({ throughput: 80, validity: 'restarted' })
    const loading = windowOf(counters(125, 4990), counters(0, -ORIGIN_MS, { id: 2, state: 'loading' }))
    expect(loading).toMatchObject({ throughput: 0, validity: 'restarted' })
  })

  it('gives a failed tenant what it did over the whole window', () => {
    const window = windowOf(counters(125, 5000), counters(150, 6000, { state: 'failed', failure: 'killed' }))
    expect(window.tenants[0]).toMatchObject({ throughput: 40, validity: 'failed', failure: 'killed' })
  })

  it('marks the windows of a simulated board whose inference hangs, and no others', async () => {
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('A100', { clock })
    const windows: WindowObservation[] = []
    const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }]
    await runPolicy({
      gpu,
      pool: new SimulatedTenants(gpu),
      clock,
      policy: {
        name: 'fixed',
        start: () => ({ tenants, smClockMhz: 900 }),
        onCapChange: () => undefined,
        onSample: ({ timeMs }) => {
          if (timeMs === 18_000) gpu.strike({ kind: 'client-hung', atMs: 0 })
          return undefined
        },
        onWindow: () => undefined,
      },
      caps: fixedCap(300),
      iterations: 5,
      onWindow: (window) => windows.push(window),
    })
    expect(windows.slice(1).map(({ validity }) => validity)).toEqual(['ok', 'ok', 'stalled', 'stalled'])
  })
})
