import type { RequestOutcome } from '@pctodl/platform'

/** One request to a system. */
export interface Query {
  /** Consecutive number from 0. */
  readonly id: number
  /** Time at which the query is due on the clock, ms. Its latency counts from then, even if it is sent later. */
  readonly dueMs: number
}

/** The system to be measured: a server behind a socket, a queue with workers, a simulation. */
export interface SystemUnderTest {
  /**
   * Answers a query. Resolves when it is answered, or with `shed` if it was rejected. A rejected
   * promise counts as a failed query, and its reason is reported. Many queries may be open at the same time.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an asynchronous function without a return value resolves to void
  answer(query: Query): Promise<RequestOutcome | void>
}
