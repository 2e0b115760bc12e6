import { SimulatedGpu, type SimulatedGpuOptions, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { capSchedule, fixedCap, VirtualClock } from '@pctodl/platform'
import { RunRecorder } from '@pctodl/report/evaluate'
import { describe, expect, it } from 'vitest'
import {
  PctodlPolicy,
  type PctodlPolicyOptions,
  type RunEvent,
  type RunOptions,
  replayRun,
  runPolicy,
} from '../src/index.js'

const predictor = loadPerfModel('3080Ti')
const policyFor = (options: Partial<PctodlPolicyOptions> = {}) =>
  new PctodlPolicy({ predictor, model: 'resnet50', partition: { budgetEvaluations: 500 }, ...options })

/** A run whose record went through JSON lines, as a file would hold it. */
async function recorded(
  board: Partial<SimulatedGpuOptions>,
  run: Partial<RunOptions>,
  policy: Partial<PctodlPolicyOptions> = {},
): Promise<RunEvent[]> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('3080Ti', { clock, ...board })
  const lines: string[] = []
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: policyFor(policy),
    caps: fixedCap(150),
    iterations: 6,
    onEvent: (event) => lines.push(JSON.stringify(event)),
    ...run,
  })
  return lines.map((line) => JSON.parse(line) as RunEvent)
}

const ofType = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type)
const actions = (events: readonly RunEvent[]) => ofType(events, 'action')

describe('the record of a run', () => {
  it('says what was seen, what was done and why, from the start to the end', async () => {
    const events = await recorded({}, { about: { task: 6 } })
    expect(events[0]).toMatchObject({ type: 'run-start', policy: 'pctodl', board: '3080Ti', about: { task: 6 } })
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'done', timeMs: 30_000 })
    expect(ofType(events, 'sample')).toHaveLength(300)
    expect(ofType(events, 'window')).toHaveLength(6)
    const [start, ...others] = actions(events)
    expect(start).toMatchObject({ source: 'start', action: { powerLimitW: 150, powerLimitRole: 'hardware-limit' } })
    expect(others.length).toBeGreaterThan(0)
    for (const { action } of others) expect(action.reason).toMatch(/\w/)
    expect(ofType(events, 'tenant').some(({ state }) => state === 'running')).toBe(true)
  })

  it('is replayed to the same decisions by a policy with the same options, whatever went wrong', async () => {
    const faults = {
      faults: [
        { kind: 'client-killed', atMs: 32_000 },
        { kind: 'telemetry-failing', atMs: 36_000, durationMs: 4000 },
        { kind: 'setter-refused', atMs: 43_000, durationMs: 6000 },
      ],
    } as const
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 45_000, powerCapW: 150 },
    ])
    const events = await recorded({ faults }, { caps, iterations: 22 })
    const same = replayRun(events, policyFor())
    expect(same.differences).toEqual([])
    expect(same).toMatchObject({ samples: 1100, windows: 22, actions: actions(events).length })
    expect(same.decisions).toBe(ofType(events, 'decision').length)
    const other = replayRun(events, policyFor({ hardwareLimitPercent: 10 }))
    expect(other.differences.length).toBeGreaterThan(0)
  })

  it('ends with the error of a run that failed', async () => {
    const events: RunEvent[] = []
    const faults = { faults: [{ kind: 'gpu-lost', atMs: 8000 }] } as const
    await expect(recorded({ faults }, { onEvent: (event) => events.push(event) })).rejects.toThrow('GPU')
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'failed' })
  })
})

