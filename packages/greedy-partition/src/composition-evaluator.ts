import type { Prediction, Predictor } from '@pctodl/perf-model'
import type { Configuration, Tenant } from '@pctodl/platform'
import { tightestBound } from './bounds.js'
import { type Composition, compositionKey, isComplete, sumOf } from './composition.js'
import { highestClock } from './highest-clock.js'
import type { SearchProblem } from './search-problem.js'

/**
 * A composition that meets all bounds, at the highest SM clock within the cap. It does not keep the
 * prediction, because a search keeps thousands of evaluations: collecting their memory would take a third of its time.
 */
export interface Evaluation {
  readonly composition: Composition
  /** Index into the problem's memory clocks. */
  readonly memIndex: number
  readonly smClockMhz: number
  /** Samples/s. */
  readonly throughput: number
  readonly powerW: number
  /** Objective value: samples/s, weighted if the networks have weights. */
  readonly score: number
}

/**
 * Evaluates compositions in memory states: finds the highest clock within the cap and predicts at this clock. It caches
 * the results and counts the evaluations against the budget.
 */
export class CompositionEvaluator {
  readonly predictor: Predictor
  readonly problem: SearchProblem
  /** Number of distinct configurations evaluated so far. */
  evaluations = 0
  readonly #known = new Map<string, Evaluation | undefined>()
  #timed = false
  readonly #plainSum: boolean

  constructor(predictor: Predictor, problem: SearchProblem) {
    this.predictor = predictor
    this.problem = problem
    this.#plainSum = problem.weights.every((weight) => weight === 1)
  }

  /** The budget that is spent; undefined if none is. */
  spent(): 'evaluation-budget' | 'time-budget' | undefined {
    if (this.evaluations >= this.problem.budgetEvaluations) return 'evaluation-budget'
    if (this.#timed && this.problem.now() >= this.problem.deadlineMs) return 'time-budget'
    return undefined
  }

  /** Enforce the time budget from now on. */
  watchTime(): void {
    this.#timed = true
  }

  /**
   * Evaluate a composition. The result is undefined if it needs too much memory, exceeds the cap at the lowest clock,
   * has a tenant that is too slow, or lies beyond `maxDistance`.
   */
  evaluate(composition: Composition, memIndex: number): Evaluation | undefined {
    const key = compositionKey(composition, memIndex)
    const known = this.#known.get(key)
    if (known !== undefined || this.#known.has(key)) return known
    const evaluation = this.evaluateAfresh(composition, memIndex)
    this.#known.set(key, evaluation)
    return evaluation
  }

  /** Like `evaluate`, but without the cache, for enumerations that visit every composition once. */
  evaluateAfresh(composition: Composition, memIndex: number): Evaluation | undefined {
    const { problem, predictor } = this
    if (sumOf(problem.kinds.memoryBytes, composition) > problem.memoryBytes) return undefined
    this.evaluations++
    const tenants = this.tenantsOf(composition)
    const solved = highestClock(predictor, problem, tenants, problem.memClocksMhz[memIndex]!)
    if (solved === undefined) return undefined
    const { smClockMhz, prediction } = solved
    const bound = tightestBound(problem, composition, prediction)
    if (bound !== undefined && bound.ratio > 1) return undefined
    const { throughput, powerW } = prediction
    const score = this.#score(composition, prediction)
    return { composition, memIndex, smClockMhz, throughput, powerW, score }
  }

  /** All evaluated configurations that have a tenant of every network and meet every bound. */
  seen(): Evaluation[] {
    const { kinds } = this.problem
    return [...this.#known.values()].filter(
      (evaluation) => evaluation !== undefined && isComplete(kinds, evaluation.composition),
    ) as Evaluation[]
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

  predictionOf(evaluation: Evaluation): Prediction {
    return this.predictor.predict(this.configuration(evaluation))
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

/**
 * The better of two evaluations. Ties follow the canonical order, so the result does not depend on the order of calls.
 */
export function better(a: Evaluation | undefined, b: Evaluation | undefined): Evaluation | undefined {
  if (a === undefined || b === undefined) return a ?? b
  if (a.score !== b.score) return a.score > b.score ? a : b
  return compositionKey(a.composition, a.memIndex) <= compositionKey(b.composition, b.memIndex) ? a : b
}
