import type { Prediction, Predictor } from '@pctodl/perf-model'
import type { Configuration, Tenant } from '@pctodl/platform'
import { tightestBound } from './bounds.js'
import { type Composition, compositionKey } from './composition.js'
import { highestClock } from './highest-clock.js'
import type { SearchProblem } from './search-problem.js'

/** A composition at the highest SM clock that keeps the cap, every bound kept. */
export interface Evaluation {
  readonly composition: Composition
  /** Index into the problem's memory clocks. */
  readonly memIndex: number
  readonly smClockMhz: number
  readonly prediction: Prediction
  /** What is maximised: samples/s, weighted where the networks have weights. */
  readonly score: number
}

/**
 * Answers "how good is this composition in this memory state", once per question: the clock is solved and the
 * prediction made the first time, remembered afterwards. Counts the first times and says when the budget is spent.
 */
export class CompositionEvaluator {
  readonly predictor: Predictor
  readonly problem: SearchProblem
  #evaluations = 0
  #leftOut = 0
  readonly #known = new Map<string, Evaluation | undefined>()
  readonly #startMs: number
  #timed = false
  readonly #plainSum: boolean

  constructor(predictor: Predictor, problem: SearchProblem) {
    this.predictor = predictor
    this.problem = problem
    this.#startMs = problem.now()
    this.#plainSum = problem.weights.every((weight) => weight === 1)
  }

  /** Distinct configurations evaluated so far. */
  get evaluations(): number {
    return this.#evaluations
  }

  /** How many of them kept the cap but lie too far from what the predictor was fitted to. */
  get leftOut(): number {
    return this.#leftOut
  }

  /** Which budget is spent; undefined while there is some left. */
  spent(): 'evaluation-budget' | 'time-budget' | undefined {
    if (this.#evaluations >= this.problem.budgetEvaluations) return 'evaluation-budget'
    if (this.#timed && this.problem.now() - this.#startMs >= this.problem.timeBudgetMs) return 'time-budget'
    return undefined
  }

  /** From here on the time budget holds, counted from the beginning. */
  watchTime(): void {
    this.#timed = true
  }

  /**
   * Undefined where the composition breaks a bound: too much memory, over the cap at the lowest clock, a tenant too slow, too far
   * from what the predictor was fitted to.
   */
  evaluate(composition: Composition, memIndex: number): Evaluation | undefined {
    const key = compositionKey(composition, memIndex)
    const known = this.#known.get(key)
    if (known !== undefined || this.#known.has(key)) return known
    const evaluation = this.evaluateAfresh(composition, memIndex)
    this.#known.set(key, evaluation)
    return evaluation
  }

  /** As `evaluate`, without a memory: for enumerations that meet every composition once. */
  evaluateAfresh(composition: Composition, memIndex: number): Evaluation | undefined {
    const { problem, predictor } = this
    if (!this.#fitsMemory(composition)) return undefined
    this.#evaluations++
    const tenants = this.tenantsOf(composition)
    const solved = highestClock(predictor, problem, tenants, problem.memClocksMhz[memIndex]!)
    if (solved === undefined) return undefined
    const { smClockMhz, prediction } = solved
    if (prediction.distance !== undefined && prediction.distance > problem.mostDistance) {
      this.#leftOut++
      return undefined
    }
    const bound = tightestBound(problem, composition, prediction)
    if (bound !== undefined && bound.ratio > 1) return undefined
    return { composition, memIndex, smClockMhz, prediction, score: this.#score(composition, prediction) }
  }

  tenantsOf(composition: Composition): Tenant[] {
    return composition.map((kind) => this.problem.kinds.tenants[kind]!)
  }

  configuration(evaluation: Evaluation): Configuration {
    return {
      tenants: this.tenantsOf(evaluation.composition),
      smClockMhz: evaluation.smClockMhz,
      memClockMhz: this.problem.memClocksMhz[evaluation.memIndex]!,
    }
  }

  #fitsMemory(composition: Composition): boolean {
    let bytes = 0
    for (const kind of composition) bytes += this.problem.kinds.memoryBytes[kind]!
    return bytes <= this.problem.memoryBytes
  }

  #score(composition: Composition, prediction: Prediction): number {
    if (this.#plainSum) return prediction.throughput
    let score = 0
    composition.forEach((kind, i) => {
      score += this.problem.weights[this.problem.kinds.network[kind]!]! * prediction.tenants[i]!.throughput
    })
    return score
  }
}

/** The better of two; the canonical order decides ties, so that no order of calls can. */
export function better(a: Evaluation | undefined, b: Evaluation | undefined): Evaluation | undefined {
  if (a === undefined || b === undefined) return a ?? b
  if (a.score !== b.score) return a.score > b.score ? a : b
  return compositionKey(a.composition, a.memIndex) <= compositionKey(b.composition, b.memIndex) ? a : b
}
