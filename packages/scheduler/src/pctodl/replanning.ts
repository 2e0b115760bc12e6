import type { Predictor } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import type { Decision } from '../policy.js'
import { type Candidate, keyOf } from '../shadow/candidates.js'
import { restartCostSamples, restartedCount } from '../shadow/restart-cost.js'
import { CapDurations } from './cap-durations.js'

export interface ReplanningOptions {
  readonly predictor: Predictor
  /** Samples lost in restarts must be regained within this time, s. */
  readonly payBackS: number
  /** From a cap change until throughput under it is measured well enough to judge a small gain, s. */
  readonly sharesAfterS: number
  /**
   * The best configuration under a cap by the predictor's watts; undefined where there is none.
   *
   * @param optional that there is none is not worth a word
   */
  readonly plan: (modelledCapW: number, optional: boolean) => Configuration | undefined
}

/** What a new plan is weighed by. */
export interface ReplanContext {
  readonly timeMs: number
  readonly present: Candidate
  readonly powerCapW: number
  /** Measured power over the predictor's, at the present configuration. */
  readonly powerRatio: number
  /** The clock rests. */
  readonly settled: boolean
  /** The lowest clock does not keep the cap. */
  readonly infeasible: boolean
  /** Time in which a restarted tenant completes nothing, s. */
  readonly restartS: number
  /** Samples/s that a configuration is expected to complete, where measurements tell; else the predictor is asked. */
  readonly expected: (candidate: Candidate) => number | undefined
}

export interface Replan {
  readonly plan: Configuration
  readonly reason: string
  /** Whether it was chosen for its throughput, which a trial can confirm. */
  readonly forThroughput: boolean
}

/** A plan that will have paid only later is weighed again this often, ms. */
const WEIGH_AGAIN_MS = 5000
/** From a cap change until tenants may change for it, ms: until a mean of the last second is of the new clock. */
const CLOCKS_FIRST_MS = 2000

interface Rates {
  readonly now: number
  readonly planned: number
}

/** A predictor whose power is off by more than this has made another plan than it should have; relative. */
const WRONG_POWER = 0.05
const LEAST_GAIN = 0.003
/**
 * Share of the cap that a plan in place of tenants which do not keep it leaves free where one does, and each further one under the same
 * cap more: what the board drew beside the prediction with those tenants is not quite what it draws with others.
 */
const LEFT_FREE = 0.03
const MOST_LEFT_FREE = 0.15
/** What a plan must promise by the predictor alone, before anything was measured under the cap; relative. */
const LEAST_PREDICTED_GAIN = 0.02

/**
 * When to make a new plan, and whether it is worth its restarts: after a cap change, and once after the start where the board
 * proved to draw clearly more or less than predicted. Plans are made for the cap in the predictor's watts, by the measured ratio.
 *
 * A plan that promises much is adopted as soon as caps last long enough to regain its restarts: at once where they have, and else
 * when the present one has lasted as long as that takes, which never loses more than twice what was unavoidable. A plan that
 * promises little waits until throughput under the cap was measured.
 */
export class Replanning {
  readonly #options: ReplanningOptions
  readonly #decisions: Decision[] = []
  readonly #durations = new CapDurations()
  #sinceMs: number | undefined
  #plan: Configuration | undefined
  /** The plan will not have paid before. */
  #weighAgainMs = 0
  #reviewed = false
  #reviewedThrottled = false
  /** The cap is not kept: what is found is adopted whatever it costs. */
  #urgent = false
  /** Plans made under this cap because the tenants of before did not keep it. */
  #mended = 0
  /** The latency objective is not kept: the same, but no tenants are stopped for it. */
  #late = false

  constructor(options: ReplanningOptions) {
    this.#options = options
  }

  /** A plan is being made or waits for its time. */
  get pending(): boolean {
    return this.#sinceMs !== undefined
  }

  capChanged(timeMs: number): void {
    this.#durations.changed(timeMs)
    this.#sinceMs = timeMs
    this.#plan = undefined
    this.#weighAgainMs = 0
    this.#reviewed = true
    this.#reviewedThrottled = false
    this.#urgent = false
    this.#mended = 0
  }

  /** The clock alone does not keep the cap: plan now, and adopt what is found at once. */
  capNotKept(timeMs: number): void {
    this.#sinceMs = timeMs
    this.#plan = undefined
    this.#urgent = true
  }

  /** Batches take longer than promised: plan now, and adopt what is found at once. */
  latencyMissed(timeMs: number): void {
    this.#sinceMs = timeMs
    this.#plan = undefined
    this.#late = true
  }

