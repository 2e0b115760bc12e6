import { type Configuration, type GpuSpec, smClocksAt } from '@pctodl/platform'
import type { Action, PowerCapPolicy } from '@pctodl/scheduler'

/** True power at the fixed clock, as a share of the cap. */
const SHARE = 0.97

/**
 * Reference policy: the plan's tenants at a fixed clock, chosen with the board's true power so that it draws 97 % of
 * the cap.
 */
export class FixedClockPolicy implements PowerCapPolicy {
  readonly name = 'fixed-clock'
  readonly #spec: GpuSpec
  readonly #plan: (powerCapW: number) => Configuration
  readonly #trueW: (configuration: Configuration) => number
  #configuration: Configuration | undefined

  constructor(
    spec: GpuSpec,
    plan: (powerCapW: number) => Configuration,
    trueW: (configuration: Configuration) => number,
  ) {
    this.#spec = spec
    this.#plan = plan
    this.#trueW = trueW
  }

  start(powerCapW: number): Action {
    this.#configuration = this.#plan(powerCapW)
    const { tenants, memClockMhz } = this.#configuration
    return { tenants, memClockMhz, smClockMhz: this.#clockFor(powerCapW) }
  }

  onCapChange(powerCapW: number): Action {
    return { smClockMhz: this.#clockFor(powerCapW) }
  }

  onSample(): undefined {}

  onWindow(): undefined {}

  #clockFor(powerCapW: number): number {
    const { tenants, memClockMhz } = this.#configuration!
    const clocks = smClocksAt(this.#spec, memClockMhz)!
    const within = (smClockMhz: number) => this.#trueW({ tenants, memClockMhz, smClockMhz }) <= SHARE * powerCapW
    return clocks.findLast((mhz) => mhz <= this.#spec.boostClockMhz && within(mhz)) ?? clocks[0]!
  }
}
