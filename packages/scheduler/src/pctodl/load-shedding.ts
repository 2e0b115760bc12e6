import type { Predictor } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import type { SampleObservation } from '../policy.js'

/** The SM clock refused for so long: tenants are stopped where the board draws too much. */
const SHED_AFTER_MS = 300
/** The mean of the last second above this share of the cap breaks it. */
const SHED_ABOVE = 1.01
/** Instant readings, of which each scatters, must have been above as long. */
const ABOVE_MS = 200
/** Time that stopped tenants get to show in a mean of the last second, and in an instant reading, ms. */
const AVERAGE_SHOWS_MS = 1300
const INSTANT_SHOWS_MS = 400
/** The clock must have been taken for so long until stopped tenants come back, ms; twice as long each time that they had to go again soon. */
const TAKEN_MS = 500
const LONGEST_TAKEN_MS = 30_000
/** Keep shed load this far below the cap, share of the cap: the ratio that it is judged by was measured with more tenants. */
const SHED_TARGET = 0.97

interface Clocks {
  readonly smClockMhz: number
  readonly memClockMhz: number
}

/** What is left to do where a board draws too much and refuses its clock: fewer tenants, and all of them again once it listens. */
export class LoadShedding {
  readonly #predictor: Predictor
  #all: readonly Tenant[] | undefined
  /** What all of them drew, W, or would have, at the clock that was refused, MHz. */
  #allW = 0
  #allMhz = 0
  /** The cap of then, W. */
  #allCapW = 0
  #restedMs = 0
  /** Since when instant readings are above, as far as they were seen; null where the board has none. */
  #aboveMs: number | undefined | null = null
  /** When the clock was last refused. */
  #refusedMs = 0
  #backMs = Number.NEGATIVE_INFINITY
  #takenMs = TAKEN_MS

  constructor(predictor: Predictor) {
    this.#predictor = predictor
  }

  /** Some tenants are stopped. */
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
    // What was stopped must show before more is.
    const restMs = delayMs + (this.#aboveMs === null ? AVERAGE_SHOWS_MS : INSTANT_SHOWS_MS)
    if (reconfiguring) this.#restedMs = timeMs + restMs
    const smClockMhz = applied.smClockMhz ?? telemetry.smClockMhz
    if (smClockRefusedMs < SHED_AFTER_MS || smClockMhz === null || applied.tenants.length === 0) return undefined
    const clocks = { smClockMhz, memClockMhz }
    let ratio = powerRatio
    if (reconfiguring) {
      // Tenants are being started at a clock that is not the one they were planned for, and no limit of the board holds them.
      if (applied.powerLimitW <= powerCapW) return undefined
    } else {
      if (!rested || powerAverageW === null || powerAverageW <= SHED_ABOVE * powerCapW) return undefined
      if (this.#aboveMs !== null && timeMs - (this.#aboveMs ?? timeMs) < ABOVE_MS) return undefined
      // An instant reading of nothing is none.
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

  /** The tenants to keep where the lowest clock does not keep the cap and no plan does; undefined where one is left. */
  fewer(
    tenants: readonly Tenant[],
    clocks: Clocks,
    measuredW: number,
    powerCapW: number,
  ): readonly Tenant[] | undefined {
    if (tenants.length <= 1) return undefined
    const kept = this.#withinCap(tenants, clocks, measuredW / this.#predicted(tenants, clocks), powerCapW)
    // At least one goes: what was predicted of all of them has not kept the cap.
    return kept.length < tenants.length ? kept : withoutSmallest(tenants)
  }

  #keeps(tenants: readonly Tenant[], clocks: Clocks, ratio: number, powerCapW: number): boolean {
    return this.#predicted(tenants, clocks) * ratio <= SHED_TARGET * powerCapW
  }

  /** The tenants whose predicted power, times a ratio, keeps the cap. At least one stays, the one that draws least. */
  #withinCap(tenants: readonly Tenant[], clocks: Clocks, ratio: number, powerCapW: number): readonly Tenant[] {
    let kept = tenants
    while (kept.length > 1 && !this.#keeps(kept, clocks, ratio, powerCapW)) kept = withoutSmallest(kept)
    if (this.#keeps(kept, clocks, ratio, powerCapW)) return kept
    const least = (a: Tenant, b: Tenant) => (this.#predicted([b], clocks) < this.#predicted([a], clocks) ? b : a)
    return [tenants.reduce(least)]
  }

  #watchInstant(timeMs: number, powerInstantW: number | null, powerCapW: number): void {
    // One that was lost says nothing.
    if (powerInstantW === null || !(powerInstantW > 0)) return
    if (powerInstantW <= SHED_ABOVE * powerCapW) this.#aboveMs = undefined
    else this.#aboveMs ??= timeMs
  }

  #predicted(tenants: readonly Tenant[], clocks: Clocks): number {
    return this.#predictor.predict({ tenants, ...clocks }).powerW
  }
}

/** The smallest leave first: each costs least of the others' throughput for the power it frees. */
function withoutSmallest(tenants: readonly Tenant[]): readonly Tenant[] {
  const smallest = tenants.reduce((best, { mpsPercent }, i) => (mpsPercent < tenants[best]!.mpsPercent ? i : best), 0)
  return tenants.filter((_, i) => i !== smallest)
}