  /** The firmware holds the board below what the plan counts on: the plan is weighed again, once for each cap. */
  throttled(timeMs: number): void {
    if (this.#reviewedThrottled || this.#sinceMs !== undefined) return
    this.#reviewedThrottled = true
    this.#sinceMs = timeMs - this.#options.sharesAfterS * 1000
  }

  takeDecisions(): Decision[] {
    return this.#decisions.splice(0)
  }

  /** @returns what to adopt now; `helpless` where the cap is not kept and no plan is better than the present one */
  step(context: ReplanContext): Replan | 'helpless' | undefined {
    if (this.#sinceMs === undefined) this.#review(context)
    else if (this.#plan === undefined) {
      // What the board draws beside what it should is known at the clocks that it has run, not at those it was just sent to.
      const clocksMove = context.timeMs - this.#sinceMs < CLOCKS_FIRST_MS
      if (clocksMove && !this.#urgent && !this.#late && !context.infeasible) return undefined
      // Weighed in a later step: the search has taken this one's time.
      this.#plan = this.#search(context)
      if (this.#plan !== undefined) return undefined
      const urgent = this.#urgent
      this.#forget()
      if (urgent) return 'helpless'
    } else if (this.#urgent) return this.#mend(this.#plan, context)
    else if (this.#late) return this.#hurry(this.#plan, context)
    else return this.#weigh(this.#plan, this.#sinceMs, context)
    return undefined
  }

  #search({ powerCapW, powerRatio, infeasible }: ReplanContext): Configuration | undefined {
    const { plan } = this.#options
    const modelledCapW = powerCapW / powerRatio
    if (!this.#urgent && !infeasible) return plan(modelledCapW, false)
    this.#mended++
    const leftFree = Math.min(LEFT_FREE * this.#mended, MOST_LEFT_FREE)
    return plan((1 - leftFree) * modelledCapW, true) ?? plan(modelledCapW, false)
  }

  #mend(plan: Configuration, { present, powerCapW }: ReplanContext): Replan | 'helpless' {
    this.#forget()
    if (keyOf(plan) === keyOf(present)) return 'helpless'
    const reason = `the present tenants do not keep ${powerCapW} W at any clock: a plan for what was measured`
    return { plan, reason, forThroughput: false }
  }

  #hurry(plan: Configuration, { present }: ReplanContext): Replan | undefined {
    this.#forget()
    if (keyOf(plan) === keyOf(present)) return undefined
    return { plan, reason: 'batches take longer than promised: a plan for shorter ones', forThroughput: false }
  }

  #review({ timeMs, settled, powerRatio }: ReplanContext): void {
    const { sharesAfterS } = this.#options
    if (this.#reviewed || !settled || timeMs < sharesAfterS * 1000) return
    this.#reviewed = true
    if (Math.abs(powerRatio - 1) <= WRONG_POWER) return
    this.#sinceMs = timeMs - sharesAfterS * 1000
    const off = `${(100 * Math.abs(powerRatio - 1)).toFixed(0)} % ${powerRatio > 1 ? 'more' : 'less'}`
    this.#decide('plan-review', `the board draws ${off} than predicted: a new plan`, { powerRatio })
  }

  #weigh(plan: Configuration, sinceMs: number, context: ReplanContext): Replan | undefined {
    const { predictor, sharesAfterS, payBackS } = this.#options
    const { present, powerCapW, powerRatio, timeMs, restartS } = context
    const staying = predictor.solveSmClock(present.tenants, present.memClockMhz, powerCapW / powerRatio)
    if (staying === undefined && context.infeasible) {
      this.#forget()
      const reason = 'the present tenants do not keep the new cap at any clock'
      return { plan, reason, forThroughput: false }
    }
    if (keyOf(plan) === keyOf(present)) {
      this.#forget()
      return undefined
    }
    if (timeMs < this.#weighAgainMs) return undefined
    const measured = timeMs - sinceMs >= sharesAfterS * 1000 && context.settled
    const { now, planned } = (measured && this.#expect(plan, context)) || this.#predict(plan, context, staying)
    const gain = planned - now
    const lastsS = Math.min(payBackS, this.#durations.expectedS(timeMs))
    const lost = restartCostSamples(present.tenants, plan.tenants, now, restartS)
    const promise = `a new plan promises ${gain.toFixed(0)} samples/s more and costs ${lost.toFixed(0)} samples`
    if (!measured) {
      // Clocks first: what a cap step shows of the board is not to be mixed with what other tenants do.
      if (timeMs - sinceMs < CLOCKS_FIRST_MS) return undefined
      if (gain <= LEAST_PREDICTED_GAIN * now || lost > gain * lastsS) return undefined
      this.#forget()
      return { plan, reason: promise, forThroughput: false }
    }
    const gains = gain > LEAST_GAIN * now
    if (gains && lost > gain * lastsS && lost <= gain * payBackS) {
      this.#weighAgainMs = timeMs + WEIGH_AGAIN_MS
      return undefined
    }
    this.#forget()
    if (gains && lost <= gain * lastsS) return { plan, reason: promise, forThroughput: true }
    const restarted = restartedCount(present.tenants, plan.tenants)
    this.#decide('plan-rejected', promise, { now, expected: planned, lost, restarted })
    return undefined
  }

  /** Samples/s of the present configuration and of another, by what was measured. */
  #expect(plan: Configuration, { present, expected }: ReplanContext): Rates | undefined {
    const now = expected(present)
    const planned = expected(plan)
    return now === undefined || planned === undefined ? undefined : { now, planned }
  }

  /** The same by the predictor alone. */
  #predict(plan: Configuration, { present }: ReplanContext, smClockMhz: number | undefined): Rates {
    const { predictor } = this.#options
    const { tenants, memClockMhz } = present
    const now = smClockMhz === undefined ? 0 : predictor.predict({ tenants, memClockMhz, smClockMhz }).throughput
    return { now, planned: predictor.predict(plan).throughput }
  }

  #forget(): void {
    this.#sinceMs = undefined
    this.#plan = undefined
    this.#weighAgainMs = 0
    this.#urgent = false
    this.#late = false
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}
