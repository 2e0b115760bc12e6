import type { Telemetry } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { RunRecorder } from '../src/evaluate/index.js'

const telemetry: Telemetry = {
  timeMs: 0,
  powerAverageW: 99,
  powerInstantW: null,
  energyJ: null,
  smClockMhz: 900,
  memClockMhz: 1215,
  smUtilPercent: null,
  memUtilPercent: null,
  temperatureC: null,
  memoryUsedBytes: null,
  clocksEventReasons: [],
}

const sample = (timeMs: number): RunEvent => ({
  timeMs,
  type: 'sample',
  telemetry,
  powerCapW: 150,
  reconfiguring: false,
  smClockRefusedMs: 0,
  failures: [],
  inForce: { smClockMhz: 900, memClockMhz: 1215, powerLimitW: 250 },
  completed: timeMs,
})

describe('RunRecorder', () => {
  it('makes the true power of what the energy grew by since the reading before', () => {
    let energyJ = 1000
    const recorder = new RunRecorder(() => energyJ)
    for (const [timeMs, addedJ] of [
      [100, 10],
      [300, 30],
      [400, 5],
    ] as const) {
      energyJ += addedJ
      recorder.add(sample(timeMs))
    }
    const { power, durationMs, completed } = recorder.recording()
    expect(power.trueW!.map((watts) => Math.round(watts))).toEqual([100, 150, 50])
    expect(power.sensorW).toEqual([99, 99, 99])
    expect(durationMs).toBe(400)
    expect(completed).toEqual([100, 300, 400])
  })

  it('knows no true power of a board that tells none', () => {
    const recorder = new RunRecorder()
    recorder.add(sample(100))
    expect(recorder.recording().power.trueW).toBeUndefined()
  })

  it('counts what an action really changes', () => {
    const recorder = new RunRecorder()
    const tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 8 }
    const act = (timeMs: number, action: Extract<RunEvent, { type: 'action' }>['action']) =>
      recorder.add({ timeMs, type: 'action', action })
    act(0, { tenants: [tenant, tenant], smClockMhz: 900, memClockMhz: 1215, powerLimitW: 200 })
    act(1, { smClockMhz: 900, memClockMhz: 1215, powerLimitW: 200 })
    act(2, { smClockMhz: 915 })
    act(3, { tenants: [tenant, { ...tenant, batchSize: 16 }] })
    act(4, { tenants: [tenant, { ...tenant, mpsPercent: 40 }] })
    act(5, { tenants: [tenant] })
    expect(recorder.recording().actuations).toEqual([
      { timeMs: 0, kind: 'sm-clock' },
      { timeMs: 0, kind: 'mem-clock' },
      { timeMs: 0, kind: 'power-limit' },
      { timeMs: 0, kind: 'repartition' },
      { timeMs: 2, kind: 'sm-clock' },
      { timeMs: 3, kind: 'batch-sizes' },
      { timeMs: 4, kind: 'repartition' },
      { timeMs: 5, kind: 'repartition' },
    ])
  })
})
