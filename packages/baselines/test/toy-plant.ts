import { type GpuSpec, gpuSpecs } from '@pctodl/platform'
import type { Action, AppliedState, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { type BatchDvfsFigures, standardBatchLadder } from '../src/network-figures.js'

export const a100: GpuSpec = gpuSpecs['A100']!
export const rtx3080Ti: GpuSpec = gpuSpecs['3080Ti']!
export const toyFigures: BatchDvfsFigures = { alpha: 0.98, batchLadder: standardBatchLadder }

/** The synthetic plant of the golden vectors: board power, W. */
export function toyPower(smClockMhz: number, batchSize: number): number {
  const position = (smClockMhz - 210) / 1200
  const activity = 1 - Math.exp(-batchSize / 40)
  return 45 + activity * (30 + 175 * position ** 1.2)
}

export function applied(before: AppliedState, action: Action | undefined): AppliedState {
  const lock = (clock: number | 'unlocked' | undefined, old: number | null) =>
    clock === undefined ? old : clock === 'unlocked' ? null : clock
  return {
    tenants: action?.tenants ?? before.tenants,
    smClockMhz: lock(action?.smClockMhz, before.smClockMhz),
    memClockMhz: lock(action?.memClockMhz, before.memClockMhz),
    powerLimitW: action?.powerLimitW ?? before.powerLimitW,
  }
}

export const untouched: AppliedState = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 250 }

/** A window of five seconds in which a state was in force. */
export function windowOf(
  state: AppliedState,
  iteration: number,
  powerCapW: number,
  powerW: number | null,
  overrides: Partial<WindowObservation> = {},
): WindowObservation {
  return {
    iteration,
    startMs: (iteration - 1) * 5000,
    endMs: iteration * 5000,
    powerCapW,
    powerAverageW: powerW,
    powerMaxW: powerW,
    smClockMhz: state.smClockMhz,
    memClockMhz: state.memClockMhz,
    smUtilPercent: 90,
    memUtilPercent: 40,
    throughput: 1000,
    samples: 5000,
    tenants: state.tenants.map((tenant) => ({ tenant, throughput: 500, latencyMs: 5, failure: null })),
    applied: state,
    reconfigured: false,
    ...overrides,
  }
}

export function sampleOf(
  timeMs: number,
  powerAverageW: number | null,
  state: AppliedState,
  powerCapW: number,
): SampleObservation {
  return {
    timeMs,
    powerCapW,
    applied: state,
    reconfiguring: false,
    smClockRefusedMs: 0,
    failures: [],
    telemetry: {
      timeMs,
      powerAverageW,
      powerInstantW: null,
      energyJ: null,
      smClockMhz: state.smClockMhz,
      memClockMhz: state.memClockMhz,
      smUtilPercent: 90,
      memUtilPercent: 40,
      temperatureC: 60,
      memoryUsedBytes: 1e9,
      clocksEventReasons: [],
    },
  }
}

export interface Row {
  readonly clockMhz: number
  readonly batch: number
  readonly powerW: number
  readonly capW: number
}

/** Run a policy window by window on the synthetic plant; a new cap takes effect at the start of its window (0-based). */
export function runToy(policy: PowerCapPolicy, windows: number, caps: Readonly<Record<number, number>>): Row[] {
  let capW = caps[0]!
  let state = applied(untouched, policy.start(capW))
  const rows: Row[] = []
  for (let i = 0; i < windows; i++) {
    const capNow = caps[i] ?? capW
    if (capNow !== capW) {
      capW = capNow
      state = applied(state, policy.onCapChange(capW, state))
    }
    const batch = state.tenants[0]!.batchSize
    const powerW = toyPower(state.smClockMhz!, batch)
    rows.push({ clockMhz: state.smClockMhz!, batch, powerW, capW })
    state = applied(state, policy.onWindow(windowOf(state, i + 1, capW, powerW)))
  }
  return rows
}
