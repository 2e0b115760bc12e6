import type { Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import type { Candidate } from './candidates.js'
import { expectedImprovement, probabilityWithin } from './expected-improvement.js'
import { throughputAtTarget } from './merit.js'
import type { ResidualModel } from './residual-model.js'
import { restartCostSamples } from './restart-cost.js'

export interface SearchQuestion {
  readonly present: Candidate
  /** Samples/s of the present configuration at the target power, as measured. */
  readonly throughput: number
  /** Watts on the sensor's scale that the clock controller may go up to. */
  readonly targetW: number
  readonly memoryBytes: number
  /** Least relative gain, e.g. 0.003. */
  readonly threshold: number
  /** Samples lost in restarts must be regained within this time, s. */
  readonly payBackS: number
  readonly restartS: number
}

/** A candidate that is worth a try, and why. */
export interface Suggestion extends Candidate {
  /** Samples/s at the target power. */
  readonly throughput: number
  readonly throughputSd: number
  readonly smClockMhz: number
  readonly powerW: number
  readonly powerSdW: number
  /** Chance that even the lowest clock keeps the cap: below `LEAST_FEASIBLE` a candidate is not considered. */
  readonly feasible: number
  /** Chance of more throughput than now. */
  readonly better: number
  /** Samples lost in restarts, going and, should it fail, coming back, over the gain. */
  readonly payBackS: number
  readonly score: number
}

const LEAST_FEASIBLE = 0.95
/** Share of the memory to fill at most: predictions of it are off by some percent, and a tenant that does not fit dies. */
const MOST_MEMORY = 0.95
/** A change that restarts nothing is cheap to try; one that does must be all but sure. */
const LEAST_BETTER = 0.6
const LEAST_BETTER_WITH_RESTARTS = 0.9

/**
 * One search over candidates, in slices, so that it never delays a clock: `run(n)` judges the next n. Each candidate is
 * judged at the clock that the controller would give it, the highest within the target by the corrected prediction.
 */
export class ShadowSearch {
  readonly #predictor: Predictor
  readonly #residuals: ResidualModel
  readonly #question: SearchQuestion
  readonly #candidates: readonly Candidate[]
  #next = 0
  #feasibleCount = 0
  #best: Suggestion | undefined

  constructor(
    predictor: Predictor,
    residuals: ResidualModel,
    question: SearchQuestion,
    candidates: readonly Candidate[],
  ) {
    this.#predictor = predictor
    this.#residuals = residuals
    this.#question = question
    this.#candidates = candidates
  }

  get done(): boolean {
    return this.#next >= this.#candidates.length
  }

  get judged(): number {
    return this.#next
  }

  get feasible(): number {
    return this.#feasibleCount
  }

  /** The best so far that passes every test. */
  get best(): Suggestion | undefined {
    return this.#best
  }

  run(count: number): void {
    const end = Math.min(this.#candidates.length, this.#next + count)
    for (; this.#next < end; this.#next++) {
      const suggestion = this.judge(this.#candidates[this.#next]!)
      if (suggestion && this.#passes(suggestion) && suggestion.score > (this.#best?.score ?? 0)) this.#best = suggestion
    }
  }

  /** What is expected of a candidate; undefined where it does not fit or may not keep the cap. */
  judge({ tenants, memClockMhz }: Candidate): Suggestion | undefined {
    const { targetW, memoryBytes, throughput: now, present, restartS } = this.#question
    // What needs no more memory than the present fits, whatever is predicted.
    if (this.#bytesOf(tenants) > Math.max(MOST_MEMORY * memoryBytes, this.#bytesOf(present.tenants))) return undefined
    // The correction hardly depends on the clock; take it at the one that the prediction alone would choose.
    const guessMhz = this.#predictor.solveSmClock(tenants, memClockMhz, targetW)
    if (guessMhz === undefined) return undefined
    const { throughput, power } = this.#residuals.correction({ tenants, memClockMhz, smClockMhz: guessMhz })
    const ratio = Math.exp(power.mean)
    const smClockMhz = this.#predictor.solveSmClock(tenants, memClockMhz, targetW / ratio)
    if (smClockMhz === undefined) return undefined
    const lowestMhz = smClocksAt(this.#predictor.spec, memClockMhz)![0]!
    const lowestW = this.#predictor.predict({ tenants, memClockMhz, smClockMhz: lowestMhz }).powerW * ratio
    const feasible = probabilityWithin(lowestW, lowestW * power.sd, targetW)
    if (feasible < LEAST_FEASIBLE) return undefined
    this.#feasibleCount++
    const predicted = this.#predictor.predict({ tenants, memClockMhz, smClockMhz })
    const powerW = predicted.powerW * ratio
    const corrected = predicted.throughput * Math.exp(throughput.mean)
    const configuration = { tenants, memClockMhz, smClockMhz }
    const mean = throughputAtTarget(this.#predictor, configuration, corrected, powerW, targetW)
    // An error of power moves the clock, and throughput about as much.
    const sd = mean * Math.hypot(throughput.sd, power.sd)
    const gain = mean - now
    const better = 1 - probabilityWithin(mean, sd, now)
    const lost = restartCostSamples(present.tenants, tenants, now, restartS) * (2 - better)
    return {
      tenants,
      memClockMhz,
      smClockMhz,
      throughput: mean,
      throughputSd: sd,
      powerW,
      powerSdW: powerW * power.sd,
      feasible,
      better,
      payBackS: lost === 0 ? 0 : gain > 0 ? lost / gain : Number.POSITIVE_INFINITY,
      score: expectedImprovement(mean, sd, now) * feasible,
    }
  }

  #bytesOf(tenants: readonly Tenant[]): number {
    return tenants.reduce((sum, tenant) => sum + this.#predictor.memoryBytes(tenant), 0)
  }

  #passes({ throughput, better, payBackS }: Suggestion): boolean {
    const { threshold, throughput: now, payBackS: longest } = this.#question
    const leastBetter = payBackS > 0 ? LEAST_BETTER_WITH_RESTARTS : LEAST_BETTER
    return throughput - now > threshold * now && better >= leastBetter && payBackS <= longest
  }
}
