import type { Fault } from '@pctodl/gpu-sim'

/** Time that a controller has to restore throughput after clients have returned, ms. */
const BACK_MS = 5000
/** Shorter spans are ignored, because whole batches complete at once. */
const MIN_SPAN_MS = 1000
/** Minimum length of all spans together, ms. */
const MIN_TOTAL_MS = 4000

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** Spans in which no client hangs, and all clients that hung have been back for 5 s. */
export function spansAfterReturns(faults: readonly Fault[], endMs: number): Span[] {
  const pauses = faults
    .flatMap((fault) =>
      fault.kind === 'client-hung' ? [{ fromMs: fault.atMs, toMs: fault.atMs + (fault.durationMs ?? 0) }] : [],
    )
    .sort((a, b) => a.fromMs - b.fromMs)
  const spans: Span[] = []
  let backMs = Number.POSITIVE_INFINITY
  for (const pause of [...pauses, { fromMs: endMs, toMs: endMs }]) {
    const span = { fromMs: backMs + BACK_MS, toMs: Math.min(pause.fromMs, endMs) }
    if (span.toMs - span.fromMs >= MIN_SPAN_MS) spans.push(span)
    backMs = backMs === Number.POSITIVE_INFINITY ? pause.toMs : Math.max(backMs, pause.toMs)
  }
  return spans
}

/**
 * Throughput within these spans, samples/s; null if they are too short.
 *
 * @param samples cumulative counts of completed samples, ascending in time
 */
export function rateWithin(
  spans: readonly Span[],
  samples: readonly { readonly timeMs: number; readonly completed: number }[],
): number | null {
  let completed = 0
  let totalMs = 0
  for (const { fromMs, toMs } of spans) {
    const first = samples.find(({ timeMs }) => timeMs >= fromMs)
    const last = samples.findLast(({ timeMs }) => timeMs <= toMs)
    if (first === undefined || last === undefined || last.timeMs <= first.timeMs) continue
    completed += last.completed - first.completed
    totalMs += last.timeMs - first.timeMs
  }
  return totalMs >= MIN_TOTAL_MS ? (1000 * completed) / totalMs : null
}
