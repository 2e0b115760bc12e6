import type { Predictor } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import type { ClockAction } from '@pctodl/thermo-dvfs'
import { type Candidate, keyOf, restartCostSamples, restartedCount } from '../neighbourhood.js'
import type { Decision } from '../policy.js'

interface TenantPlanOptions {
  readonly predictor: Predictor
  /** Maximum time in which a plan must regain the samples lost in restarts, s. */
  readonly payBackS: number
  /**
   * The best configuration under a cap in predicted watts; undefined if there is none.
   *
   * @param optional true if a missing plan need not be recorded as a decision
   */
  readonly plan: (modelledCapW: number, optional: boolean) => Configuration | undefined
}

/** Measured state on which the decision about a plan depends. */
export interface PlanContext {
  readonly timeMs: number
  readonly present: Candidate
  readonly powerCapW: number
  /** Measured power divided by predicted power, at the present configuration. */
  readonly powerRatio: number
  /** Whether the clock has settled. */
  readonly settled: boolean
  /** Whether power exceeds the cap at the lowest clock. */
  readonly infeasible: boolean
  /** Time for which a restarted tenant completes nothing, s. */
  readonly restartS: number
}

interface NewPlan {
  readonly plan: Configuration
  readonly reason: string
}

type Trouble = 'infeasible' | 'throttled'

/**
 * State of the decision. `kept`: the tenants stay. `weighing`: another plan is adopted if its gain repays the restarts.
 * `mending`: the cap or an objective is missed, and the next plan is adopted whatever it costs. The search runs in one
 * step, and its plan is judged in the next.
 */
type State =
  | { readonly name: 'kept' }
  | { readonly name: 'weighing'; readonly fromMs: number; plan?: Configuration }
  | { readonly name: 'mending'; readonly missed: 'cap' | 'objective'; plan?: Configuration }

/** Time after a cap change before tenants may change, ms. By then, the one-second mean contains only the new clock. */
const CLOCKS_FIRST_MS = 2000
/**
 * The first plan is reviewed after this time, ms, if measured and predicted power differ by more than the share below.
 */
const REVIEW_MS = 35_000
const WRONG_POWER = 0.05
/** Smallest predicted relative gain in throughput for which tenants are restarted. */
const MIN_GAIN = 0.02
/** A plan that does not pay within the cap's expected life is evaluated again at this interval, ms. */
const WEIGH_AGAIN_MS = 5000
/** Number of previous caps from which the expected life of a cap is estimated. */
const REMEMBERED_CAPS = 3
/**
 * Share of the cap that the first plan after a missed cap leaves unused. With each further plan under the same cap, the
 * unused share grows by this amount, up to `MAX_LEFT_FREE`. The reserve is needed because the power ratio was measured
 * with other tenants.
 */
const LEFT_FREE = 0.03
const MAX_LEFT_FREE = 0.15
/**
 * Durations after which tenants must change, ms: of power above the cap at the lowest clocks, and of throttling by
 * firmware.
 */
const INFEASIBLE_MS = 300
const THROTTLED_MS = 5000
/** Time after a report of trouble before it is reported again if tenants do not change, ms. */
const SHOWS_MS = 10_000

/**
 * Decides when tenants change: at once if the cap or an objective is missed; after a cap change if the gain repays the
 * restarts.
 */
export class TenantPlan {
  readonly #options: TenantPlanOptions
  readonly #decisions: Decision[] = []
  #state: State = { name: 'kept' }
  readonly #capsLastedMs: number[] = []
  #capSinceMs = 0
  #weighAgainMs = 0
  #reviewed = false
  #throttleWeighed = false
  /** Number of plans made under this cap because the tenants exceeded it. */
  #mended = 0
  #trouble: Trouble | undefined
  #troubleSinceMs = 0
  #quietUntilMs = 0

  constructor(options: TenantPlanOptions) {
    this.#options = options
  }

  /** Whether a change of tenants is being considered. */
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

  missed(missed: 'cap' | 'objective'): void {
    this.#enter({ name: 'mending', missed })
  }

  /**
   * Detects problems that the SM clock cannot solve: power above the cap at the lowest clock, or firmware that holds
   * the clock below the locked one.
   *
   * @returns the problem, once for each period in which it lasts long enough
   */
  watch(timeMs: number, clock: ClockAction, reconfiguring: boolean, memoryIsLowest: boolean): Trouble | undefined {
    const { status, seen } = clock
    const helpless = status === 'infeasible' && memoryIsLowest
    const trouble = helpless ? 'infeasible' : seen.clock === 'throttled' ? 'throttled' : undefined
    if (trouble !== this.#trouble || reconfiguring) {
      this.#trouble = trouble
      this.#troubleSinceMs = timeMs
    }
    // New tenants end this wait, because their power shows in the readings as soon as they run.
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

  /**
   * @returns the plan to adopt now; `helpless` if the cap is missed and no plan is better than the present one;
   * otherwise undefined
   */
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
      return same ? undefined : { plan, reason: 'batches take longer than predicted: a new plan with shorter batches' }
    }
    if (same) return 'helpless'
    return {
      plan,
      reason: `the present tenants exceed ${powerCapW} W at every clock: a new plan for the measured power`,
    }
  }

  #weigh(plan: Configuration, context: PlanContext): NewPlan | undefined {
    const { predictor, payBackS } = this.#options
    const { present, powerCapW, powerRatio, timeMs, restartS, infeasible } = context
    const { tenants, memClockMhz } = present
    const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, powerCapW / powerRatio)
    const same = keyOf(plan) === keyOf(present)
    if (same || (smClockMhz === undefined && infeasible)) {
      this.#enter({ name: 'kept' })
      return same ? undefined : { plan, reason: 'the present tenants exceed the new cap at every clock' }
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
   * Expected remaining life of the present cap, s. It is the time that the shortest of the last caps would still leave,
   * or the time that the present cap has lasted, whichever is longer.
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
