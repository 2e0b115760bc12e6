import { InvalidInputError } from '@pctodl/platform'

interface Step {
  readonly fromS: number
  readonly powerW: number
}

/** Power budget over time: each step applies until the next. A reduction takes effect `leadS` early. */
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
    this.#steps = [...others, { fromS, powerW }].sort((a, b) => a.fromS - b.fromS)
  }

  /** Budget at a given time, W. */
  at(nowS: number): number {
    return this.#steps.findLast(({ fromS }) => fromS <= nowS)!.powerW
  }

  /** Power for jobs above idle, W: the minimum of the current step and of the reductions already in effect. */
  forJobsW(nowS: number): number {
    const coming = this.#steps.filter(({ fromS }) => fromS > nowS && fromS - this.#leadS <= nowS)
    return Math.min(this.at(nowS), ...coming.map(({ powerW }) => powerW)) - this.#idleW
  }

  /** Returns when `forJobsW` may change next, s; Infinity if never. */
  nextChangeS(nowS: number): number {
    const changes = this.#steps.flatMap(({ fromS }) => [fromS - this.#leadS, fromS])
    return Math.min(...changes.filter((atS) => atS > nowS))
  }
}
