import type { Service } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { backStop } from '../board-limit.js'
import { indexAtMost, workingSmClocks } from '../clock-table.js'
import type { ServicesBaselineOptions } from './services-start.js'

/**
 * What governors of the clock have alike: tenants and memory clock are planned once, the SM clock starts where the plan has it, and the
 * board's limit at the cap is behind whatever they choose.
 */
export abstract class ServicesGovernor<Options extends ServicesBaselineOptions = ServicesBaselineOptions>
  implements PowerCapPolicy
{
  abstract readonly name: string
  protected readonly options: Options
  /** Those that are there now. */
  protected services: readonly Service[]
  /** SM clocks at the memory clock that was planned, MHz ascending; empty before the start. */
  protected clocksMhz: readonly number[] = []
  /** Where the clock was sent last, MHz. */
  protected clockMhz = 0
  #powerCapW = 0

  constructor(options: Options) {
    this.options = options
    this.services = options.services
  }

  abstract onSample(sample: SampleObservation): Action | undefined
  abstract onWindow(window: WindowObservation): Action | undefined

  start(powerCapW: number): Action {
    const { spec, plan } = this.options
    const { tenants, memClockMhz, smClockMhz } = plan(this.services, powerCapW)
    this.#powerCapW = powerCapW
    this.clocksMhz = workingSmClocks(spec, memClockMhz)
    return { tenants, memClockMhz, ...this.goTo(smClockMhz), ...backStop(spec, powerCapW) }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    return backStop(this.options.spec, powerCapW)
  }

  onServicesChange(services: readonly Service[]): Action {
    this.services = services
    return this.start(this.#powerCapW)
  }

  /** Go to the highest clock that is at most `mhz`; the lowest where all are above. */
  protected goTo(mhz: number): { readonly smClockMhz: number } {
    this.clockMhz = this.clocksMhz[indexAtMost(this.clocksMhz, mhz)]!
    return { smClockMhz: this.clockMhz }
  }
}
