import { InvalidInputError, type Tenant } from '@pctodl/platform'
import type { Action, WindowObservation } from '@pctodl/scheduler'
import { FeedbackClock } from './feedback-clock.js'
import { LimitPolicy, type LimitPolicyOptions } from './limit-policy.js'

export interface MeasuredPolicyOptions extends Omit<LimitPolicyOptions, 'plan' | 'clock' | 'services'> {
  /** Lists of tenants to measure in this order, until the time for the search is over. At least one list. */
  readonly candidates: readonly (readonly Tenant[])[]
  /** Score of a window. Default: its throughput. */
  readonly score?: (window: WindowObservation) => number
}

const SEARCH_MS = 60_000
/** A window's mean power up to this multiple of the cap is tolerated, as in the verdict of a run. */
const ABOVE_CAP = 1.01

/**
 * Searches for tenants without a throughput model. For a minute, candidates run on the board in turn, each for one
 * window without a restart. The best candidate that kept the cap and the latency stays. All run under the board's limit
 * with feedback, from clocks that keep the cap.
 */
export class MeasuredPolicy extends LimitPolicy {
  readonly #options: MeasuredPolicyOptions
  readonly #scores: number[] = []
  readonly #shown: { tenants: readonly Tenant[] }
  #searching = true

  /** @throws InvalidInputError if there are no candidates */
  constructor(options: MeasuredPolicyOptions) {
    const { candidates, planClocks } = options
    if (candidates.length === 0) throw new InvalidInputError('candidates', [], 'at least one list of tenants')
    const shown = { tenants: candidates[0]! }
    const plan = (powerCapW: number) => ({ tenants: shown.tenants, ...planClocks(shown.tenants, powerCapW) })
    super({ ...options, plan, clock: new FeedbackClock({ step: true }) })
    this.#options = options
    this.#shown = shown
  }

  override onWindow(window: WindowObservation): Action | undefined {
    const failed = window.tenants.some(({ failure }) => failure !== null)
    if (!this.#searching || (!failed && (window.reconfigured || window.samples === 0))) return super.onWindow(window)
    const { candidates, score = ({ throughput }) => throughput } = this.#options
    this.#scores.push(failed || !this.#keeps(window) ? 0 : score(window))
    const next = candidates[this.#scores.length]
    this.#searching = next !== undefined && window.endMs < SEARCH_MS
    const best = candidates[this.#scores.indexOf(Math.max(...this.#scores))]!
    this.#shown.tenants = this.#searching ? next! : best
    return this.start(window.powerCapW)
  }

  #keeps({ powerAverageW, powerCapW, tenants }: WindowObservation): boolean {
    const { latencyMs: objectiveOf = () => undefined } = this.#options
    const inTime = tenants.every(({ tenant, latencyMs }) => (latencyMs ?? 0) <= (objectiveOf(tenant.model) ?? Infinity))
    return inTime && (powerAverageW ?? 0) <= ABOVE_CAP * powerCapW
  }
}
