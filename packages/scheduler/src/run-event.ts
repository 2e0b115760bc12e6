import type { CapStep, Service, ServiceReading, Telemetry, Tenant, TenantState } from '@pctodl/platform'
import type { Action, AppliedState, Decision, TenantFailure, WindowObservation } from './policy.js'

/** What of a board a policy can set. */
export type Setter = 'powerLimitW' | 'memClockMhz' | 'smClockMhz'

/** Who asked for an action. */
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
      /** Board power limit as it was found, W. */
      readonly powerLimitW: number
      /** Share of the cap that policies were not told of, percent: room for what the sensor may read too little. */
      readonly sensorTolerancePercent?: number
      /** Whatever the caller wants to be kept with the record, e.g. the options of its command line. */
      readonly about?: Readonly<Record<string, unknown>>
      /** What is served at the begin; absent where tenants run batch after batch. */
      readonly services?: readonly Service[]
    }
  | { readonly type: 'services'; readonly services: readonly Service[] }
  | { readonly type: 'cap'; readonly powerCapW: number }
  | { readonly type: 'action'; readonly source: ActionSource; readonly action: Action }
  | { readonly type: 'decision'; readonly source: ActionSource; readonly decision: Decision }
  | {
      readonly type: 'refused'
      readonly setter: Setter
      /** What was asked for; null is an unlocked clock. */
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
      /** What is in force as the reading is taken; null is an unlocked clock. */
      readonly inForce: Omit<AppliedState, 'tenants'>
      /** Samples completed since the run began. */
      readonly completed: number
      readonly activeShare?: number | null
      readonly stallNoticeMs?: number
      readonly meterPowerW?: number | null
      readonly services?: readonly ServiceReading[]
    }
  | { readonly type: 'window'; readonly window: WindowObservation }
  | { readonly type: 'run-end'; readonly outcome: 'done' | 'failed' | 'aborted'; readonly message?: string }

/** One line of the record of a run: what was seen, what was decided and why, what the board made of it. Plain JSON. */
export type RunEvent = { readonly timeMs: number } & RunEventBody
