import { InvalidInputError } from '@pctodl/platform'

interface Step {
  readonly fromS: number
  readonly powerW: number
  /** Time a fall takes effect. */
  readonly heededS: number
}

/**
 * Power budget of a cluster over time: each step applies until the next. An announced reduction takes effect `leadS`
 * early.
 */
export class PowerBudget {
  readonly #leadS: number
  readonly #idleW: number
  #steps: Step[] = []

  /**
   * @param idleW idle power of the GPUs
   * @throws InvalidInputError
   */
  constructor(powerW: number, leadS: number, idleW: number) {
    this.#leadS = leadS
    this.#idleW = idleW
    this.assert(powerW)
    this.tell(powerW, Number.NEGATIVE_INFINITY)
  }

  /** @throws InvalidInputError for a budget below the GPUs' idle power */
  assert(powerW: number): void {
    if (powerW >= this.#idleW) return
    throw new InvalidInputError('powerBudgetW', powerW, `at least ${this.#idleW} W, the idle power of the GPUs`)
  }

  /** Sets the budget from `fromS` on; replaces an earlier value for the same time. */
  tell(powerW: number, fromS: number): void {
    const others = this.#steps.filter((step) => step.fromS !== fromS)
    this.#steps = [...others, { fromS, powerW, heededS: fromS - this.#leadS }].sort((a, b) => a.fromS - b.fromS)
  }

  /** Budget at a given time, W. */
  at(nowS: number): number {
    return this.#steps.findLast(({ fromS }) => fromS <= nowS)!.powerW
  }

  /**
   * Returns the power that jobs may draw above idle, W: the minimum of the current step and of the announced reductions
   * already in effect.
   */
  forJobsW(nowS: number): number {
    const coming = this.#steps.filter(({ fromS, heededS }) => fromS > nowS && heededS <= nowS)
    return Math.min(this.at(nowS), ...coming.map(({ powerW }) => powerW)) - this.#idleW
  }

  /** Returns when `forJobsW` may change next, s; Infinity if never. */
  nextChangeS(nowS: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { fromS, heededS } of this.#steps) {
      if (heededS > nowS) next = Math.min(next, heededS)
      else if (fromS > nowS) next = Math.min(next, fromS)
    }
    return next
  }
}
