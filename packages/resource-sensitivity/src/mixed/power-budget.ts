import { assertBudget } from './check-events.js'

interface Step {
  readonly fromS: number
  readonly powerW: number
  /** A fall is heeded from here on. */
  readonly heededS: number
}

/** The watts of a cluster over time: each step holds until the next. A fall that is known is heeded `leadS` before its time. */
export class PowerBudget {
  readonly #leadS: number
  /** The least that is possible: what the GPUs draw without work. */
  readonly #leastW: number
  #steps: Step[] = []

  /** @throws InvalidInputError */
  constructor(powerW: number, leadS: number, leastW: number) {
    this.#leadS = leadS
    this.#leastW = leastW
    this.tell(powerW, Number.NEGATIVE_INFINITY)
  }

  /** From a time on there are so many watts. What was told before of the same moment is forgotten. */
  tell(powerW: number, fromS: number): void {
    assertBudget(powerW, this.#leastW)
    const others = this.#steps.filter((step) => step.fromS !== fromS)
    this.#steps = [...others, { fromS, powerW, heededS: fromS - this.#leadS }].sort((a, b) => a.fromS - b.fromS)
  }

  /** What holds at a moment, W. */
  at(nowS: number): number {
    return this.#steps.findLast(({ fromS }) => fromS <= nowS)!.powerW
  }

  /** What to keep to: the least of what holds now and of the falls that must be heeded already, W. */
  toKeep(nowS: number): number {
    const coming = this.#steps.filter(({ fromS, heededS }) => fromS > nowS && heededS <= nowS)
    return Math.min(this.at(nowS), ...coming.map(({ powerW }) => powerW))
  }

  /** When `toKeep` may change next; Infinity where it never does. */
  nextChangeS(nowS: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { fromS, heededS } of this.#steps) {
      if (heededS > nowS) next = Math.min(next, heededS)
      else if (fromS > nowS) next = Math.min(next, fromS)
    }
    return next
  }
}
