import type { Predictor } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import type { Candidate } from '../neighbourhood.js'
import type { ClockPlan } from '../plan-clocks.js'
import type { SampleObservation } from '../policy.js'

/** Tenants are stopped if power is above the cap and the board has refused the SM clock for this time, ms. */
const SHED_AFTER_MS = 300
/** The cap counts as exceeded if the one-second mean power is above this multiple of the cap. */
const SHED_ABOVE = 1.01
/** Time after which the one-second mean contains only the remaining tenants' power, ms; the sensor delay is added. */
const SHOWS_MS = 1300
/** Stopped tenants return after the board has accepted the clock for this time, ms. */
const ACCEPTED_MS = 500
/**
 * The predicted power of the remaining tenants must be within this share of the cap. It is below 1 because the power
 * ratio was measured with more tenants.
 */
const SHED_TARGET = 0.97

/**
 * Last resort if the board exceeds the cap and refuses the SM clock: stops tenants, and restarts them when the board
 * accepts clocks again.
 */
export class LoadShedding {
  readonly #predictor: Predictor
  /** The tenants before some were stopped; undefined if none is stopped. */
  #all: readonly Tenant[] | undefined
  /** Time from which the one-second mean contains only the present tenants, ms. */
  #restedMs = 0
  /** Time of the last refusal of the clock, ms. */
  #refusedMs = 0

  constructor(predictor: Predictor) {
    this.#predictor = predictor
  }

  /** Whether some tenants are stopped. */
  get active(): boolean {
    return this.#all !== undefined
  }

  /**
   * @param powerRatio measured power divided by predicted power
   * @param delayMs sensor delay, ms
   * @returns the tenants to run from now on, or undefined if they do not change; the list is empty if even one tenant
   * would exceed the cap
   */
  step(
    sample: SampleObservation,
    { tenants, memClockMhz }: Candidate,
    powerRatio: number,
    delayMs: number,
  ): { readonly tenants: readonly Tenant[]; readonly reason: string } | undefined {
    const { timeMs, telemetry, powerCapW, applied, smClockRefusedMs, reconfiguring } = sample
    if (smClockRefusedMs > 0) this.#refusedMs = timeMs
    if (this.#all && timeMs - this.#refusedMs >= ACCEPTED_MS) {
      const all = this.#all
      this.#all = undefined
      return { tenants: all, reason: 'the board accepts clocks again: all tenants restart' }
    }
    const restsAtMs = timeMs + delayMs + SHOWS_MS
    if (reconfiguring) this.#restedMs = restsAtMs
    const smClockMhz = applied.smClockMhz ?? telemetry.smClockMhz
    if (smClockRefusedMs < SHED_AFTER_MS || smClockMhz === null || applied.tenants.length === 0) return undefined
    // While tenants load, their power is not in the readings yet. The cap then counts as exceeded unless the board's
    // own power limit enforces it.
    const above = reconfiguring
      ? applied.powerLimitW > powerCapW
      : timeMs >= this.#restedMs && (telemetry.powerAverageW ?? 0) > SHED_ABOVE * powerCapW
    const clocks = { smClockMhz, memClockMhz }
    if (!above || powerRatio * this.#predicted(tenants, clocks) <= SHED_ABOVE * powerCapW) return undefined
    const fitting = this.#withinCap(tenants, clocks, powerRatio, powerCapW)
    const kept = this.#keeps(fitting, clocks, powerRatio, powerCapW) ? fitting : []
    this.#all ??= tenants
    this.#restedMs = restsAtMs
    const stopped = tenants.length - kept.length
    return { tenants: kept, reason: `the board is above the cap and refuses clocks: ${stopped} tenants stopped` }
  }

  /** Tenants to keep if neither the lowest clock nor any plan holds the cap; undefined if only one tenant is left. */
  fewer(
    tenants: readonly Tenant[],
    clocks: ClockPlan,
    measuredW: number,
    powerCapW: number,
  ): readonly Tenant[] | undefined {
    if (tenants.length <= 1) return undefined
    const kept = this.#withinCap(tenants, clocks, measuredW / this.#predicted(tenants, clocks), powerCapW)
    // At least one tenant stops, because measured power exceeds the cap even if the prediction does not.
    return kept.length < tenants.length ? kept : withoutSmallest(tenants)
  }

  #keeps(tenants: readonly Tenant[], clocks: ClockPlan, ratio: number, powerCapW: number): boolean {
    return this.#predicted(tenants, clocks) * ratio <= SHED_TARGET * powerCapW
  }

  /**
   * Stops the smallest tenants until the predicted power, times the ratio, is within the target. If no tenant alone is
   * within the target, it keeps the one with the lowest power.
   */
  #withinCap(tenants: readonly Tenant[], clocks: ClockPlan, ratio: number, powerCapW: number): readonly Tenant[] {
    let kept = tenants
    while (kept.length > 1 && !this.#keeps(kept, clocks, ratio, powerCapW)) kept = withoutSmallest(kept)
    if (this.#keeps(kept, clocks, ratio, powerCapW)) return kept
    const least = (a: Tenant, b: Tenant) => (this.#predicted([b], clocks) < this.#predicted([a], clocks) ? b : a)
    return [tenants.reduce(least)]
  }

  #predicted(tenants: readonly Tenant[], clocks: ClockPlan): number {
    return this.#predictor.predict({ tenants, ...clocks }).powerW
  }
}

/** Removes the tenant with the smallest share, because it loses the least throughput for the power saved. */
function withoutSmallest(tenants: readonly Tenant[]): readonly Tenant[] {
  const smallest = tenants.reduce((best, { mpsPercent }, i) => (mpsPercent < tenants[best]!.mpsPercent ? i : best), 0)
  return tenants.filter((_, i) => i !== smallest)
}
