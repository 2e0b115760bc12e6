import type { Predictor } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import type { Decision } from '../policy.js'
import { type Candidate, keyOf } from '../shadow/candidates.js'
import { restartCostSamples, restartedCount } from '../shadow/restart-cost.js'

export interface ReplanningOptions {
  readonly predictor: Predictor
  /** Samples lost in restarts must be regained within this time, s. */
  readonly payBackS: number
  /** From a cap change until tenants may change for it, s. */
  readonly sharesAfterS: number
  /** The best configuration under a cap by the predictor's watts; undefined where there is none. */
  readonly plan: (modelledCapW: number) => Configuration | undefined
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

/** A predictor whose power is off by more than this has made another plan than it should have; relative. */
const WRONG_POWER = 0.05
const LEAST_GAIN = 0.003

/**
 * When to make a new plan, and whether it is worth its restarts: after a cap change, and once after the start where the board
 * proved to draw clearly more or less than predicted. Plans are made for the cap in the predictor's watts, by the measured ratio.
 */
export class Replanning {
  readonly #options: ReplanningOptions
  readonly #decisions: Decision[] = []
  #sinceMs: number | undefined
  #plan: Configuration | undefined
  #reviewed = false

  constructor(options: ReplanningOptions) {
    this.#options = options
  }

  /** A plan is being made or waits for its time. */
  get pending(): boolean {
    return this.#sinceMs !== undefined
  }

  capChanged(timeMs: number): void {
    this.#sinceMs = timeMs
    this.#plan = undefined
    this.#reviewed = true
  }

  takeDecisions(): Decision[] {
    return this.#decisions.splice(0)
  }

  /** @returns what to adopt now */
  step(context: ReplanContext): Replan | undefined {
    if (this.#sinceMs === undefined) this.#review(context)
    else if (this.#plan === undefined) {
      // Weighed in a later step: the search has taken this one's time.
      this.#plan = this.#options.plan(context.powerCapW / context.powerRatio)
      if (this.#plan === undefined) this.#sinceMs = undefined
    } else return this.#weigh(this.#plan, this.#sinceMs, context)
    return undefined
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
    if (timeMs - sinceMs < sharesAfterS * 1000 || !context.settled) return undefined
    this.#forget()
    if (keyOf(plan) === keyOf(present)) return undefined
    const { now, planned } = this.#compare(plan, context)
    const lost = restartCostSamples(present.tenants, plan.tenants, now, restartS)
    const gain = planned - now
    const promise = `a new plan promises ${gain.toFixed(0)} samples/s more and costs ${lost.toFixed(0)} samples`
    if (gain > LEAST_GAIN * now && lost <= gain * payBackS) return { plan, reason: promise, forThroughput: true }
    const restarted = restartedCount(present.tenants, plan.tenants)
    this.#decide('plan-rejected', promise, { now, expected: planned, lost, restarted })
    return undefined
  }

  #compare(plan: Configuration, { present, powerCapW, powerRatio, expected }: ReplanContext) {
    const expectedNow = expected(present)
    const expectedPlanned = expected(plan)
    if (expectedNow !== undefined && expectedPlanned !== undefined)
      return { now: expectedNow, planned: expectedPlanned }
    const { predictor } = this.#options
    const { tenants, memClockMhz } = present
    const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, powerCapW / powerRatio)
    const now = smClockMhz === undefined ? 0 : predictor.predict({ tenants, memClockMhz, smClockMhz }).throughput
    return { now, planned: predictor.predict(plan).throughput }
  }

  #forget(): void {
    this.#sinceMs = undefined
    this.#plan = undefined
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}
