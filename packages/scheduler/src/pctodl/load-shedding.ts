import type { Predictor } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import type { SampleObservation } from '../policy.js'

/** The SM clock refused for so long and so much power above the cap: tenants are stopped. */
const SHED_AFTER_MS = 500
const SHED_ABOVE = 1.02
/** Time that stopped tenants get to show in the power, ms. */
const SHED_AGAIN_MS = 1300
/** Keep shed load this far below the cap, share of the cap: the ratio that it is judged by was measured with more tenants. */
const SHED_TARGET = 0.97

/** What is left to do where a board draws too much and refuses its clock: fewer tenants, and all of them again once it listens. */
export class LoadShedding {
  readonly #predictor: Predictor
  #all: readonly Tenant[] | undefined
  #restedMs = 0

  constructor(predictor: Predictor) {
    this.#predictor = predictor
  }

  /** Some tenants are stopped. */
  get active(): boolean {
    return this.#all !== undefined
  }

  /** @returns the tenants to run from now on, where these change */
  step(
    { timeMs, telemetry, powerCapW, applied, smClockRefusedMs, reconfiguring }: SampleObservation,
    tenants: readonly Tenant[],
    memClockMhz: number,
  ): { readonly tenants: readonly Tenant[]; readonly reason: string } | undefined {
    if (this.#all && smClockRefusedMs === 0) {
      const all = this.#all
      this.#all = undefined
      return { tenants: all, reason: 'the board takes its clock again: all tenants back' }
    }
    // What was stopped must have left the average of the last second before more is.
    if (reconfiguring) this.#restedMs = timeMs + SHED_AGAIN_MS
    if (timeMs < this.#restedMs) return undefined
    const powerW = telemetry.powerAverageW
    const smClockMhz = applied.smClockMhz ?? telemetry.smClockMhz
    if (smClockRefusedMs < SHED_AFTER_MS || powerW === null || smClockMhz === null) return undefined
    if (powerW <= SHED_ABOVE * powerCapW) return undefined
    const kept = this.#withinCap(tenants, { smClockMhz, memClockMhz }, powerW, powerCapW)
    const stopped = tenants.length - kept.length
    if (stopped === 0) return undefined
    this.#all ??= tenants
    this.#restedMs = timeMs + SHED_AGAIN_MS
    return { tenants: kept, reason: `the board refuses its clock above the cap: ${stopped} tenants stopped` }
  }

  /** The tenants to keep where the lowest clock does not keep the cap and no plan does; undefined where one is left. */
  fewer(
    tenants: readonly Tenant[],
    clocks: { readonly smClockMhz: number; readonly memClockMhz: number },
    measuredW: number,
    powerCapW: number,
  ): readonly Tenant[] | undefined {
    if (tenants.length <= 1) return undefined
    const kept = this.#withinCap(tenants, clocks, measuredW, powerCapW)
    // At least one goes: what was predicted of all of them has not kept the cap.
    return kept.length < tenants.length ? kept : withoutSmallest(tenants)
  }

  /** The tenants whose predicted power, scaled by what was measured with all of them, keeps the cap. At least one stays. */
  #withinCap(
    tenants: readonly Tenant[],
    clocks: { readonly smClockMhz: number; readonly memClockMhz: number },
    measuredW: number,
    powerCapW: number,
  ): readonly Tenant[] {
    const ratio = measuredW / this.#predictor.predict({ tenants, ...clocks }).powerW
    let kept = tenants
    while (kept.length > 1) {
      if (this.#predictor.predict({ tenants: kept, ...clocks }).powerW * ratio <= SHED_TARGET * powerCapW) return kept
      kept = withoutSmallest(kept)
    }
    return kept
  }
}

/** The smallest leave first: each costs least of the others' throughput for the power it frees. */
function withoutSmallest(tenants: readonly Tenant[]): readonly Tenant[] {
  const smallest = tenants.reduce((best, { mpsPercent }, i) => (mpsPercent < tenants[best]!.mpsPercent ? i : best), 0)
  return tenants.filter((_, i) => i !== smallest)
}
