import { type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation } from '@pctodl/scheduler'

/** The clock rises by one state if power is below this share of the cap. */
const ROOM = 0.97
/**
 * A board's usual power reading is the mean of one second, so the reading shows a step completely only after this time,
 * ms.
 */
const SETTLE_MS = 1200

/**
 * A simple policy without a predictor: equal tenants, and an SM clock that rises by one state if power is well below
 * the cap and falls in proportion to the excess.
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

  /** Starts at a low clock, because the policy does not know the board's power yet. */
  start(): Action {
    this.#state = Math.floor(this.#clocksMhz.length / 4)
    return { tenants: this.#tenants, memClockMhz: this.#memClockMhz, smClockMhz: this.#clocksMhz[this.#state]! }
  }

  /** The next sample contains the new cap, so there is nothing to do here. */
  onCapChange(): undefined {}

  onSample({ timeMs, telemetry, powerCapW, reconfiguring }: SampleObservation): Action | undefined {
    const { powerAverageW } = telemetry
    // An unreadable value is not headroom, and tenants that still load draw less power than later.
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
