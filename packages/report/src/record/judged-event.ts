import type { CapStep, MeasuredWindow } from '@pctodl/platform'

/** First event of a log. */
export interface RunStart {
  readonly timeMs: number
  readonly type: 'run-start'
  readonly version: 1
  readonly board: string
  readonly policy: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** Caps of the run. Default: the caps of the samples. */
  readonly caps?: readonly CapStep[] | undefined
  /** Length of the windows that are cut from samples, ms. Default 5000. */
  readonly windowMs?: number | undefined
  /** `dataset` and `backend` in it are shown. */
  readonly about?: Readonly<Record<string, unknown>> | undefined
}

/** One reading; it stands for the time since the previous one. */
export interface JudgedSample {
  readonly timeMs: number
  readonly type: 'sample'
  /** Cap in force at the reading, W. */
  readonly powerCapW: number
  readonly telemetry: {
    /** W; null if it could not be read. */
    readonly powerAverageW: number | null
    readonly smClockMhz?: number | null | undefined
  }
  /** Samples that the tenants completed since the start of the run. */
  readonly completed: number
  /** Whether tenants were being restarted. */
  readonly reconfiguring?: boolean | undefined
}

export interface JudgedWindow {
  readonly timeMs: number
  readonly type: 'window'
  readonly window: MeasuredWindow
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
  /** `done`, or how the run ended otherwise. */
  readonly outcome: string
  readonly message?: string | undefined
}

/** Events that explain a run and do not affect its verdict. */
export interface UnreadEvent {
  readonly timeMs: number
  readonly type: 'cap' | 'action' | 'decision' | 'refused' | 'granted' | 'services'
}

/**
 * Events that a verdict reads. Every `RunEvent` of `@pctodl/scheduler` is one; other programs' logs need no more than
 * these.
 */
export type JudgedEvent = RunStart | JudgedSample | JudgedWindow | JudgedTenant | RunEnd | UnreadEvent
