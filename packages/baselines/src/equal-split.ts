import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'

export interface EqualSplitOptions {
  readonly spec: GpuSpec
  /** A network, or several, which get the same number of tenants each. */
  readonly model: string | readonly string[]
  /** Default: 8 on boards of 100 SMs and more, 4 on smaller ones; of several networks the next multiple of their number. */
  readonly tenantCount?: number
  /** Of each tenant, or by network. Default 32. */
  readonly batchSize?: number | ((model: string) => number)
  /** Latency objective of a network, ms: tenants that miss it get half their batch. Default: none. */
  readonly latencyMs?: (model: string) => number | undefined
}

/**
 * The obvious set-up that takes no thought: equal tenants of one batch size, chosen once per network and board without seeing
 * the cap, the lowest memory clock that the board works at, and the board's own power limit at the cap. No plan, no control.
 * What a planner or a controller is worth is what it adds to this.
 */
export class EqualSplitPolicy implements PowerCapPolicy {
  readonly name = 'equal-split'
  /** What the board could not do, for reports. */
  readonly notes: string[] = []
  readonly #spec: GpuSpec
  readonly #tenants: readonly Tenant[]
  readonly #limits = new BatchLimits()

  readonly #latencyMs: (model: string) => number | undefined

  /** @throws InvalidInputError for a count or a batch size that is none */
  constructor({ spec, model, batchSize = 32, tenantCount, latencyMs = () => undefined }: EqualSplitOptions) {
    const models = typeof model === 'string' ? [model] : model
    const usual = models.length * Math.ceil((spec.smCount >= 100 ? 8 : 4) / models.length)
    const count = positive('tenantCount', tenantCount ?? usual)
    const batchOf = typeof batchSize === 'number' ? () => batchSize : batchSize
    this.#spec = spec
    this.#latencyMs = latencyMs
    this.#tenants = Array.from({ length: count }, (_, i) => {
      const name = models[i % models.length]!
      return { model: name, mpsPercent: 100 / count, batchSize: positive('batchSize', batchOf(name)) }
    })
  }

  start(powerCapW: number): Action {
    return {
      tenants: this.#limits.apply(this.#tenants),
      smClockMhz: 'unlocked',
      memClockMhz: Math.min(...this.#spec.performanceMemClocksMhz),
      ...this.#limit(powerCapW),
    }
  }

  onCapChange(powerCapW: number): Action {
    return this.#limit(powerCapW)
  }

  onSample(): undefined {}

  /** Only a batch that does not fit, or takes too long, is halved. */
  onWindow(window: WindowObservation): Action | undefined {
    const tooLarge = this.#limits.learn(window)
    const tooLong = this.#limits.learnLatency(window, this.#latencyMs)
    return tooLarge || tooLong ? { tenants: this.#limits.apply(this.#tenants) } : undefined
  }

  #limit(powerCapW: number): Action {
    const { powerLimitW, note } = boardLimit(this.#spec, powerCapW)
    if (note !== undefined) this.notes.push(note)
    return { powerLimitW }
  }
}

function positive(field: string, value: number): number {
  if (!Number.isInteger(value) || value < 1) throw new InvalidInputError(field, value, 'an integer of at least 1')
  return value
}
