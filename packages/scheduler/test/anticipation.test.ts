import { type Fault, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { type CapSchedule, capSchedule, fixedCap, VirtualClock } from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { describe, expect, it } from 'vitest'
import { PctodlPolicy, type RunEvent, runPolicy } from '../src/index.js'

/** Below the lowest limit of the A100: nothing but the clock holds the cap. */
async function run(caps: CapSchedule, faults: readonly Fault[] = []) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('A100', { clock, faults: { faults } })
  const recorder = new RunRecorder()
  const events: RunEvent[] = []
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: new PctodlPolicy({ predictor: loadPerfModel('A100'), model: 'mobilenet_v2', shadow: false }),
    caps,
    iterations: 12,
    onEvent: (event) => {
      events.push(event)
      recorder.add(event)
    },
  })
  const lockedMhz = (beforeMs: number): number => {
    const last = events.findLast((event) => event.type === 'sample' && event.timeMs <= beforeMs)
    return last?.type === 'sample' ? last.inForce.smClockMhz! : Number.NaN
  }
  const starts = events.flatMap((event) =>
    event.type === 'action' && event.source !== 'start' && event.action.tenants
      ? [{ ...event.action, beforeMhz: lockedMhz(event.timeMs) }]
      : [],
  )
  return { starts, whole: evaluate(recorder.recording(), { source: 'sensor' }).whole }
}

describe('anticipation', () => {
  it('asks for a clock that keeps the cap in the same breath as for tenants that died and come back', async () => {
    const killed = [0, 1, 2, 3, 4, 5].map((tenant) => ({ kind: 'client-killed' as const, atMs: 20_000, tenant }))
    const again = killed.map((fault) => ({ ...fault, atMs: 30_000 }))
    const { starts, whole } = await run(fixedCap(110), [...killed, ...again])
    expect(starts.length).toBeGreaterThanOrEqual(2)
    for (const { smClockMhz, beforeMhz } of starts) expect(smClockMhz).toBeLessThanOrEqual(beforeMhz)
    expect(whole.violationPercent!).toBeLessThanOrEqual(1)
  })

  it('does so for the tenants and batches of a new plan', async () => {
    const caps = capSchedule([
      { atMs: 0, powerCapW: 70 },
      { atMs: 20_000, powerCapW: 140 },
    ])
    const { starts, whole } = await run(caps)
    expect(starts.length).toBeGreaterThanOrEqual(1)
    for (const { smClockMhz, beforeMhz } of starts) expect(smClockMhz).toBeLessThanOrEqual(beforeMhz)
    expect(whole.violationPercent!).toBeLessThanOrEqual(1)
  })
})
