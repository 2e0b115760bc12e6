import type { ServiceReading } from '@pctodl/platform'

/** Time over which answers are counted, ms. */
const COUNTED_MS = 1500
/** Share of its objective that a request may be expected to wait in the queue: beyond, others are turned away. */
const LONG_WAIT = 0.5
/** Share of what a service was seen to answer that is let in while it cannot do more. */
const BELOW_CAPACITY = 0.93
/** How the share that is let in recovers, a step of 100 ms: where hardly anybody waits, and where some do. */
const REOPENING = 0.01
const REOPENING_SLOWLY = 0.002
const SHORT_WAIT = 0.1
/** Smallest share that is let in: something must come in to be measured. */
const LEAST = 0.02

interface Mark {
  readonly timeMs: number
  readonly completed: number
  readonly arrived: number
}

/**
 * How much of the arrivals of one service is let in. While a queue is so long that the last in it would be late, and the clock is
 * as high as it may be, no more is let in than was seen to be answered: who is turned away at once keeps the others in time.
 */
export class Admission {
  readonly #objectiveMs: number
  readonly #marks: Mark[] = []
  #share = 1

  constructor(objectiveMs: number) {
    this.#objectiveMs = objectiveMs
  }

  /** 0..1. */
  get share(): number {
    return this.#share
  }

  /** What tenants do while others load says nothing of what they will. */
  forget(): void {
    this.#marks.length = 0
  }

  /** @param exhausted the clock cannot go higher, and no tenant of the service is loading */
  update(timeMs: number, { arrived, completed, queued }: ServiceReading, exhausted: boolean): void {
    // Counters that fall begin again.
    if (arrived < (this.#marks.at(-1)?.arrived ?? 0)) this.#marks.length = 0
    this.#marks.push({ timeMs, arrived, completed })
    while (timeMs - this.#marks[0]!.timeMs > COUNTED_MS) this.#marks.shift()
    const first = this.#marks[0]!
    const spanMs = timeMs - first.timeMs
    const answered = completed - first.completed
    const came = arrived - first.arrived
    const waitMs = answered === 0 ? (queued > 0 ? Number.POSITIVE_INFINITY : 0) : (queued * spanMs) / answered
    const wait = waitMs / this.#objectiveMs
    // Once some are turned away it is known that there is no more to give.
    if ((exhausted || this.#share < 1) && spanMs >= COUNTED_MS / 2 && came > 0 && wait > LONG_WAIT) {
      const bearable = (BELOW_CAPACITY * answered) / came
      this.#share = Math.min(this.#share, Math.max(LEAST, bearable))
    } else if (wait < LONG_WAIT) {
      this.#share = Math.min(1, this.#share + (wait < SHORT_WAIT ? REOPENING : REOPENING_SLOWLY))
    }
  }
}
