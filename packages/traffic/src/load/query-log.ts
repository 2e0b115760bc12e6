import type { Clock, RequestOutcome } from '@pctodl/platform'
import type { Query, SystemUnderTest } from './system-under-test.js'

/** Different reasons of failure that are kept. */
const REASONS_KEPT = 5

/** Sends queries and writes down what becomes of each. */
export class QueryLog {
  readonly #system: SystemUnderTest
  readonly #clock: Clock
  readonly #reasons = new Set<string>()
  readonly #open = new Set<Promise<void>>()
  #latenciesMs = new Float64Array(1024)
  #count = 0
  completed = 0
  shed = 0
  failed = 0
  /** The longest that a query was sent after it was due, ms: what the generator itself was late. */
  maxBehindMs = 0
  /** When the last answer came, ms of the clock. */
  lastAnswerMs = 0

  constructor(system: SystemUnderTest, clock: Clock) {
    this.#system = system
    this.#clock = clock
  }

  get reasons(): readonly string[] {
    return [...this.#reasons]
  }

  get open(): number {
    return this.#open.size
  }

  /** Resolves when the query is decided, however; whoever does not wait for it is an open loop. */
  send(query: Query): Promise<void> {
    this.maxBehindMs = Math.max(this.maxBehindMs, this.#clock.now() - query.dueMs)
    const decided = this.#decide(query).finally(() => this.#open.delete(decided))
    this.#open.add(decided)
    return decided
  }

  /** Resolves when nothing is open any more. */
  async settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  /** From due to answer, ms, ascending; Infinity for what got none. */
  latenciesMs(): Float64Array {
    return this.#latenciesMs.slice(0, this.#count).sort()
  }

  async #decide(query: Query): Promise<void> {
    let outcome: RequestOutcome
    try {
      outcome = (await this.#system.answer(query)) ?? 'completed'
    } catch (error) {
      outcome = 'failed'
      if (this.#reasons.size < REASONS_KEPT) this.#reasons.add(error instanceof Error ? error.message : String(error))
    }
    this[outcome]++
    this.lastAnswerMs = this.#clock.now()
    this.#keep(outcome === 'completed' ? this.lastAnswerMs - query.dueMs : Number.POSITIVE_INFINITY)
  }

  #keep(latencyMs: number): void {
    if (this.#count === this.#latenciesMs.length) {
      const larger = new Float64Array(2 * this.#count)
      larger.set(this.#latenciesMs)
      this.#latenciesMs = larger
    }
    this.#latenciesMs[this.#count++] = latencyMs
  }
}
