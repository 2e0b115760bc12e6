import type { CapStep, MeasuredWindow, Tenant } from '@pctodl/platform'

/** First event of a log. */
export interface RunStart {
  readonly timeMs: number
  readonly type: 'run-start'
  readonly version: 1
  readonly board: string
  readonly policy: string
  /** Start of the run, ISO 8601 in UTC. */
  readonly startedAt: string
  /** Caps of the run. Default: the caps of its samples. */
  readonly caps?: readonly CapStep[] | undefined
  /** Length of the windows into which samples are grouped, ms. Default 5000. */
  readonly windowMs?: number | undefined
  /** Further labels. Reports show `dataset` and `backend`. */
  readonly about?: Readonly<Record<string, unknown>> | undefined
}

/** One telemetry reading. It stands for the time since the reading before. */
export interface JudgedSample {
  readonly timeMs: number
  readonly type: 'sample'
  /** Cap at the time of the reading, W. */
  readonly powerCapW: number
  readonly telemetry: {
    /** Power, W; null if it could not be read. */
    readonly powerAverageW: number | null
    readonly smClockMhz?: number | null | undefined
  }
  /** Number of samples that the tenants completed since the start of the run. */
  readonly completed: number
  /** Whether tenants were being restarted. */
  readonly reconfiguring?: boolean | undefined
}

/** Settings that a controller requested; an absent setting stays as it is. */
export interface ChangedSettings {
  readonly tenants?: readonly Tenant[]
  readonly smClockMhz?: number | 'unlocked'
  readonly memClockMhz?: number | 'unlocked'
  readonly powerLimitW?: number
}

/**
 * The events by which a run is judged. Every `RunEvent` of `@pctodl/scheduler` is one. Logs of other programs need only
 * the fields given here. The kinds without fields explain a run but do not affect its verdict.
 */
export type JudgedEvent =
  | RunStart
  | JudgedSample
  | ({ readonly timeMs: number } & (
      | { readonly type: 'window'; readonly window: MeasuredWindow }
      | { readonly type: 'tenant'; readonly state: string; readonly failure?: string | undefined }
      | { readonly type: 'action'; readonly action?: ChangedSettings }
      /** `outcome` is `done` if the run was completed; otherwise a word for how it ended. */
      | { readonly type: 'run-end'; readonly outcome: string; readonly message?: string | undefined }
      | { readonly type: 'cap' | 'decision' | 'refused' | 'granted' | 'services' }
    ))
