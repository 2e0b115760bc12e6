import type { RequestOutcome } from '@pctodl/platform'

/** What is asked of a system at once: one request, or several that belong together. */
export interface Query {
  /** 0, 1, 2 and so on. */
  readonly id: number
  /** Samples to answer. */
  readonly samples: number
  /** When the query was due, ms of the clock: its latency counts from then, whenever it was really sent. */
  readonly dueMs: number
}

/** Whatever answers requests: a server behind a socket, a queue with workers, a simulation. */
export interface SystemUnderTest {
  /**
   * Resolves when all samples are answered; with `shed` where they were turned away. A rejection counts as failed, and its
   * reason is told. Many queries are open at the same time.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: what an asynchronous function that says nothing resolves to
  answer(query: Query): Promise<RequestOutcome | void>
}
