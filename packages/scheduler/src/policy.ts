import type { MeasuredWindow, RateValidity, Service, ServiceReading, Telemetry, Tenant } from '@pctodl/platform'

/** Changes that a policy requests. An absent field stays as it is; `unlocked` returns the clock to the firmware. */
export interface Action {
  /** Tenants to run; an empty list ends all. */
  readonly tenants?: readonly Tenant[]
  readonly smClockMhz?: number | 'unlocked'
  readonly memClockMhz?: number | 'unlocked'
  /** Board power limit, W, within the board's range. */
  readonly powerLimitW?: number
  /**
   * Role of the limit: a hardware limit is set where the board permits it; if the board refuses, the run continues and
   * its record says so. Default `cap`.
   */
  readonly powerLimitRole?: 'cap' | 'hardware-limit'
  /** Admitted share of the requests of a service, 0..1, by name; the others are shed. Services start with 1. */
  readonly admitted?: Readonly<Record<string, number>>
  /** Request settings even if they seem to be in force; the board may have lost them. */
  readonly again?: true
  /** Reason in one sentence, for the record of the run. */
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

/** One telemetry reading, about ten a second, also while tenants load. */
export interface SampleObservation {
  /** Milliseconds since the run began. */
  readonly timeMs: number
  readonly telemetry: Telemetry
  readonly powerCapW: number
  readonly applied: AppliedState
  /** Whether tenants are being started or restarted. */
  readonly reconfiguring: boolean
  /** Time for which the board has been refusing the requested SM clock, ms; 0 if it does not. */
  readonly smClockRefusedMs: number
  /** Tenants that no longer run. */
  readonly failures: readonly TenantFailure[]
  /** Share of the running tenants that complete batches, 0..1; null where none runs. */
  readonly activeShare?: number | null
  /** Time after which a stall of the slowest tenant is noticed, ms. */
  readonly stallNoticeMs?: number
  /** Power of the board by another meter, W; null where there is none or it has not answered. */
  readonly meterPowerW?: number | null
  /** Requests of each service so far; absent where tenants run batch after batch. */
  readonly services?: readonly ServiceReading[]
}

export interface TenantFailure {
  readonly tenant: Tenant
  readonly failure: string
}

export interface TenantWindow {
  readonly tenant: Tenant
  /** Samples/s in the window; a lower bound if `validity` is not `ok`; null if nothing is known. */
  readonly throughput: number | null
  /** Validity of the rate; absent in records of earlier versions. */
  readonly validity?: RateValidity
  /** Mean latency of the batches completed in the window, ms; null if there were none. */
  readonly latencyMs: number | null
  /** Why the tenant does not run, if it failed. */
  readonly failure: string | null
}

/** Requests of a service in one window. */
export interface ServiceWindow {
  readonly service: string
  readonly arrived: number
  /** Requests answered; `late` of them missed the objective. */
  readonly completed: number
  readonly late: number
  readonly shed: number
  readonly failed: number
  /** Requests that wait at its end. */
  readonly queued: number
  /** From arrival to answer, ms; null if nothing was answered. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** Share of the decided requests answered in time, 0..1; null if there were none or the service is new. */
  readonly attainment: number | null
}

/** One closed measuring window, common to all tenants. A quantity without samples is null. */
export interface WindowObservation extends MeasuredWindow {
  /** Worst validity of the tenants; if not `ok`, the throughput is a lower bound. Absent in records of earlier versions. */
  readonly validity?: RateValidity
  readonly tenants: readonly TenantWindow[]
  /** Absent where tenants run batch after batch. */
  readonly services?: readonly ServiceWindow[]
  readonly applied: AppliedState
}

/** A decision or observation of a policy, with its reason: plain JSON, named by `kind`. */
export interface Decision {
  readonly kind: string
  readonly reason: string
  readonly [detail: string]: unknown
}

/**
 * A power-capping algorithm as a state machine: the loop reports what it observes, and the policy answers with changes.
 * It never touches a board, a process or a clock, so the same policy runs on simulated and real GPUs.
 */
export interface PowerCapPolicy {
  readonly name: string
  /** Plan the first configuration under a cap. @throws InfeasibleCapError where the policy can tell that none exists */
  start(powerCapW: number): Action
  onCapChange(powerCapW: number, applied: AppliedState): Action | undefined
  /**
   * Services or objectives change. Required where services change in a run. Services that leave are served until the
   * new tenants have taken over.
   */
  onServicesChange?(services: readonly Service[], applied: AppliedState): Action | undefined
  onSample(sample: SampleObservation): Action | undefined
  onWindow(window: WindowObservation): Action | undefined
  /**
   * Called after each sample's action was carried out: the place for searches, which must not delay a clock. Each call
   * may do a slice of work well below the sample period.
   */
  onIdle?(timeMs: number, applied: AppliedState): Action | undefined
  /** Decisions since the last call. */
  takeDecisions?(): readonly Decision[]
}
