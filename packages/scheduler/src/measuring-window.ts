import type { Telemetry, TenantCounters } from '@pctodl/platform'
import type { AppliedState, TenantWindow, WindowObservation } from './policy.js'

/**
 * One measuring window, common to all tenants: counters are read at its two edges, telemetry in between. A tenant that was
 * restarted inside the window counts from its own start.
 */
export class MeasuringWindow {
  readonly startMs: number
  readonly #before: ReadonlyMap<number, TenantCounters>
  /** The last counters seen of every process of the window, also of those that have ended since. */
  readonly #latest = new Map<number, TenantCounters>()
  readonly #power = new RunningMean()
  readonly #smClock = new RunningMean()
  readonly #memClock = new RunningMean()
  readonly #smUtil = new RunningMean()
  readonly #memUtil = new RunningMean()
  #reconfigured = false

  constructor(startMs: number, counters: readonly TenantCounters[]) {
    this.startMs = startMs
    this.#before = new Map(counters.map((counter) => [counter.id, counter]))
  }

  add(telemetry: Telemetry, counters: readonly TenantCounters[], reconfiguring: boolean): void {
    for (const counter of counters) this.#latest.set(counter.id, counter)
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
    const tenants = counters.map((counter) => this.#tenantWindow(counter, endMs))
    for (const counter of counters) this.#latest.set(counter.id, counter)
    let samples = 0
    for (const [id, latest] of this.#latest) samples += latest.samples - (this.#before.get(id)?.samples ?? 0)
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
      throughput: tenants.reduce((sum, tenant) => sum + tenant.throughput, 0),
      samples,
      tenants,
      applied,
      reconfigured: this.#reconfigured,
    }
  }

  #tenantWindow(after: TenantCounters, endMs: number): TenantWindow {
    const before = this.#before.get(after.id)
    const samples = after.samples - (before?.samples ?? 0)
    const batches = after.batches - (before?.batches ?? 0)
    const latencySumMs = after.latencySumMs - (before?.latencySumMs ?? 0)
    // Counters move in whole batches. From completion to completion no batch is cut by an edge; a process that completed
    // nothing before the window, or nothing within it, is measured over the window itself.
    const spanMs =
      before !== undefined && before.batches > 0 && batches > 0
        ? after.lastCompletionMs - before.lastCompletionMs
        : endMs - this.startMs
    return {
      tenant: after.tenant,
      throughput: spanMs > 0 ? (samples / spanMs) * 1000 : 0,
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
