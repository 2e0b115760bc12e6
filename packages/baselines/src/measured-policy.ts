import { InvalidInputError, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { FeedbackClock } from './feedback-clock.js'
import { LimitPolicy, type LimitPolicyOptions } from './limit-policy.js'

export interface MeasuredPolicyOptions extends Omit<LimitPolicyOptions, 'plan' | 'clock' | 'services'> {
  /** Tenants to measure, in this order, as long as there is time. At least one. */
  readonly candidates: readonly (readonly Tenant[])[]
  /** What a window was worth. Default: its throughput. */
  readonly score?: (window: WindowObservation) => number
}

const SEARCH_MS = 60_000
/** As the verdict allows a 1 s average. */
const ABOVE_CAP = 1.01

/**
 * No model of throughput: candidates run in turn on the board for a minute, each until one window passed without a restart, and the
 * best that kept cap and latency stays. All of them run under the board's limit with feedback, from clocks that keep the cap.
 */
export class MeasuredPolicy implements PowerCapPolicy {
  readonly name: string
  readonly #options: MeasuredPolicyOptions
  readonly #scores: number[] = []
  #limit: LimitPolicy
  #searching = true

  /** @throws InvalidInputError without candidates */
  constructor(options: MeasuredPolicyOptions) {
    if (options.candidates.length === 0) throw new InvalidInputError('candidates', [], 'at least one list of tenants')
    this.#options = options
    this.name = options.name
    this.#limit = this.#holding(options.candidates[0]!)
  }

  get notes(): readonly string[] {
    return this.#limit.notes
  }

  start(powerCapW: number): Action {
    return this.#limit.start(powerCapW)
  }

  onCapChange(powerCapW: number): Action {
    return this.#limit.onCapChange(powerCapW)
  }

  onSample(sample: SampleObservation): Action | undefined {
    return this.#limit.onSample(sample)
  }

  onWindow(window: WindowObservation): Action | undefined {
    const failed = window.tenants.some(({ failure }) => failure !== null)
    if (!this.#searching || (!failed && (window.reconfigured || window.samples === 0)))
      return this.#limit.onWindow(window)
    const { candidates, score = ({ throughput }) => throughput } = this.#options
    this.#scores.push(failed || !this.#keeps(window) ? 0 : score(window))
    const next = candidates[this.#scores.length]
    this.#searching = next !== undefined && window.endMs < SEARCH_MS
    const best = candidates[this.#scores.indexOf(Math.max(...this.#scores))]!
    this.#limit = this.#holding(this.#searching ? next! : best)
    return this.#limit.start(window.powerCapW)
  }

  #keeps({ powerAverageW, powerCapW, tenants }: WindowObservation): boolean {
    const { latencyMs: objectiveOf = () => undefined } = this.#options
    const inTime = tenants.every(({ tenant, latencyMs }) => (latencyMs ?? 0) <= (objectiveOf(tenant.model) ?? Infinity))
    return inTime && (powerAverageW ?? 0) <= ABOVE_CAP * powerCapW
  }

  #holding(tenants: readonly Tenant[]): LimitPolicy {
    const { planClocks } = this.#options
    const plan = (powerCapW: number) => ({ tenants, ...planClocks(tenants, powerCapW) })
    return new LimitPolicy({ ...this.#options, plan, clock: new FeedbackClock({ step: true }) })
  }
}
