import { mean } from '@pctodl/numerics'
import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import type { Decision, WindowObservation } from '../policy.js'
import { type Candidate, candidatesNear, keyOf } from './candidates.js'
import { throughputAtTarget } from './merit.js'
import { ResidualModel } from './residual-model.js'
import { ShadowSearch, type Suggestion } from './shadow-search.js'

export interface ShadowOptions {
  /** Undisturbed windows between two tries. Default 3; doubles with each try that fails, up to 16 times that. */
  readonly interval?: number
  /** Places on the ladder of batch sizes to look at around each present one. Default 3. */
  readonly radius?: number
  /** Least predicted relative gain worth a try. Default 0.003. */
  readonly threshold?: number
  /** Measured windows to remember. Default 300. */
  readonly history?: number
  /** New measurements between two fits of the residual model. Default 3. */
  readonly gpRefitInterval?: number
  /** Most measurements to fit to. Default 300. */
  readonly gpMaxPoints?: number
  /** Default 5. */
  readonly sharePercentStep?: number
  /** Default 60. */
  readonly payBackS?: number
  /** Try other memory clocks too. Default true. */
  readonly adjustMemClock?: boolean
}

/** What the optimizer must know of the moment to begin a search. */
export interface ShadowContext {
  readonly present: Candidate
  readonly targetW: number
  readonly memoryBytes: number
  readonly restartS: number
}

interface Trial {
  readonly before: Candidate
  readonly beforeThroughput: number
  readonly key: string
  skip: number
  readonly measured: number[]
}

/** Windows that a new configuration gets to settle, and then to show what it is worth. */
const SETTLING_WINDOWS = 1
const TRIAL_WINDOWS = 2
const LONGEST_BACKOFF = 16
/** Candidates judged in one slice: well below a millisecond. */
const SLICE = 24
/** A trial that measures less than this much of what was before has hurt, whatever the noise. */
const HURT = 0.999

/**
 * Looks beside the running configuration for a better one: predictions corrected by what was measured, one try at a time,
 * and every try judged by measurement and taken back where it hurt. It asks; the policy carries out.
 */
export class ShadowOptimizer {
  readonly #predictor: Predictor
  readonly #options: Required<ShadowOptions>
  readonly #residuals: ResidualModel
  readonly #failed = new Set<string>()
  readonly #decisions: Decision[] = []
  /** Throughput at the target power in the undisturbed windows since the last change of configuration or cap. */
  #recent: number[] = []
  #recentKey = ''
  #trial: Trial | undefined
  #search: ShadowSearch | undefined
  #backoff = 1
  #waited = 0

