import type { MeasuredWindow, RateValidity, Service, ServiceReading, Telemetry, Tenant } from '@pctodl/platform'

/**
 * Changes that a policy requests. A setting without a field stays as it is. `unlocked` lets the firmware choose the
 * clock.
 */
export interface Action {
  /** Tenants to run; an empty list ends all tenants. */
  readonly tenants?: readonly Tenant[]
  readonly smClockMhz?: number | 'unlocked'
  readonly memClockMhz?: number | 'unlocked'
  /** Board power limit, W, within the board's range. */
  readonly powerLimitW?: number
  /**
   * Purpose of the power limit. A `hardware-limit` is optional: if the board refuses it, the run continues and records
   * the refusal. A `cap` must be granted. Default `cap`.
   */
  readonly powerLimitRole?: 'cap' | 'hardware-limit'
  /** Share of each service's requests to admit, 0..1, by service name; the others are shed. Initially 1. */
  readonly admitted?: Readonly<Record<string, number>>
  /** Requests the settings even if they are recorded as in force, because the board may have lost them. */
  readonly again?: true
  /** Reason for the changes in one sentence, for the record of the run. */
  readonly reason?: string
}

/** Settings that the loop has applied. */
export interface AppliedState {
  readonly tenants: readonly Tenant[]
  /** Locked SM clock, MHz; null if the firmware chooses. */
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  readonly powerLimitW: number
}

/** One telemetry reading. The loop takes about ten a second, also while tenants load. */
export interface SampleObservation {
  /** Time since the run began, ms. */
  readonly timeMs: number
  readonly telemetry: Telemetry
  readonly powerCapW: number
  readonly applied: AppliedState
  /** Whether tenants are being started or restarted. */
  readonly reconfiguring: boolean
  /** Time for which the board has been refusing the requested SM clock, ms; 0 if it accepts the clock. */
  readonly smClockRefusedMs: number
  /** Tenants that have failed and do not run. */
  readonly failures: readonly TenantFailure[]
  /** Share of the running tenants that complete batches, 0..1; null if no tenant runs. */
  readonly activeShare?: number | null
  /** Time without a completed batch after which the slowest tenant counts as stalled, ms. */
  readonly stallNoticeMs?: number
  /** The board's power by another meter, W; null if there is no other meter or it has not answered yet. */
  readonly meterPowerW?: number | null
  /** Requests of each service so far; absent if the run has no services. */
  readonly services?: readonly ServiceReading[] | undefined
}

export interface TenantFailure {
  readonly tenant: Tenant
  readonly failure: string
}

export interface TenantWindow {
  readonly tenant: Tenant
  /**
   * Throughput in the window, samples/s. It is a lower bound if `validity` is not `ok`, and null if nothing is known.
   */
  readonly throughput: number | null
  /** Validity of the throughput; absent in records of earlier versions. */
  readonly validity?: RateValidity
  /** Mean latency of the batches completed in the window, ms; null if there were none. */
  readonly latencyMs: number | null
  /** Why the tenant failed; null if it runs. */
  readonly failure: string | null
}

/** Request counts of a service in one window. */
export interface ServiceWindow {
  readonly service: string
  readonly arrived: number
  /** Requests answered; `late` counts those of them that missed the objective. */
  readonly completed: number
  readonly late: number
  readonly shed: number
  readonly failed: number
  /** Number of requests that wait at the end of the window. */
  readonly queued: number
  /** Quantiles of the time from arrival to answer, ms; null if no request was answered. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /**
   * Share of the decided requests that were answered within the objective, 0..1; null if no request was decided or the
   * service is new.
   */
  readonly attainment: number | null
}

/** A measuring window as policies observe it. */
export interface WindowObservation extends MeasuredWindow {
  /** Worst validity of the tenants; if not `ok`, the throughput is a lower bound. Absent in records of earlier versions. */
  readonly validity?: RateValidity
  readonly tenants: readonly TenantWindow[]
  /** Requests of each service; absent if the run has no services. */
  readonly services?: readonly ServiceWindow[]
  readonly applied: AppliedState
}

/** A decision of a policy, or an event that it noticed, with the reason. Plain JSON; `kind` names it. */
export interface Decision {
  readonly kind: string
  readonly reason: string
  readonly [detail: string]: unknown
}

/**
 * A power-capping algorithm as a state machine: the loop reports observations, and the policy answers with changes. A
 * policy does no I/O on boards, processes or clocks, so the same policy runs on simulated and real GPUs.
 */
export interface PowerCapPolicy {
  readonly name: string
  /**
   * Plans the first configuration under a cap.
   *
   * @throws InfeasibleCapError if the policy can tell that no configuration holds the cap
   */
  start(powerCapW: number): Action
  onCapChange(powerCapW: number, applied: AppliedState): Action | undefined
  /**
   * Called when services or objectives change. Required in a run whose services change. Removed services are still
   * served until the new tenants run.
   */
  onServicesChange?(services: readonly Service[], applied: AppliedState): Action | undefined
  onSample(sample: SampleObservation): Action | undefined
  onWindow(window: WindowObservation): Action | undefined
  /**
   * Called after each sample's action was carried out. Searches belong here, because they must not delay a clock
   * change. Each call may do a slice of work that is much shorter than the sample period.
   */
  onIdle?(timeMs: number, applied: AppliedState): Action | undefined
  /** Returns the decisions since the last call. */
  takeDecisions?(): readonly Decision[]
}
