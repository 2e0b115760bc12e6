import type { RequestOutcome } from '@pctodl/platform'

/** The outcome of one request. */
export interface Answer {
  readonly outcome: RequestOutcome
  /** Time from arrival until it was decided, ms. */
  readonly latencyMs: number
  /** Why it was shed or failed. */
  readonly reason?: string
}

/** One request from its arrival until it is decided. */
export interface PendingRequest {
  /** When it arrived, or was due, by the clock, ms. */
  readonly arrivedMs: number
  /** Time at which it is shed if it still waits, by the clock, ms; Infinity: never. */
  readonly deadlineMs: number
  /** Whether it was begun before, by a tenant that died. */
  again: boolean
  /** Whether the caller no longer waits for it. */
  calledOff: boolean
  /** Called once. */
  readonly decided: ((answer: Answer) => void) | undefined
}