  /** @throws InvalidInputError naming the option */
  constructor(predictor: Predictor, options: ShadowOptions = {}) {
    this.#predictor = predictor
    this.#options = {
      interval: atLeast('interval', options.interval ?? 3, 1),
      radius: atLeast('radius', options.radius ?? 3, 0),
      threshold: atLeast('threshold', options.threshold ?? 0.003, 0),
      history: atLeast('history', options.history ?? 300, 1),
      gpRefitInterval: atLeast('gpRefitInterval', options.gpRefitInterval ?? 3, 1),
      gpMaxPoints: atLeast('gpMaxPoints', options.gpMaxPoints ?? 300, 1),
      sharePercentStep: atLeast('sharePercentStep', options.sharePercentStep ?? 5, 1),
      payBackS: atLeast('payBackS', options.payBackS ?? 60, 0),
      adjustMemClock: options.adjustMemClock ?? true,
    }
    this.#residuals = new ResidualModel(predictor, {
      history: this.#options.history,
      maxPoints: this.#options.gpMaxPoints,
      refitInterval: this.#options.gpRefitInterval,
    })
  }

  get inTrial(): boolean {
    return this.#trial !== undefined
  }

  /** A new cap: what was measured of throughput no longer compares, what was learnt of the predictor's errors does. */
  capChanged(): void {
    this.#recent = []
    this.#search = undefined
    this.#trial = undefined
    this.#failed.clear()
    this.#backoff = 1
    this.#waited = 0
  }

  /** Mean of the last undisturbed windows, samples/s; undefined before two of them. */
  get throughput(): number | undefined {
    return this.#recent.length >= 2 ? mean(this.#recent.slice(-3)) : undefined
  }

  /**
   * Learn from a window; within a trial, judge it.
   *
   * @param targetW power that the clock controller may go up to
   * @returns the configuration to go back to, where a trial hurt
   */
  observe(window: WindowObservation, targetW: number): Candidate | undefined {
    const { memClockMhz, smClockMhz, powerAverageW, throughput, validity = 'ok', tenants } = window
    const disturbed = window.reconfigured || validity !== 'ok'
    const failed = tenants.some(({ failure }) => failure !== null)
    if (failed) return this.tenantFailed()
    if (disturbed || memClockMhz === null || smClockMhz === null || powerAverageW === null) return undefined
    if (!(throughput > 0) || tenants.length === 0) return undefined
    const present = {
      tenants: tenants.map(({ tenant }) => tenant),
      memClockMhz: window.applied.memClockMhz ?? memClockMhz,
    }
    const key = keyOf(present)
    if (key !== this.#recentKey) {
      // The first window of a configuration still holds some of the one before: a batch size changes at the next batch.
      this.#recentKey = key
      this.#recent = []
      return undefined
    }
    const merit = throughputAtTarget(this.#predictor, { ...present, smClockMhz }, throughput, powerAverageW, targetW)
    this.#recent.push(merit)
    this.#waited++
    // Labelled with what ran: the measured clocks and the batch sizes of these processes, not what was asked for next.
    if (this.#predictor.memClocksMhz.includes(present.memClockMhz)) {
      this.#residuals.learn({ configuration: { ...present, smClockMhz }, throughput, powerW: powerAverageW })
    }
    return this.#trial ? this.#judge(this.#trial, key, merit) : undefined
  }

  /** @returns the configuration to go back to, where the failure fell into a trial */
  tenantFailed(): Candidate | undefined {
    return this.#trial && this.#rollBack(this.#trial, 'a tenant failed')
  }

  /** A configuration was put in force from outside as a try: judge it as one of our own. */
  beginTrial(before: Candidate, after: Candidate): void {
    const beforeThroughput = this.throughput
    if (beforeThroughput === undefined) return
    this.#begin(before, after, beforeThroughput)
  }

  /**
   * A slice of search, where one is due.
   *
   * @returns the configuration to try
   */
  idle(context: () => ShadowContext | undefined): Suggestion | undefined {
    if (this.#trial) return undefined
    if (!this.#search) {
      const now = this.throughput
      if (now === undefined || this.#waited < this.#options.interval * this.#backoff) return undefined
      const asked = context()
      if (!asked) return undefined
      this.#search = this.#newSearch(asked, now)
      return undefined
    }
    this.#search.run(SLICE)
    if (!this.#search.done) return undefined
    return this.#conclude(this.#search, context)
  }

  takeDecisions(): Decision[] {
    return this.#decisions.splice(0)
  }

  /** What a candidate is expected to do, by the corrected prediction. */
  judge(candidate: Candidate, context: ShadowContext, throughput: number): Suggestion | undefined {
    this.#residuals.refit()
    return this.#searchFor(context, throughput, []).judge(candidate)
  }

  #newSearch(context: ShadowContext, now: number): ShadowSearch {
    this.#residuals.refit()
    const { radius, sharePercentStep, adjustMemClock } = this.#options
    const memClocksMhz = adjustMemClock ? this.#predictor.memClocksMhz : []
    const candidates = candidatesNear(context.present, { radius, sharePercentStep, memClocksMhz })
    return this.#searchFor(
      context,
      now,
      candidates.filter((candidate) => !this.#failed.has(keyOf(candidate))),
    )
  }

  #searchFor(context: ShadowContext, now: number, candidates: readonly Candidate[]): ShadowSearch {
    const { threshold, payBackS } = this.#options
    const question = { ...context, throughput: now, threshold, payBackS }
    return new ShadowSearch(this.#predictor, this.#residuals, question, candidates)
  }

  #conclude(search: ShadowSearch, context: () => ShadowContext | undefined): Suggestion | undefined {
    this.#search = undefined
    this.#waited = 0
    const { best, judged, feasible } = search
    const now = this.throughput
    const asked = context()
    if (!best || now === undefined || !asked || keyOf(asked.present) !== this.#recentKey) {
      this.#backoff = Math.min(LONGEST_BACKOFF, 2 * this.#backoff)
      this.#decide('shadow-none', `none of ${judged} neighbours (${feasible} of them feasible) promises a gain`, {
        judged,
        feasible,
        throughput: now,
      })
      return undefined
    }
    this.#begin(asked.present, best, now)
    const gain = (100 * (best.throughput / now - 1)).toFixed(1)
    this.#decide('shadow-try', `the best of ${judged} neighbours promises ${gain} % more at the same power`, {
      ...best,
      judged,
      feasibleNeighbours: feasible,
      throughputBefore: now,
    })
    return best
  }

  #begin(before: Candidate, after: Candidate, beforeThroughput: number): void {
    this.#trial = { before, beforeThroughput, key: keyOf(after), skip: SETTLING_WINDOWS, measured: [] }
    this.#waited = 0
  }

  #judge(trial: Trial, key: string, merit: number): Candidate | undefined {
    if (key !== trial.key) return undefined
    if (trial.skip > 0) {
      trial.skip--
      this.#recent = []
      return undefined
    }
    trial.measured.push(merit)
    if (trial.measured.length < TRIAL_WINDOWS) return undefined
    const after = mean(trial.measured)
    const change = `${(100 * (after / trial.beforeThroughput - 1)).toFixed(1)} %`
    if (after < trial.beforeThroughput * HURT) return this.#rollBack(trial, `it measured ${change}`)
    this.#trial = undefined
    this.#waited = 0
    this.#backoff = 1
    this.#decide('shadow-kept', `it measured ${change}`, { before: trial.beforeThroughput, after })
    return undefined
  }

  #rollBack(trial: Trial, reason: string): Candidate {
    this.#trial = undefined
    this.#waited = 0
    this.#failed.add(trial.key)
    this.#backoff = Math.min(LONGEST_BACKOFF, 2 * this.#backoff)
    this.#decide('shadow-rolled-back', reason, { before: trial.beforeThroughput, measured: trial.measured })
    return trial.before
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}

function atLeast(field: string, value: number, least: number): number {
  if (!(Number.isFinite(value) && value >= least)) {
    throw new InvalidInputError(`shadow.${field}`, value, `a number of at least ${least}`)
  }
  return value
}
