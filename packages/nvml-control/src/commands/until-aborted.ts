import { systemClock } from '@pctodl/platform'

/** Resolves when the signal aborts, or after a time, ms. Until then, this process keeps running. */
export function untilAborted(signal: AbortSignal, durationMs: number = Number.POSITIVE_INFINITY): Promise<void> {
  return systemClock.sleep(durationMs, signal).catch(() => {})
}
