import type { FaultScenario } from '@pctodl/gpu-sim'
import type { SensorTrouble } from '../evaluation/misled-gpu.js'

/** What makes a run harder than the board by itself. */
export interface Disturbance {
  readonly name: string
  /** Error put on the predictor's power, percent. */
  readonly modelErrorPercent?: number
  /** Of the power readings. */
  readonly sensor?: SensorTrouble
  readonly faults?: FaultScenario
  /** Until then no setter is granted, ms: a cap step before it can settle only from then on. */
  readonly refusedUntilMs?: number
}

/** When faults strike, ms: in the steady state of a fixed cap, and across the first cap step of a schedule. */
const FAULT_MS = 90_000
const FIRST_STEP_MS = 250_000

export const undisturbed: Disturbance = { name: 'none' }

export function disturbances(scheduled: boolean): readonly Disturbance[] {
  const refusedMs = scheduled ? FIRST_STEP_MS - 2000 : FAULT_MS
  return [
    { name: 'model 20 % too low', modelErrorPercent: -20 },
    { name: 'model 20 % too high', modelErrorPercent: 20 },
    { name: 'sensor 1 s late', sensor: { lagMs: 1000 } },
    { name: '10 % of samples lost', sensor: { lostShare: 0.1 } },
    { name: 'a tenant dies', faults: { faults: [{ kind: 'client-killed', atMs: FAULT_MS, tenant: 0 }] } },
    {
      name: 'setters refused 10 s',
      faults: { faults: [{ kind: 'setter-refused', atMs: refusedMs, durationMs: 10_000 }] },
      refusedUntilMs: refusedMs + 10_000,
    },
  ]
}
