import { type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation } from '@pctodl/scheduler'

/** Below this share of the cap there is room for one more step. */
const ROOM = 0.97
/** A board's plain power reading is the mean of a second, so a step shows in full after that. */
const SETTLE_MS = 1200

/**
 * Equal tenants, and an SM clock that goes up one state while there is room and down in proportion to the excess: what one
 * would write first. It needs no predictor.
 */
export class CautiousSteps implements PowerCapPolicy {
  readonly name = 'cautious-steps'
  readonly #clocksMhz: readonly number[]
  readonly #memClockMhz: number
  readonly #tenants: readonly Tenant[]
  #state = 0
  #changedMs = 0

  constructor(spec: GpuSpec, tenant: Tenant, count: number) {
    this.#memClockMhz = spec.performanceMemClocksMhz[0]!
    this.#clocksMhz = smClocksAt(spec, this.#memClockMhz)!
    this.#tenants = Array.from({ length: count }, () => tenant)
  }

  /** From a low clock: the policy knows nothing of the board's power yet. */
  start(): Action {
    this.#state = Math.floor(this.#clocksMhz.length / 4)
    return { tenants: this.#tenants, memClockMhz: this.#memClockMhz, smClockMhz: this.#clocksMhz[this.#state]! }
  }

  /** The next sample carries the new cap; nothing else is to be done. */
  onCapChange(): undefined {}

  onSample({ timeMs, telemetry, powerCapW, reconfiguring }: SampleObservation): Action | undefined {
    const { powerAverageW } = telemetry
    // What could not be read is no headroom, and tenants that still load draw less than they will.
    if (powerAverageW === null || reconfiguring || timeMs - this.#changedMs < SETTLE_MS) return undefined
    const excess = powerAverageW / powerCapW - 1
    if (excess > 0) return this.#move(timeMs, -Math.max(1, Math.ceil(excess * this.#state)), 'above the cap')
    if (powerAverageW < ROOM * powerCapW) return this.#move(timeMs, 1, 'room below the cap')
    return undefined
  }

  onWindow(): undefined {}

  #move(timeMs: number, states: number, reason: string): Action | undefined {
    const state = Math.min(this.#clocksMhz.length - 1, Math.max(0, this.#state + states))
    if (state === this.#state) return undefined
    this.#state = state
    this.#changedMs = timeMs
    return { smClockMhz: this.#clocksMhz[state]!, reason }
  }
}
