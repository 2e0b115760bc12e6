import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { Action, PowerCapPolicy, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import { highestMemClock } from './clock-table.js'
import type { BaselineVariant } from './network-figures.js'
import { type ClockPlanner, nameOf, plannerOf, SafeSmClock } from './tuned-form.js'

export interface PowerCapOnlyOptions {
  readonly spec: GpuSpec
  /** A network, or several, which get a tenant with an equal share each. */
  readonly model: string | readonly string[]
  /** Default 64: large enough to fill the boards that we know with the networks that we know, and it fits their memory. */
  readonly batchSize?: number
  /** Latency objective of a network, ms: tenants that miss it get half their batch. Default: none. */
  readonly latencyMs?: (model: string) => number | undefined
  /** `tuned`, or the usual form, which `fair` and `published` both are. */
  readonly variant?: BaselineVariant
  /** The clocks of the tuned form; needed there, not looked at elsewhere. */
  readonly planClocks?: ClockPlanner
}

/**
 * What one gets without any of this: one tenant with the whole GPU, and the board's own power limit at the cap.
 *
 * `tuned` locks the memory clock that is planned for the cap. It starts and steps at a planned SM clock, and keeps it where the
 * cap lies below the board's lowest limit.
 */
export class PowerCapOnlyPolicy implements PowerCapPolicy {
  readonly name: string
  /** What the board could not do, for reports. */
  readonly notes: string[] = []
  readonly #options: PowerCapOnlyOptions
  readonly #limits = new BatchLimits()
  readonly #planClocks: ClockPlanner | undefined
  readonly #smClock: SafeSmClock

  /** @throws InvalidInputError for a batch size that is none, and for a tuned form without a planner of clocks */
  constructor(options: PowerCapOnlyOptions) {
    const { batchSize = 64 } = options
    if (!Number.isInteger(batchSize) || batchSize < 1) {
      throw new InvalidInputError('batchSize', batchSize, 'an integer of at least 1')
    }
    this.#options = { ...options, batchSize }
    this.name = nameOf('powercap', options.variant)
    this.#planClocks = plannerOf(options.variant, options.planClocks)
    this.#smClock = new SafeSmClock(options.spec)
  }

  start(powerCapW: number): Action {
    const memClockMhz = highestMemClock(this.#options.spec)
    return {
      tenants: this.#tenants(),
      smClockMhz: 'unlocked',
      memClockMhz,
      ...this.#limit(powerCapW),
      ...this.#clocks(powerCapW),
    }
  }

  onCapChange(powerCapW: number): Action {
    return { ...this.#limit(powerCapW), ...this.#clocks(powerCapW) }
  }

  onSample(): undefined {}

  onWindow(window: WindowObservation): Action | undefined {
    const tooLarge = this.#limits.learn(window)
    const { latencyMs } = this.#options
    const tooLong = latencyMs !== undefined && this.#limits.learnLatency(window, latencyMs)
    if (tooLarge || tooLong) return { tenants: this.#tenants() }
    const smClock = this.#smClock.next(window)
    return 'smClockMhz' in smClock ? smClock : undefined
  }

  #tenants() {
    const { model, batchSize = 64 } = this.#options
    const models = typeof model === 'string' ? [model] : model
    return this.#limits.apply(models.map((name) => ({ model: name, mpsPercent: 100 / models.length, batchSize })))
  }

  #clocks(powerCapW: number): Action {
    if (this.#planClocks === undefined) return {}
    const plan = this.#planClocks(this.#tenants(), powerCapW)
    return { memClockMhz: plan.memClockMhz, smClockMhz: this.#smClock.begin(powerCapW, plan) }
  }

  #limit(powerCapW: number): Action {
    const { powerLimitW, note } = boardLimit(this.#options.spec, powerCapW)
    if (note !== undefined) this.notes.push(note)
    return { powerLimitW }
  }
}