describe('a board that refuses', () => {
  const refusedFrom = (atMs: number, durationMs: number, setter?: 'sm-clock' | 'power-limit') => ({
    faults: [{ kind: 'setter-refused' as const, atMs, durationMs, ...(setter ? { setter } : {}) }],
  })

  it('a hardware limit that is not permitted is said in the record, and the run goes on', async () => {
    const faults = { faults: [{ kind: 'setter-refused' as const, atMs: 0, setter: 'power-limit' as const }] }
    const events = await recorded({ faults }, { iterations: 8 })
    expect(ofType(events, 'refused')).toMatchObject([
      { setter: 'powerLimitW', role: 'hardware-limit', code: 'NO_PERMISSION', value: 150 },
    ])
    expect(events.at(-1)).toMatchObject({ outcome: 'done' })
  })

  it('stops tenants where the clock cannot follow a step down, and starts them again', async () => {
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 30_000, powerCapW: 150 },
    ])
    const clock = new VirtualClock()
    const gpu = new SimulatedGpu('3080Ti', { clock, faults: refusedFrom(28_000, 10_000) })
    const recorder = new RunRecorder(() => gpu.truth().energyJ)
    const events: RunEvent[] = []
    await runPolicy({
      gpu,
      pool: new SimulatedTenants(gpu),
      clock,
      policy: policyFor({ shadow: false }),
      caps,
      iterations: 12,
      onEvent: (event) => {
        events.push(event)
        recorder.add(event)
      },
    })
    expect(ofType(events, 'refused').map(({ setter }) => setter)).toContain('smClockMhz')
    expect(ofType(events, 'granted').map(({ setter }) => setter)).toContain('smClockMhz')
    const changes = actions(events).filter(({ action }) => action.tenants)
    const counts = changes.map(({ action }) => action.tenants!.length)
    // Fewer and fewer, then all of them; a better plan for the lower cap may follow.
    const back = counts.indexOf(counts[0]!, 1)
    expect(back).toBeGreaterThanOrEqual(2)
    for (let i = 1; i < back; i++) expect(counts[i]).toBeLessThan(counts[i - 1]!)
    const { timeMs, trueW } = recorder.recording().power
    const late = timeMs.map((time, i) => (time > 34_500 && time <= 38_000 ? trueW![i]! : 0))
    expect(Math.max(...late)).toBeLessThan(155)
  })

  it('ends a run whose clock it refuses for half a minute', async () => {
    await expect(recorded({ faults: refusedFrom(0, 1e9, 'sm-clock') }, { iterations: 12 })).rejects.toThrow(
      'no permission to set the sm-clock',
    )
  })

  it('is asked again for a clock that it lost', async () => {
    const faults = {
      faults: [{ kind: 'setter-ignored' as const, atMs: 12_000, durationMs: 8000, setter: 'sm-clock' as const }],
    }
    const caps = capSchedule([
      { atMs: 0, powerCapW: 200 },
      { atMs: 14_000, powerCapW: 150 },
    ])
    // The clock is the only hold: with a limit at the cap, firmware would do what the clock does not.
    const events = await recorded({ faults }, { caps, iterations: 10 }, { shadow: false, hardwareLimitPercent: null })
    expect(actions(events).some(({ action }) => action.again)).toBe(true)
    const last = ofType(events, 'sample').at(-1)!
    expect(last.telemetry.smClockMhz).toBe(last.inForce.smClockMhz)
    expect(last.telemetry.powerAverageW).toBeLessThan(151)
  })
})

describe('tenants that die', () => {
  it('are started again at once, without the power rising above the cap', async () => {
    const faults = { faults: [{ kind: 'client-killed' as const, atMs: 20_000 }] }
    const events = await recorded({ faults }, { iterations: 8 }, { shadow: false })
    const revived = actions(events).find(({ action }) => action.reason?.startsWith('dead tenants'))!
    expect(revived.timeMs).toBeLessThan(20_500)
    const { failures } = ofType(events, 'sample').at(-1)!
    expect(failures).toEqual([])
    const powers = ofType(events, 'sample').map(({ telemetry }) => telemetry.powerAverageW ?? 0)
    // What a verdict calls above the cap: more than 1 %.
    expect(Math.max(...powers)).toBeLessThan(1.01 * 150)
  })
})
