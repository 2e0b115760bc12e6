import type { RequestOutcome } from '@pctodl/platform'

/** How one request ended. */
export interface Answer {
  readonly outcome: RequestOutcome
  /** Time from the arrival of the request until it was decided, ms. */
  readonly latencyMs: number
  /** Reason why the request was shed or failed. */
  readonly reason?: string
}

/** One request, from its arrival until it is answered, shed or failed. */
export interface PendingRequest {
  /** Time at which the request arrived or was due, on the desk's clock, ms. */
  readonly arrivedMs: number
  /** Time at which the request is shed if it still waits, on the desk's clock, ms; Infinity for no deadline. */
  readonly deadlineMs: number
  /** Whether a tenant already began this request and died. */
  again: boolean
  /** Whether the caller has cancelled the request. */
  calledOff: boolean
  /** Called once, with the outcome. */
  readonly decided: ((answer: Answer) => void) | undefined
}
