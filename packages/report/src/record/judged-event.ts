import type { CapStep, Tenant } from '@pctodl/platform'
import type { RecordedWindow } from './run-record.js'

/** How a log begins. */
export interface RunStart {
  readonly timeMs: number
  readonly type: 'run-start'
  readonly version: 1
  readonly board: string
  readonly policy: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** What was to hold. Default: the caps of the samples. */
  readonly caps?: readonly CapStep[] | undefined
  /** Of windows that are cut from samples, ms. Default 5000. */
  readonly windowMs?: number | undefined
  /** Of it `dataset` and `backend` are shown. */
  readonly about?: Readonly<Record<string, unknown>> | undefined
}

/** One reading; it stands for the time since the one before. */
export interface JudgedSample {
  readonly timeMs: number
  readonly type: 'sample'
  /** In force when it was taken, W. */
  readonly powerCapW: number
  readonly telemetry: {
    /** W; null where it could not be read. */
    readonly powerAverageW: number | null
    readonly smClockMhz?: number | null | undefined
  }
  /** Samples of the tenants completed since the run began. */
  readonly completed: number
  /** Tenants were being restarted. */
  readonly reconfiguring?: boolean | undefined
}

export interface JudgedWindow {
  readonly timeMs: number
  readonly type: 'window'
  readonly window: Omit<RecordedWindow, 'startedAt' | 'tenants'> & {
    readonly tenants: readonly { readonly tenant: Tenant }[]
  }
}

export interface JudgedTenant {
  readonly timeMs: number
  readonly type: 'tenant'
  readonly state: string
  readonly failure?: string | undefined
}

export interface RunEnd {
  readonly timeMs: number
  readonly type: 'run-end'
  /** `done`, or how it ended otherwise. */
  readonly outcome: string
  readonly message?: string | undefined
}

/** What explains a run and does not judge it. */
export interface UnreadEvent {
  readonly timeMs: number
  readonly type: 'cap' | 'action' | 'decision' | 'refused' | 'granted' | 'services'
}

/** What judging a run reads of its events. Every `RunEvent` of `@pctodl/scheduler` is one; a log of one's own needs no more. */
export type JudgedEvent = RunStart | JudgedSample | JudgedWindow | JudgedTenant | RunEnd | UnreadEvent
