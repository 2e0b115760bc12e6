import type { Predictor } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import type { ClockAction } from '@pctodl/thermo-dvfs'
import { type Candidate, keyOf, restartCostSamples, restartedCount } from '../neighbourhood.js'
import type { Decision } from '../policy.js'

export interface TenantPlanOptions {
  readonly predictor: Predictor
  /** Samples lost in restarts must be regained within this time, s. */
  readonly payBackS: number
  /**
   * The best configuration under a cap in the predictor's watts; undefined if there is none.
   *
   * @param optional that there is none is not worth a decision in the record
   */
  readonly plan: (modelledCapW: number, optional: boolean) => Configuration | undefined
}

/** Inputs for the decision on a plan. */
export interface PlanContext {
  readonly timeMs: number
  readonly present: Candidate
  readonly powerCapW: number
  /** Measured power over the predictor's, at the present configuration. */
  readonly powerRatio: number
  /** Whether the clock has settled. */
  readonly settled: boolean
  /** Whether the lowest clock exceeds the cap. */
  readonly infeasible: boolean
  /** Time in which a restarted tenant completes nothing, s. */
  readonly restartS: number
}

export interface NewPlan {
  readonly plan: Configuration
  readonly reason: string
}

export type Trouble = 'infeasible' | 'throttled'

/**
 * `kept`: the tenants stay. `weighing`: another plan may pay. `mending`: the cap or an objective is missed, and the
 * next plan is adopted at any cost. The search takes one step, and its result is judged in the next.
 */
type State =
  | { readonly name: 'kept' }
  | { readonly name: 'weighing'; readonly fromMs: number; plan?: Configuration }
  | { readonly name: 'mending'; readonly missed: 'cap' | 'objective'; plan?: Configuration }

/** Time after a cap change before tenants may change, ms: until a one-second mean contains only the new clock. */
const CLOCKS_FIRST_MS = 2000
/** The first plan is reviewed after this time, ms, if the board's power differs from the prediction by this share. */
const REVIEW_MS = 35_000
const WRONG_POWER = 0.05
/** Smallest predicted relative gain that restarts are worth. */
const MIN_GAIN = 0.02
/** Interval at which a plan that would pay only later is weighed again, ms. */
const WEIGH_AGAIN_MS = 5000
/** Number of previous caps from which the life of a cap is estimated. */
const REMEMBERED_CAPS = 3
/**
 * Share of the cap that the first mending plan leaves free; each further one under the same cap leaves as much more,
 * because the power ratio was measured with other tenants.
 */
const LEFT_FREE = 0.03
const MAX_LEFT_FREE = 0.15
/**
 * Tenants must change after the lowest clocks have been read to exceed the cap for the first time, or firmware has
 * throttled for the second, ms.
 */
const INFEASIBLE_MS = 300
const THROTTLED_MS = 5000
/** Time for a measure without new tenants to show, ms. */
const SHOWS_MS = 10_000

/** Decides when tenants change: after a new cap where that pays, at once where the cap or an objective is missed. */
export class TenantPlan {
  readonly #options: TenantPlanOptions
  readonly #decisions: Decision[] = []
  #state: State = { name: 'kept' }
  readonly #capsLastedMs: number[] = []
  #capSinceMs = 0
  #weighAgainMs = 0
  #reviewed = false
  #throttleWeighed = false
  /** Plans made under this cap because earlier tenants did not hold it. */
  #mended = 0
  #trouble: Trouble | undefined
  #troubleSinceMs = 0
  #quietUntilMs = 0

  constructor(options: TenantPlanOptions) {
    this.#options = options
  }

  /** Whether a plan is being made or waits for its time. */
  get pending(): boolean {
    return this.#state.name !== 'kept'
  }

