import { ServingModel, type ServingPrediction } from '@pctodl/perf-model/serving'
import { configurationOf, type Layout } from './layout.js'
import type { PlanProblem } from './plan-problem.js'

/** Fraction of the requests that must be answered within the objective. */
export const WANTED = 0.99

/** A layout with a cache of its serving models, one per clock. */
export class LayoutBoard {
  /** Number of SM clocks. */
  readonly clocks: number
  readonly #problem: PlanProblem
  readonly #layout: Layout
  readonly #models = new Map<number, ServingModel>()

  constructor(problem: PlanProblem, layout: Layout) {
    this.#problem = problem
    this.#layout = layout
    this.clocks = problem.smClocksMhz[layout.memIndex]!.length
  }

  /**
   * Board power at a clock, W. For each service, it writes the fraction of requests within the objective into
   * `attainments`.
   */
  powerAt(clockIndex: number, ratesPerS: readonly number[], attainments: Float64Array): number {
    return this.#at(clockIndex).attainments(ratesPerS, attainments, this.#problem.burstiness)
  }

  predictAt(clockIndex: number, ratesPerS: readonly number[]): ServingPrediction {
    return this.#at(clockIndex).predict(ratesPerS, this.#problem.burstiness)
  }

  #at(clockIndex: number): ServingModel {
    let serving = this.#models.get(clockIndex)
    if (serving === undefined) {
      const { model, costs, objectives } = this.#problem
      const configuration = configurationOf(this.#problem, this.#layout, clockIndex)
      serving = new ServingModel(model, configuration, objectives, { costs })
      this.#models.set(clockIndex, serving)
    }
    return serving
  }
}
