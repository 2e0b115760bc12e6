import { type Configuration, type GpuSpec, InfeasibleCapError, type Service, type Tenant } from '@pctodl/platform'
import type { Action, ClockPlan, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { BatchLimits } from './batch-limits.js'
import { boardLimit } from './board-limit.js'
import { FeedbackClock } from './feedback-clock.js'
import type { ClockPlanner } from './tuned-form.js'

export interface LimitPolicyOptions {
  /** Name in logs and tables. */
  readonly name: string
  readonly spec: GpuSpec
  /** Plans tenants, and clocks at which they keep the cap when all are busy. `start` throws its errors. */
  readonly plan: (powerCapW: number, services: readonly Service[]) => Configuration
  /** Plans clocks at which the present tenants keep another cap. */
  readonly planClocks: ClockPlanner
  /**
   * How the policy chooses its clock. Default: the planned clock until the board's limit keeps the cap, without
   * feedback.
   */
  readonly clock?: FeedbackClock
  /** Services at the start. Default: none; tenants then run batch after batch. */
  readonly services?: readonly Service[]
  /**
   * Returns the latency objective of a network, ms. Tenants that miss it get half their batch size. Default: no
   * objectives.
   */
  readonly latencyMs?: (model: string) => number | undefined
}

/**
 * Time for which a cap must stay unchanged before new tenants are planned, ms. It is long because a restart costs
 * seconds.
 */
const REPLAN_AFTER_MS = 35_000

/**
 * Runs planned tenants under the board's own power limit, which is set to the cap. A new cap changes limit and clocks
 * at once; new tenants are planned once the cap has stayed for a while. Tenants that serve requests are not changed.
 */
export class LimitPolicy implements PowerCapPolicy {
  readonly name: string
  /** Notes for reports on what the board could not do. */
  readonly notes: string[] = []
  readonly #options: LimitPolicyOptions
  readonly #clock: FeedbackClock
  readonly #limits = new BatchLimits()
  #services: readonly Service[]
  #tenants: readonly Tenant[] = []
  #powerCapW = 0
  #plannedCapW = 0
  #capFromMs: number | undefined

  constructor(options: LimitPolicyOptions) {
    const { name, clock = new FeedbackClock(), services = [] } = options
    this.#options = options
    this.name = name
    this.#clock = clock
    this.#services = services
  }

  start(powerCapW: number): Action {
    const { tenants, ...clocks } = this.#options.plan(powerCapW, this.#services)
    this.#powerCapW = this.#plannedCapW = powerCapW
    return this.#adopt(tenants, clocks)
  }

  onCapChange(powerCapW: number): Action {
    this.#capFromMs = undefined
    return this.#under(powerCapW, this.#options.planClocks(this.#limits.apply(this.#tenants), powerCapW), false)
  }

  onServicesChange(services: readonly Service[]): Action {
    this.#services = services
    return this.start(this.#powerCapW)
  }

  onSample(sample: SampleObservation): Action | undefined {
    const smClockMhz = this.#clock.onSample(sample, this.#services)
    return smClockMhz === undefined ? undefined : { smClockMhz }
  }

  onWindow(window: WindowObservation): Action | undefined {
    const tooLarge = this.#limits.learn(window)
    const tooLong = this.#limits.learnLatency(window, this.#options.latencyMs ?? (() => undefined))
    if (tooLarge || tooLong) return { tenants: this.#limits.apply(this.#tenants) }
    this.#capFromMs ??= window.startMs
    const heldMs = window.endMs - this.#capFromMs
    const isNewCap = this.#powerCapW !== this.#plannedCapW
    if (isNewCap && this.#services.length === 0 && heldMs >= REPLAN_AFTER_MS) return this.#replan()
    const smClockMhz = this.#clock.onWindow(window, this.#services)
    return smClockMhz === undefined ? undefined : { smClockMhz }
  }

  /** Plans tenants for the present cap. If no tenants can keep it, the present ones stay, with a note. */
  #replan(): Action | undefined {
    this.#plannedCapW = this.#powerCapW
    try {
      const { tenants, ...clocks } = this.#options.plan(this.#powerCapW, this.#services)
      if (JSON.stringify(tenants) === JSON.stringify(this.#tenants)) return undefined
      return this.#adopt(tenants, clocks)
    } catch (error) {
      if (!(error instanceof InfeasibleCapError)) throw error
      this.notes.push(error.message)
      return undefined
    }
  }

  #adopt(tenants: readonly Tenant[], clocks: ClockPlan): Action {
    this.#tenants = tenants
    return { tenants: this.#limits.apply(tenants), ...this.#under(this.#powerCapW, clocks, true) }
  }

  #under(powerCapW: number, clocks: ClockPlan, newTenants: boolean): Action {
    const { spec } = this.#options
    this.#powerCapW = powerCapW
    const { powerLimitW, note } = boardLimit(spec, powerCapW)
    if (note !== undefined && !this.notes.includes(note)) this.notes.push(note)
    const smClockMhz = this.#clock.begin(spec, clocks, powerCapW, newTenants)
    return { memClockMhz: clocks.memClockMhz, smClockMhz, powerLimitW }
  }
}
