import { type Configuration, type GpuSpec, InfeasibleCapError } from '@pctodl/platform'
import type { Action, PowerCapPolicy } from '@pctodl/scheduler'

export interface StaticBestOptions {
  readonly spec: GpuSpec
  /** The best configuration for a cap: by a predictor, or in reports by a search over the simulator's truth. */
  readonly configurationFor: (powerCapW: number) => Configuration
}

/**
 * One configuration per cap, applied and never touched again: what a plan is worth without any control. A reference line. It
 * sets no power limit and reads no sensor, so it keeps a cap only as well as its configurations do.
 */
export class StaticBestPolicy implements PowerCapPolicy {
  readonly name = 'static-best'
  readonly notes: string[] = []
  readonly #options: StaticBestOptions

  constructor(options: StaticBestOptions) {
    this.#options = options
  }

  /** @throws what `configurationFor` throws, e.g. InfeasibleCapError */
  start(powerCapW: number): Action {
    return this.#adopt(powerCapW)
  }

  /** A cap that nothing keeps leaves everything as it is, with a note. */
  onCapChange(powerCapW: number): Action | undefined {
    try {
      return this.#adopt(powerCapW)
    } catch (error) {
      if (!(error instanceof InfeasibleCapError)) throw error
      this.notes.push(error.message)
      return undefined
    }
  }

  onSample(): undefined {}

  onWindow(): undefined {}

  #adopt(powerCapW: number): Action {
    const { tenants, smClockMhz, memClockMhz } = this.#options.configurationFor(powerCapW)
    return { tenants, smClockMhz, memClockMhz, reason: `the best configuration for ${powerCapW} W` }
  }
}
