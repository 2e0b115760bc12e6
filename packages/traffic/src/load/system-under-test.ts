import type { RequestOutcome } from '@pctodl/platform'

/** One query to a system: one request, or several that belong together. */
export interface Query {
  /** Consecutive number from 0. */
  readonly id: number
  /** Samples to answer. */
  readonly samples: number
  /** Due time of the query, ms of the clock; its latency counts from here, even if it was sent later. */
  readonly dueMs: number
}

/** The system to be measured: a server behind a socket, a queue with workers, a simulation. */
export interface SystemUnderTest {
  /**
   * Resolves when all samples are answered, or with `shed` where they were rejected. A rejected promise counts as
   * failed, and its reason is reported. Many queries are open at the same time.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: what an asynchronous function that says nothing resolves to
  answer(query: Query): Promise<RequestOutcome | void>
}
