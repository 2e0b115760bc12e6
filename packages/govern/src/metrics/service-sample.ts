/** Counters of one service since its server started. */
export interface ServiceSample {
  readonly completed: number
  readonly failed: number
  /** Waiting and running requests; `running` is 0 if the server does not report it. */
  readonly queued: number
  readonly running: number
  /** Sum of the latencies of completed requests, ms. */
  readonly latencyMs: number
}

export const endpointStates = ['serving', 'idle', 'draining', 'gone', 'reset'] as const
export type EndpointState = (typeof endpointStates)[number]

/** Whether counters fell, which means that the server restarted. */
export function wasReset(before: ServiceSample, after: ServiceSample): boolean {
  return after.completed < before.completed || after.failed < before.failed || after.latencyMs < before.latencyMs - 1e-6
}

/** @param after null if the server did not answer @param drains whether this is because it drains */
export function endpointState(
  before: ServiceSample | null,
  after: ServiceSample | null,
  drains: boolean,
): EndpointState {
  if (after === null) return drains ? 'draining' : 'gone'
  if (before !== null && wasReset(before, after)) return 'reset'
  const works = after.queued + after.running > 0 || (before !== null && after.completed > before.completed)
  return works ? 'serving' : 'idle'
}
