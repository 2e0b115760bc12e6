import type { RequestOutcome } from '@pctodl/platform'

/** The outcome of one request. */
export interface Answer {
  readonly outcome: RequestOutcome
  /** Time from arrival to the outcome, ms. */
  readonly latencyMs: number
  /** Reason why the request was shed or failed. */
  readonly reason?: string
}

/** One request from its arrival until it is decided. */
export interface PendingRequest {
  /** Time at which the request arrived or was due, on the clock of the desk, ms. */
  readonly arrivedMs: number
  /**
   * Time after which the request is shed if it still waits, on the clock of the desk, ms; Infinity for no deadline.
   */
  readonly deadlineMs: number
  /** True if a tenant already began this request and died. */
  again: boolean
  /** True if the caller has cancelled the request. */
  calledOff: boolean
  /** Called once. */
  readonly decided: ((answer: Answer) => void) | undefined
}