  capChanged(timeMs: number): void {
    this.#capsLastedMs.push(timeMs - this.#capSinceMs)
    if (this.#capsLastedMs.length > REMEMBERED_CAPS) this.#capsLastedMs.shift()
    this.#capSinceMs = timeMs
    this.#reviewed = true
    this.#throttleWeighed = false
    this.#mended = 0
    this.#enter({ name: 'weighing', fromMs: timeMs + CLOCKS_FIRST_MS })
  }

  capMissed(): void {
    this.#enter({ name: 'mending', missed: 'cap' })
  }

  objectiveMissed(): void {
    this.#enter({ name: 'mending', missed: 'objective' })
  }

  /**
   * Watch for problems that the clock cannot solve: the lowest clock exceeds the cap, or firmware holds the board far
   * below it.
   *
   * @returns the trouble, once each time that it has lasted
   */
  watch(timeMs: number, clock: ClockAction, reconfiguring: boolean, memoryIsLowest: boolean): Trouble | undefined {
    const { status, seen } = clock
    const helpless = status === 'infeasible' && memoryIsLowest
    const trouble = helpless ? 'infeasible' : seen.clock === 'throttled' ? 'throttled' : undefined
    if (trouble !== this.#trouble || reconfiguring) {
      this.#trouble = trouble
      this.#troubleSinceMs = timeMs
    }
    // New tenants show their power as soon as they run.
    if (reconfiguring) this.#quietUntilMs = timeMs
    const patienceMs = trouble === 'throttled' ? THROTTLED_MS : INFEASIBLE_MS
    if (trouble === undefined || timeMs < Math.max(this.#quietUntilMs, this.#troubleSinceMs + patienceMs))
      return undefined
    this.#quietUntilMs = timeMs + SHOWS_MS
    if (trouble === 'throttled' && !this.#throttleWeighed && !this.pending) {
      this.#throttleWeighed = true
      this.#enter({ name: 'weighing', fromMs: timeMs })
    }
    return trouble
  }

  takeDecisions(): Decision[] {
    return this.#decisions.splice(0)
  }

  /** @returns the plan to adopt now; `helpless` if the cap is missed and no plan is better than the present one */
  step(context: PlanContext): NewPlan | 'helpless' | undefined {
    const state = this.#state
    if (state.name === 'kept') this.#review(context)
    else if (state.plan)
      return state.name === 'mending' ? this.#mend(state.missed, state.plan, context) : this.#weigh(state.plan, context)
    else if (state.name === 'mending' || context.infeasible || context.timeMs >= state.fromMs) {
      const plan = this.#search(context)
      if (plan) state.plan = plan
      else {
        this.#enter({ name: 'kept' })
        if (state.name === 'mending' && state.missed === 'cap') return 'helpless'
      }
    }
    return undefined
  }

  #search({ powerCapW, powerRatio, infeasible }: PlanContext): Configuration | undefined {
    const { plan } = this.#options
    const modelledCapW = powerCapW / powerRatio
    const capMissed = this.#state.name === 'mending' && this.#state.missed === 'cap'
    if (!capMissed && !infeasible) return plan(modelledCapW, false)
    this.#mended++
    const leftFree = Math.min(LEFT_FREE * this.#mended, MAX_LEFT_FREE)
    return plan((1 - leftFree) * modelledCapW, true) ?? plan(modelledCapW, false)
  }

  #mend(
    missed: 'cap' | 'objective',
    plan: Configuration,
    { present, powerCapW }: PlanContext,
  ): NewPlan | 'helpless' | undefined {
    this.#enter({ name: 'kept' })
    const same = keyOf(plan) === keyOf(present)
    if (missed === 'objective') {
      return same ? undefined : { plan, reason: 'batches take longer than promised: a plan for shorter ones' }
    }
    if (same) return 'helpless'
    return { plan, reason: `the present tenants do not keep ${powerCapW} W at any clock: a plan for what was measured` }
  }

  #weigh(plan: Configuration, context: PlanContext): NewPlan | undefined {
    const { predictor, payBackS } = this.#options
    const { present, powerCapW, powerRatio, timeMs, restartS, infeasible } = context
    const { tenants, memClockMhz } = present
    const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, powerCapW / powerRatio)
    const same = keyOf(plan) === keyOf(present)
    if (same || (smClockMhz === undefined && infeasible)) {
      this.#enter({ name: 'kept' })
      return same ? undefined : { plan, reason: 'the present tenants do not keep the new cap at any clock' }
    }
    if (timeMs < this.#weighAgainMs) return undefined
    const now = smClockMhz === undefined ? 0 : predictor.predict({ tenants, memClockMhz, smClockMhz }).throughput
    const expected = predictor.predict(plan).throughput
    const gain = expected - now
    const lost = restartCostSamples(tenants, plan.tenants, now, restartS)
    const promise = `a new plan promises ${gain.toFixed(0)} samples/s more and costs ${lost.toFixed(0)} samples`
    const pays = gain > MIN_GAIN * now && lost <= gain * payBackS
    if (pays && lost > gain * this.#capLastsS(timeMs)) {
      this.#weighAgainMs = timeMs + WEIGH_AGAIN_MS
      return undefined
    }
    this.#enter({ name: 'kept' })
    if (pays) return { plan, reason: promise }
    this.#decide('plan-rejected', promise, { now, expected, lost, restarted: restartedCount(tenants, plan.tenants) })
    return undefined
  }

  #review({ timeMs, settled, powerRatio }: PlanContext): void {
    if (this.#reviewed || !settled || timeMs < REVIEW_MS) return
    this.#reviewed = true
    if (Math.abs(powerRatio - 1) <= WRONG_POWER) return
    this.#enter({ name: 'weighing', fromMs: timeMs })
    const off = `${(100 * Math.abs(powerRatio - 1)).toFixed(0)} % ${powerRatio > 1 ? 'more' : 'less'}`
    this.#decide('plan-review', `the board draws ${off} than predicted: a new plan`, { powerRatio })
  }

  /**
   * Expected remaining life of the present cap, s: the lifetime of the shortest of the last few caps, or, if the
   * present cap has already lasted longer, the time that it has lasted so far.
   */
  #capLastsS(timeMs: number): number {
    const elapsedMs = timeMs - this.#capSinceMs
    const shortestMs = this.#capsLastedMs.length > 0 ? Math.min(...this.#capsLastedMs) : 0
    return Math.max(elapsedMs, shortestMs - elapsedMs) / 1000
  }

  #enter(state: State): void {
    this.#state = state
    this.#weighAgainMs = 0
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}
