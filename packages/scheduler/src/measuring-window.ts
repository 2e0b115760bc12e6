import {
  hasFallen,
  isStalled,
  type RateValidity,
  type Telemetry,
  type TenantCounters,
  tenantRate,
  worstValidity,
} from '@pctodl/platform'
import type { AppliedState, TenantWindow, WindowObservation } from './policy.js'

/**
 * One measuring window, common to all tenants. Counters are read at its two edges, and telemetry in between. A tenant
 * that restarted inside the window is counted from its own start. If a rate is doubtful, its `validity` says why, and
 * the rate is a lower bound or null.
 */
export class MeasuringWindow {
  readonly startMs: number
  /** Time on the counters' clock at which the run began, ms. */
  readonly #originMs: number
  readonly #before: ReadonlyMap<number, TenantCounters>
  /** Last counters of every process that ran in the window, including ended processes. */
  readonly #latest = new Map<number, TenantCounters>()
  readonly #power = new RunningMean()
  readonly #smClock = new RunningMean()
  readonly #memClock = new RunningMean()
  readonly #smUtil = new RunningMean()
  readonly #memUtil = new RunningMean()
  /**
   * Faults of a process seen inside the window (a stall or a fallen counter), by process id. Counters at the edges
   * alone do not show them.
   */
  readonly #seen = new Map<number, RateValidity>()
  #reconfigured = false

  constructor(startMs: number, counters: readonly TenantCounters[], originMs = 0) {
    this.startMs = startMs
    this.#originMs = originMs
    this.#before = new Map(counters.map((counter) => [counter.id, counter]))
  }

  add(telemetry: Telemetry, counters: readonly TenantCounters[], reconfiguring: boolean): void {
    for (const counter of counters) this.#look(counter, telemetry.timeMs)
    this.#power.add(telemetry.powerAverageW)
    this.#smClock.add(telemetry.smClockMhz)
    this.#memClock.add(telemetry.memClockMhz)
    this.#smUtil.add(telemetry.smUtilPercent)
    this.#memUtil.add(telemetry.memUtilPercent)
    this.#reconfigured ||= reconfiguring
  }

  close(
    iteration: number,
    endMs: number,
    powerCapW: number,
    counters: readonly TenantCounters[],
    applied: AppliedState,
  ): WindowObservation {
    for (const counter of counters) this.#look(counter, this.#originMs + endMs)
    const tenants = counters.map((counter) => this.#tenantWindow(counter, endMs))
    let samples = 0
    // A counter that fell gives no information, so its process counts as 0 samples.
    for (const [id, latest] of this.#latest) {
      if (this.#seen.get(id) !== 'unknown') samples += latest.samples - (this.#before.get(id)?.samples ?? 0)
    }
    return {
      iteration,
      startMs: this.startMs,
      endMs,
      powerCapW,
      powerAverageW: this.#power.mean,
      powerMaxW: this.#power.max,
      smClockMhz: this.#smClock.mean,
      memClockMhz: this.#memClock.mean,
      smUtilPercent: this.#smUtil.mean,
      memUtilPercent: this.#memUtil.mean,
      throughput: tenants.reduce((sum, tenant) => sum + (tenant.throughput ?? 0), 0),
      validity: worstValidity(tenants.map(({ validity = 'ok' }) => validity)),
      samples,
      tenants,
      applied,
      reconfigured: this.#reconfigured,
    }
  }

  #look(counter: TenantCounters, nowMs: number): void {
    const last = this.#latest.get(counter.id) ?? this.#before.get(counter.id)
    if (last && hasFallen(last, counter)) this.#seen.set(counter.id, 'unknown')
    else if (isStalled(counter, nowMs) && !this.#seen.has(counter.id)) this.#seen.set(counter.id, 'stalled')
    this.#latest.set(counter.id, counter)
  }

  #tenantWindow(after: TenantCounters, endMs: number): TenantWindow {
    const { samplesPerS, validity, batches, latencySumMs } = tenantRate(
      this.#before.get(after.id),
      after,
      this.#originMs + this.startMs,
      this.#originMs + endMs,
    )
    const seen = this.#seen.get(after.id) ?? 'ok'
    return {
      tenant: after.tenant,
      throughput: seen === 'unknown' ? null : samplesPerS,
      validity: worstValidity([validity, seen]),
      latencyMs: batches > 0 ? latencySumMs / batches : null,
      failure: after.state === 'failed' ? (after.failure ?? 'failed') : null,
    }
  }
}

class RunningMean {
  #sum = 0
  #count = 0
  #max = Number.NEGATIVE_INFINITY

  add(value: number | null): void {
    if (value === null) return
    this.#sum += value
    this.#count++
    if (value > this.#max) this.#max = value
  }

  get mean(): number | null {
    return this.#count > 0 ? this.#sum / this.#count : null
  }

  get max(): number | null {
    return this.#count > 0 ? this.#max : null
  }
}
