import type { Predictor } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import type { SampleObservation } from '../policy.js'

/** Tenants are stopped if the board exceeds the cap and has refused the SM clock for this time. */
const SHED_AFTER_MS = 300
/** A one-second mean above this share of the cap breaks it. */
const SHED_ABOVE = 1.01
/** Time for stopped tenants to show in a one-second mean, ms. */
const SHOWS_MS = 1300
/** Time for which the clock must have been accepted before stopped tenants return, ms. */
const TAKEN_MS = 500
/** Remaining tenants are planned for this share of the cap, because the power ratio was measured with more tenants. */
const SHED_TARGET = 0.97

interface Clocks {
  readonly smClockMhz: number
  readonly memClockMhz: number
}

/** Last resort where a board draws too much and refuses its clock: fewer tenants, and all again once it accepts. */
export class LoadShedding {
  readonly #predictor: Predictor
  /** All tenants, while some are stopped. */
  #all: readonly Tenant[] | undefined
  /** Time from which a mean shows the present tenants only. */
  #restedMs = 0
  /** Time of the last refusal. */
  #refusedMs = 0

  constructor(predictor: Predictor) {
    this.#predictor = predictor
  }

  /** Whether some tenants are stopped. */
  get active(): boolean {
    return this.#all !== undefined
  }

  /**
   * @param powerRatio measured power over the predictor's
   * @param delayMs of the readings
   * @returns the tenants to run from now on, where these change; none where even one would draw too much
   */
  step(
    sample: SampleObservation,
    tenants: readonly Tenant[],
    memClockMhz: number,
    powerRatio: number,
    delayMs: number,
  ): { readonly tenants: readonly Tenant[]; readonly reason: string } | undefined {
    const { timeMs, telemetry, powerCapW, applied, smClockRefusedMs, reconfiguring } = sample
    if (smClockRefusedMs > 0) this.#refusedMs = timeMs
    if (this.#all && timeMs - this.#refusedMs >= TAKEN_MS) {
      const all = this.#all
      this.#all = undefined
      return { tenants: all, reason: 'the board takes its clock again: all tenants back' }
    }
    const restsAtMs = timeMs + delayMs + SHOWS_MS
    if (reconfiguring) this.#restedMs = restsAtMs
    const smClockMhz = applied.smClockMhz ?? telemetry.smClockMhz
    if (smClockRefusedMs < SHED_AFTER_MS || smClockMhz === null || applied.tenants.length === 0) return undefined
    // Tenants that start at another clock than planned are not read yet, and the board's limit may hold the cap.
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
    return { tenants: kept, reason: `the board refuses its clock above the cap: ${stopped} tenants stopped` }
  }

  /** Tenants to keep where neither the lowest clock nor any plan holds the cap; undefined if one is left. */
  fewer(
    tenants: readonly Tenant[],
    clocks: Clocks,
    measuredW: number,
    powerCapW: number,
  ): readonly Tenant[] | undefined {
    if (tenants.length <= 1) return undefined
    const kept = this.#withinCap(tenants, clocks, measuredW / this.#predicted(tenants, clocks), powerCapW)
    // At least one leaves, because the prediction for all of them did not hold the cap.
    return kept.length < tenants.length ? kept : withoutSmallest(tenants)
  }

  #keeps(tenants: readonly Tenant[], clocks: Clocks, ratio: number, powerCapW: number): boolean {
    return this.#predicted(tenants, clocks) * ratio <= SHED_TARGET * powerCapW
  }

  /**
   * Tenants whose predicted power, times a ratio, is within the cap. At least one stays, the one with the least power.
   */
  #withinCap(tenants: readonly Tenant[], clocks: Clocks, ratio: number, powerCapW: number): readonly Tenant[] {
    let kept = tenants
    while (kept.length > 1 && !this.#keeps(kept, clocks, ratio, powerCapW)) kept = withoutSmallest(kept)
    if (this.#keeps(kept, clocks, ratio, powerCapW)) return kept
    const least = (a: Tenant, b: Tenant) => (this.#predicted([b], clocks) < this.#predicted([a], clocks) ? b : a)
    return [tenants.reduce(least)]
  }

  #predicted(tenants: readonly Tenant[], clocks: Clocks): number {
    return this.#predictor.predict({ tenants, ...clocks }).powerW
  }
}

/** The smallest leave first: they cost the least throughput for the power they free. */
function withoutSmallest(tenants: readonly Tenant[]): readonly Tenant[] {
  const smallest = tenants.reduce((best, { mpsPercent }, i) => (mpsPercent < tenants[best]!.mpsPercent ? i : best), 0)
  return tenants.filter((_, i) => i !== smallest)
}
