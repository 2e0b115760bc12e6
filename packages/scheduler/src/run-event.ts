import type { CapStep, Service, ServiceReading, Telemetry, Tenant, TenantState } from '@pctodl/platform'
import type { Action, AppliedState, Decision, TenantFailure, WindowObservation } from './policy.js'

/** Settings of a board that a policy can change. */
export type Setter = 'powerLimitW' | 'memClockMhz' | 'smClockMhz'

/** Policy method whose call led to an action. */
export type ActionSource = 'start' | 'cap-change' | 'services-change' | 'sample' | 'window' | 'idle'

export type RunEventBody =
  | {
      readonly type: 'run-start'
      readonly version: 1
      readonly policy: string
      readonly board: string
      readonly gpuUuid: string
      readonly startedAt: string
      readonly caps: readonly CapStep[]
      readonly windowMs: number
      readonly samplePeriodMs: number
      /** Power limit that the board had before the run, W. */
      readonly powerLimitW: number
      /** Tolerance for a sensor that reads low, percent. Policies get a cap that is lower by this percentage. */
      readonly sensorTolerancePercent?: number
      /** Anything that the caller adds to the record, e.g. command-line options. */
      readonly about?: Readonly<Record<string, unknown>>
      /** Services at the start; absent if the run has no services. */
      readonly services?: readonly Service[]
    }
  | { readonly type: 'services'; readonly services: readonly Service[] }
  | { readonly type: 'cap'; readonly powerCapW: number }
  | { readonly type: 'action'; readonly source: ActionSource; readonly action: Action }
  | { readonly type: 'decision'; readonly source: ActionSource; readonly decision: Decision }
  | {
      readonly type: 'refused'
      readonly setter: Setter
      /** Requested value; null requests an unlocked clock. */
      readonly value: number | null
      readonly code: string
      readonly message: string
      readonly role?: 'hardware-limit'
    }
  | { readonly type: 'granted'; readonly setter: Setter; readonly value: number | null }
  | {
      readonly type: 'tenant'
      readonly processId: number
      readonly tenant: Tenant
      readonly state: TenantState
      readonly failure?: string
    }
  | {
      readonly type: 'sample'
      readonly telemetry: Telemetry
      readonly powerCapW: number
      readonly reconfiguring: boolean
      readonly smClockRefusedMs: number
      readonly failures: readonly TenantFailure[]
      /** Settings in force at the time of the reading; a null clock is unlocked. */
      readonly inForce: Omit<AppliedState, 'tenants'>
      /** Number of samples completed since the run began. */
      readonly completed: number
      readonly activeShare?: number | null
      readonly stallNoticeMs?: number
      readonly meterPowerW?: number | null
      readonly services?: readonly ServiceReading[] | undefined
    }
  | { readonly type: 'window'; readonly window: WindowObservation }
  | { readonly type: 'run-end'; readonly outcome: 'done' | 'failed' | 'aborted'; readonly message?: string }

/**
 * One line of the record of a run: an observation, a decision with its reason, or the effect of a decision on the
 * board. Plain JSON.
 */
export type RunEvent = { readonly timeMs: number } & RunEventBody
