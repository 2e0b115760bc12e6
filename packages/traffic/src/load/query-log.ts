import { type Clock, type RequestOutcome, reasonOf } from '@pctodl/platform'
import type { Query, SystemUnderTest } from './system-under-test.js'

/** Maximum number of different reasons of failures that are kept. */
const REASONS_KEPT = 5

/** Sends queries and records their outcomes. */
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
  /**
   * Longest delay between the time when a query was due and its sending, ms. The generator itself causes this delay.
   */
  maxBehindMs = 0
  /** Time of the last answer on the clock, ms. */
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

  /** Sends a query. Resolves when it is answered, shed or failed; an open loop does not wait for that. */
  send(query: Query): Promise<void> {
    this.maxBehindMs = Math.max(this.maxBehindMs, this.#clock.now() - query.dueMs)
    const decided = this.#decide(query).finally(() => this.#open.delete(decided))
    this.#open.add(decided)
    return decided
  }

  /** Resolves when no query is open. */
  async settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  /** Latencies from due time to answer, ms, ascending; Infinity for unanswered queries. */
  latenciesMs(): Float64Array {
    return this.#latenciesMs.slice(0, this.#count).sort()
  }

  async #decide(query: Query): Promise<void> {
    let outcome: RequestOutcome
    try {
      outcome = (await this.#system.answer(query)) ?? 'completed'
    } catch (error) {
      outcome = 'failed'
      if (this.#reasons.size < REASONS_KEPT) this.#reasons.add(reasonOf(error))
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
