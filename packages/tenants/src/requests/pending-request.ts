import type { RequestOutcome } from '@pctodl/platform'

/** What became of one request. */
export interface Answer {
  readonly outcome: RequestOutcome
  /** From arrival until it was decided, ms. */
  readonly latencyMs: number
  /** Why it was shed or failed, in words. */
  readonly reason?: string
}

/** One request from its arrival until it is decided. */
export interface PendingRequest {
  /** When it arrived, or was due, ms of the clock. */
  readonly arrivedMs: number
  /** It is shed where it still waits then, ms of the clock; Infinity: it waits as long as it has to. */
  readonly deadlineMs: number
  /** It was begun before, with a tenant that died. */
  again: boolean
  /** Whoever asked does not wait any more. */
  calledOff: boolean
  /** Told once. */
  readonly decided: ((answer: Answer) => void) | undefined
}
