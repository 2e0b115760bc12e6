import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { Action, PowerCapPolicy, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import { highestMemClock } from './clock-table.js'

export interface PowerCapOnlyOptions {
  readonly spec: GpuSpec
  /** A network, or several networks, each of which gets one tenant with an equal share. */
  readonly model: string | readonly string[]
  /**
   * Batch size of every tenant. Default 64, with which the known networks saturate the known boards and fit their
   * memory.
   */
  readonly batchSize?: number
  /**
   * Returns the latency objective of a network, ms. Tenants that miss it get half their batch size. Default: no
   * objectives.
   */
  readonly latencyMs?: (model: string) => number | undefined
}

/** What a user sets without any algorithm: one tenant per network, and the board's power limit at the cap. */
export class PowerCapOnlyPolicy implements PowerCapPolicy {
  readonly name = 'powercap'
  /** Notes for reports on what the board could not do. */
  readonly notes: string[] = []
  readonly #options: PowerCapOnlyOptions
  readonly #limits = new BatchLimits()

  /** @throws InvalidInputError unless the batch size is an integer of at least 1 */
  constructor(options: PowerCapOnlyOptions) {
    const { batchSize = 64 } = options
    if (!Number.isInteger(batchSize) || batchSize < 1) {
      throw new InvalidInputError('batchSize', batchSize, 'an integer of at least 1')
    }
    this.#options = { ...options, batchSize }
  }

  start(powerCapW: number): Action {
    const memClockMhz = highestMemClock(this.#options.spec)
    return { tenants: this.#tenants(), smClockMhz: 'unlocked', memClockMhz, ...this.onCapChange(powerCapW) }
  }

  onCapChange(powerCapW: number): Action {
    const { powerLimitW, note } = boardLimit(this.#options.spec, powerCapW)
    if (note !== undefined) this.notes.push(note)
    return { powerLimitW }
  }

  onSample(): undefined {}

  onWindow(window: WindowObservation): Action | undefined {
    const tooLarge = this.#limits.learn(window)
    const tooLong = this.#limits.learnLatency(window, this.#options.latencyMs ?? (() => undefined))
    return tooLarge || tooLong ? { tenants: this.#tenants() } : undefined
  }

  #tenants() {
    const { model, batchSize = 64 } = this.#options
    const models = typeof model === 'string' ? [model] : model
    return this.#limits.apply(models.map((name) => ({ model: name, mpsPercent: 100 / models.length, batchSize })))
  }
}
