import { SimulatedGpu, type SimulatedGpuOptions, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { type CapSchedule, capSchedule, fixedCap, VirtualClock } from '@pctodl/platform'
import { evaluate, RunRecorder, type StretchEvaluation } from '@pctodl/report/evaluate'
import { describe, expect, it } from 'vitest'
import { withModelError } from '../../../scripts/evaluation/misled-predictor.js'
import { PctodlPolicy, type PctodlPolicyOptions, type RunEvent, runPolicy } from '../src/index.js'

interface Case {
  readonly board: string
  readonly model: string
  readonly caps: CapSchedule
  readonly iterations: number
  /** On the predictor's power. */
  readonly factor?: number
  readonly faults?: SimulatedGpuOptions['faults']
  readonly policy?: Partial<PctodlPolicyOptions>
}

async function run({ board, model, caps, iterations, factor = 1, faults, policy }: Case) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, firmwareReads: 'sensor', ...(faults ? { faults } : {}) })
  const recorder = new RunRecorder()
  const events: RunEvent[] = []
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: new PctodlPolicy({
      predictor: withModelError(loadPerfModel(board), 100 * (factor - 1)),
      model,
      shadow: false,
      ...policy,
    }),
    caps,
    iterations,
    onEvent: (event) => {
      events.push(event)
      recorder.add(event)
    },
  })
  const decisions = events.flatMap((event) => (event.type === 'decision' ? [event.decision] : []))
  const stretch: StretchEvaluation = evaluate(recorder.recording(), { source: 'sensor' }).steady
  return { events, decisions, violationPercent: stretch.violationPercent ?? 0 }
}

describe('a hard cap, by the watts that the board reads', () => {
  it.each([0.5, 10, null])(
    'holds where the model is 35 percent too low, with a board limit %s percent above or none',
    async (hardwareLimitPercent) => {
      const { violationPercent, decisions } = await run({
        board: 'A100',
        model: 'resnet50',
        caps: fixedCap(160),
        iterations: 24,
        factor: 0.65,
        policy: { hardwareLimitPercent },
      })
      expect(violationPercent).toBeLessThanOrEqual(1)
      expect(decisions.some(({ kind, status }) => kind === 'clock-status' && status === 'settled')).toBe(true)
    },
  )

  it.each([2000, 5000])('holds with the clock alone while the load goes off and on every %d ms', async (halfMs) => {
    const faults = Array.from({ length: 12 }, (_, i) =>
      Array.from({ length: 48 }, (_, tenant) => ({
        kind: 'client-hung' as const,
        atMs: 30_000 + 2 * halfMs * i,
        durationMs: halfMs,
        tenant,
      })),
    ).flat()
    // Below the lowest limit of the board.
    const { violationPercent, events } = await run({
      board: 'A100',
      model: 'resnet50',
      caps: fixedCap(120),
      iterations: 16,
      faults: { faults },
    })
    expect(violationPercent).toBeLessThanOrEqual(1)
    expect(events.some((event) => event.type === 'sample' && event.activeShare === 0)).toBe(true)
  })

  it('keeps and uses a cap near the least that the tenants draw, with a model a fifth too low', async () => {
    const { events } = await run({
      board: '3080Ti',
      model: 'mnasnet1_0',
      caps: fixedCap(90),
      iterations: 12,
      factor: 0.8,
    })
    const { powerAverageW } = events.filter((event) => event.type === 'window').at(-1)!.window
    expect(powerAverageW).toBeLessThanOrEqual(90 * 1.01)
    expect(powerAverageW).toBeGreaterThanOrEqual(90 * 0.93)
  })

  it('says that a cap is not held which no board could hold', async () => {
    const { decisions, events } = await run({
      board: 'A100',
      model: 'resnet50',
      caps: capSchedule([
        { atMs: 0, powerCapW: 160 },
        { atMs: 20_000, powerCapW: 15 },
      ]),
      iterations: 24,
    })
    expect(decisions.map(({ kind }) => kind)).toContain('cap-not-held')
    const late = events.filter((event) => event.type === 'decision' && event.timeMs > 40_000)
    for (const event of late) if (event.type === 'decision') expect(event.decision['status']).not.toBe('settled')
  })

  it('starts no plan that runs out of memory', async () => {
    const { events } = await run({ board: '3080Ti', model: 'vgg19', caps: fixedCap(155), iterations: 4 })
    expect(events.filter((event) => event.type === 'tenant' && event.state === 'failed')).toEqual([])
  })

  it('lowers its target where the energy counter says that the reading is too low', async () => {
    const { decisions, events } = await run({
      board: 'A100',
      model: 'resnet50',
      caps: fixedCap(140),
      iterations: 16,
      faults: { faults: [{ kind: 'sensor-bias', atMs: 40_000, gainPercent: -6 }] },
    })
    expect(decisions.map(({ kind }) => kind)).toContain('power-readings-disagree')
    const last = events.filter((event) => event.type === 'window').at(-1)!
    expect(last.window.powerAverageW).toBeLessThan(0.96 * 140)
  })
})
