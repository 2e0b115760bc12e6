import type { RateValidity, Service, ServiceReading, Telemetry, Tenant } from '@pctodl/platform'

/** What a policy asks for. A field that is absent stays as it is; `unlocked` hands the clock back to the firmware. */
export interface Action {
  /** Those that shall run; an empty list ends all of them. */
  readonly tenants?: readonly Tenant[]
  readonly smClockMhz?: number | 'unlocked'
  readonly memClockMhz?: number | 'unlocked'
  /** Board power limit, W, within the board's range. */
  readonly powerLimitW?: number
  /** A hardware limit is set where the board permits; where it refuses, the run goes on and its record says so. Default `cap`. */
  readonly powerLimitRole?: 'cap' | 'hardware-limit'
  /** Share of the requests of a service that is let in, 0..1, by its name; the others are shed. Services begin with 1. */
  readonly admitted?: Readonly<Record<string, number>>
  /** Ask the board also for what is in force already: it may have lost it. */
  readonly again?: true
  /** Why, in one sentence; goes into the record of the run. */
  readonly reason?: string
}

/** What the loop has applied so far. */
export interface AppliedState {
  readonly tenants: readonly Tenant[]
  /** Locked SM clock, MHz; null while the firmware chooses. */
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
  /** Tenants are being started or restarted. */
  readonly reconfiguring: boolean
  /** How long the board has been refusing the SM clock that was asked for, ms; 0 where it does not. */
  readonly smClockRefusedMs: number
  /** Tenants that are not running any more. */
  readonly failures: readonly TenantFailure[]
  /** Share of the running tenants that complete batches, 0..1; null where none runs. */
  readonly activeShare?: number | null
  /** Time after which the slowest tenant is missed when it stands still, ms. */
  readonly stallNoticeMs?: number
  /** What another meter says of the board's power, W; null where there is none or it has not answered. */
  readonly meterPowerW?: number | null
  /** What became of the requests of each service so far; absent where tenants run batch after batch. */
  readonly services?: readonly ServiceReading[]
}

export interface TenantFailure {
  readonly tenant: Tenant
  readonly failure: string
}

export interface TenantWindow {
  readonly tenant: Tenant
  /** Samples/s in the window; a lower bound where `validity` is not `ok`, null where not even that is known. */
  readonly throughput: number | null
  /** Whether the rate can be believed; absent in records of versions that did not say. */
  readonly validity?: RateValidity
  /** Mean latency of the batches completed in the window, ms; null where none was. */
  readonly latencyMs: number | null
  /** Why the tenant is not running, where it failed. */
  readonly failure: string | null
}

/** What became of the requests of a service in one window. */
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
  /** From arrival to answer, ms; null where nothing was answered. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** Share of what was decided that was answered in time, 0..1; null where nothing was, or the service is new. */
  readonly attainment: number | null
}

/** One closed measuring window, common to all tenants. A quantity of which no sample arrived is null. */
export interface WindowObservation {
  /** 1-based. */
  readonly iteration: number
  readonly startMs: number
  readonly endMs: number
  readonly powerCapW: number
  readonly powerAverageW: number | null
  readonly powerMaxW: number | null
  readonly smClockMhz: number | null
  readonly memClockMhz: number | null
  readonly smUtilPercent: number | null
  readonly memUtilPercent: number | null
  /** Samples/s over all tenants; a lower bound where `validity` is not `ok`. */
  readonly throughput: number
  /** The worst of the tenants'; absent in records of versions that did not say. */
  readonly validity?: RateValidity
  /** Samples completed in the window, also by processes that ended in it. */
  readonly samples: number
  readonly tenants: readonly TenantWindow[]
  /** Absent where tenants run batch after batch. */
  readonly services?: readonly ServiceWindow[]
  readonly applied: AppliedState
  /** Part of the window passed while tenants were being restarted, so its throughput is not the configuration's. */
  readonly reconfigured: boolean
}

/** What a policy decided or learnt, and why: plain JSON, named by `kind`. */
export interface Decision {
  readonly kind: string
  readonly reason: string
  readonly [detail: string]: unknown
}

/**
 * A power-capping algorithm as a state machine: the loop tells it what was seen, it answers with what to change. It never
 * touches a board, a process or a clock, so each runs unchanged on a simulated and on a real GPU.
 */
export interface PowerCapPolicy {
  readonly name: string
  /** Plan the first configuration under a cap. @throws InfeasibleCapError where the policy can tell that none exists */
  start(powerCapW: number): Action
  onCapChange(powerCapW: number, applied: AppliedState): Action | undefined
  /**
   * Other services are to be served from now on, or with other objectives. Needed where services change in a run; those that are
   * absent are served until the answer's tenants have taken over.
   */
  onServicesChange?(services: readonly Service[], applied: AppliedState): Action | undefined
  onSample(sample: SampleObservation): Action | undefined
  onWindow(window: WindowObservation): Action | undefined
  /**
   * Called once a sample, after its action has been carried out: the place for searches, which must not delay a clock. A
   * slice of work a call, well below the sample period.
   */
  onIdle?(timeMs: number, applied: AppliedState): Action | undefined
  /** What was decided since the last call. */
  takeDecisions?(): readonly Decision[]
}
