import type { Predictor } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import type { SampleObservation } from '../policy.js'

/** Tenants are stopped if the board exceeds the cap and has refused the SM clock for this time. */
const SHED_AFTER_MS = 300
/** A one-second mean above this share of the cap breaks it. */
const SHED_ABOVE = 1.01
/** Instant readings scatter, so they must have been above for this time. */
const ABOVE_MS = 200
/** Time for stopped tenants to show in a one-second mean; next, in an instant reading, ms. */
const AVERAGE_SHOWS_MS = 1300
const INSTANT_SHOWS_MS = 400
/**
 * Time for which the clock must have been accepted before stopped tenants return, ms; doubled each time that they had
 * to stop again soon.
 */
const TAKEN_MS = 500
const LONGEST_TAKEN_MS = 30_000
/** Remaining tenants are planned for this share of the cap, because the power ratio was measured with more tenants. */
const SHED_TARGET = 0.97

interface Clocks {
  readonly smClockMhz: number
  readonly memClockMhz: number
}

/** Last resort where a board draws too much and refuses its clock: fewer tenants, and all again once it accepts. */
export class LoadShedding {
  readonly #predictor: Predictor
  #all: readonly Tenant[] | undefined
  /** Power of all tenants, W, measured or estimated, at the refused clock, MHz. */
  #allW = 0
  #allMhz = 0
  /** The cap at that time, W. */
  #allCapW = 0
  #restedMs = 0
  /** Start of the time in which all instant readings were above the cap; null on a board without them. */
  #aboveMs: number | undefined | null = null
  /** Time of the last refusal. */
  #refusedMs = 0
  #backMs = Number.NEGATIVE_INFINITY
  #takenMs = TAKEN_MS

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
    if (this.#all && timeMs - this.#refusedMs >= this.#takenMs) {
      const all = this.#all
      this.#all = undefined
      this.#backMs = timeMs
      return { tenants: all, reason: 'the board takes its clock again: all tenants back' }
    }
    const back = this.#all
    const isHigher = powerCapW > this.#allCapW && telemetry.smClockMhz === this.#allMhz
    if (back && isHigher && this.#allW <= SHED_TARGET * powerCapW) {
      this.#all = undefined
      this.#backMs = timeMs
      return {
        tenants: back,
        reason: 'the cap is high enough for all tenants at the clock that the board runs: all back',
      }
    }
    const { powerAverageW, powerInstantW = null } = telemetry
    this.#watchInstant(timeMs, powerInstantW, powerCapW)
    const rested = timeMs >= this.#restedMs
    // The effect of stopped tenants must show before more are stopped.
    const restMs = delayMs + (this.#aboveMs === null ? AVERAGE_SHOWS_MS : INSTANT_SHOWS_MS)
    if (reconfiguring) this.#restedMs = timeMs + restMs
    const smClockMhz = applied.smClockMhz ?? telemetry.smClockMhz
    if (smClockRefusedMs < SHED_AFTER_MS || smClockMhz === null || applied.tenants.length === 0) return undefined
    const clocks = { smClockMhz, memClockMhz }
    let ratio = powerRatio
    if (reconfiguring) {
      // Tenants are starting at another clock than planned, and no board limit holds the cap.
      if (applied.powerLimitW <= powerCapW) return undefined
    } else {
      if (!rested || powerAverageW === null || powerAverageW <= SHED_ABOVE * powerCapW) return undefined
      if (this.#aboveMs !== null && timeMs - (this.#aboveMs ?? timeMs) < ABOVE_MS) return undefined
      // An instant reading of 0 is not a reading.
      ratio = (powerInstantW || powerAverageW) / this.#predicted(tenants, clocks)
    }
    if (ratio * this.#predicted(tenants, clocks) <= SHED_ABOVE * powerCapW) return undefined
    const fitting = this.#withinCap(tenants, clocks, ratio, powerCapW)
    const kept = this.#keeps(fitting, clocks, ratio, powerCapW) ? fitting : []
    const stopped = tenants.length - kept.length
    if (this.#all === undefined) {
      const soon = timeMs - this.#backMs < LONGEST_TAKEN_MS
      this.#takenMs = soon ? Math.min(2 * this.#takenMs, LONGEST_TAKEN_MS) : TAKEN_MS
      this.#all = tenants
      this.#allW = ratio * this.#predicted(tenants, clocks)
      this.#allMhz = telemetry.smClockMhz ?? smClockMhz
      this.#allCapW = powerCapW
    }
    this.#restedMs = timeMs + restMs
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

  #watchInstant(timeMs: number, powerInstantW: number | null, powerCapW: number): void {
    // A lost reading says nothing.
    if (powerInstantW === null || !(powerInstantW > 0)) return
    if (powerInstantW <= SHED_ABOVE * powerCapW) this.#aboveMs = undefined
    else this.#aboveMs ??= timeMs
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
