import type { GpuSpec } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import type { DirectCapPlan } from './direct-cap.js'
import { SafeSmClock } from './tuned-form.js'

export interface LimitAgentOptions {
  readonly spec: GpuSpec
  /** The planner of tenants and memory clock; asked once, at the start. What it throws passes through `start`. */
  readonly plan: (powerCapW: number) => DirectCapPlan
  /** The SM clock for the first moments and for caps below the board's lowest limit. */
  readonly smClockFor: (plan: DirectCapPlan, powerCapW: number) => number
  /** How often the agent looks at what its cluster has decided and sets the limit, ms. Default 15,000. */
  readonly periodMs?: number
}

/**
 * What a cluster's power agent does on each node today: tenants are placed once, by a plan, and every 15 s the board's power limit
 * is set to what the node has been granted. Between two rounds nothing happens, and tenants are not moved for a cap.
 *
 * It has the knobs of the tuned forms: planned tenants and memory clock, and a planned SM clock where the board's limit cannot
 * hold the cap.
 */
export class LimitAgentPolicy implements PowerCapPolicy {
  readonly name = 'limit-agent'
  /** What the board could not do, for reports. */
  readonly notes: string[] = []
  readonly #options: LimitAgentOptions
  readonly #limits = new BatchLimits()
  readonly #smClock: SafeSmClock
  #plan: DirectCapPlan = { tenants: [], memClockMhz: 0 }
  #setW = 0
  #nextRoundMs: number

  constructor(options: LimitAgentOptions) {
    this.#options = options
    this.#smClock = new SafeSmClock(options.spec)
    this.#nextRoundMs = options.periodMs ?? 15_000
  }

  start(powerCapW: number): Action {
    this.#plan = this.#options.plan(powerCapW)
    const { tenants, memClockMhz } = this.#plan
    return { tenants, memClockMhz, ...this.#round(powerCapW) }
  }

  /** Heard of in the next round only. */
  onCapChange(): undefined {}

  onSample({ timeMs, powerCapW }: SampleObservation): Action | undefined {
    if (timeMs < this.#nextRoundMs) return undefined
    const { periodMs = 15_000 } = this.#options
    this.#nextRoundMs += periodMs * Math.ceil((timeMs - this.#nextRoundMs + 1) / periodMs)
    return powerCapW === this.#setW ? undefined : this.#round(powerCapW)
  }

  onWindow(window: WindowObservation): Action | undefined {
    if (this.#limits.learn(window)) return { tenants: this.#limits.apply(this.#plan.tenants) }
    const smClock = this.#smClock.next(window)
    return 'smClockMhz' in smClock ? smClock : undefined
  }

  #round(powerCapW: number): Action {
    const { spec, smClockFor } = this.#options
    this.#setW = powerCapW
    const { powerLimitW, note } = boardLimit(spec, powerCapW)
    if (note !== undefined && !this.notes.includes(note)) this.notes.push(note)
    const plan = { ...this.#plan, tenants: this.#limits.apply(this.#plan.tenants) }
    const smClockMhz = this.#smClock.begin(powerCapW, { ...plan, smClockMhz: smClockFor(plan, powerCapW) })
    return { smClockMhz, powerLimitW }
  }
}
