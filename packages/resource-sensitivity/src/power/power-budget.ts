import { InvalidInputError } from '@pctodl/platform'

interface Step {
  readonly fromS: number
  readonly powerW: number
  /** A fall is heeded from here on. */
  readonly heededS: number
}

/** The watts of a cluster over time: each step holds until the next. A fall that is known is heeded `leadS` before its time. */
export class PowerBudget {
  readonly #leadS: number
  readonly #idleW: number
  #steps: Step[] = []

  /**
   * @param idleW what the GPUs draw without work
   * @throws InvalidInputError
   */
  constructor(powerW: number, leadS: number, idleW: number) {
    this.#leadS = leadS
    this.#idleW = idleW
    this.assert(powerW)
    this.tell(powerW, Number.NEGATIVE_INFINITY)
  }

  /** @throws InvalidInputError for less than the GPUs draw without work */
  assert(powerW: number): void {
    if (powerW >= this.#idleW) return
    throw new InvalidInputError('powerBudgetW', powerW, `at least ${this.#idleW} W, which the GPUs draw without work`)
  }

  /** From a time on there are so many watts. What was told before of the same moment is forgotten. */
  tell(powerW: number, fromS: number): void {
    const others = this.#steps.filter((step) => step.fromS !== fromS)
    this.#steps = [...others, { fromS, powerW, heededS: fromS - this.#leadS }].sort((a, b) => a.fromS - b.fromS)
  }

  /** What holds at a moment, W. */
  at(nowS: number): number {
    return this.#steps.findLast(({ fromS }) => fromS <= nowS)!.powerW
  }

  /** What jobs may draw above idle: by the least of what holds now and of the falls that must be heeded already, W. */
  forJobsW(nowS: number): number {
    const coming = this.#steps.filter(({ fromS, heededS }) => fromS > nowS && heededS <= nowS)
    return Math.min(this.at(nowS), ...coming.map(({ powerW }) => powerW)) - this.#idleW
  }

  /** When `forJobsW` may change next; Infinity where it never does. */
  nextChangeS(nowS: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { fromS, heededS } of this.#steps) {
      if (heededS > nowS) next = Math.min(next, heededS)
      else if (fromS > nowS) next = Math.min(next, fromS)
    }
    return next
  }
}
