import { parsePrometheus, sumOf } from './prometheus-text.js'
import type { ServiceSample } from './service-sample.js'

/** Names of the series of a server that is neither Triton nor vLLM. */
export interface MetricNames {
  /** Counter of answered requests. */
  readonly completed: string
  /** Gauge of the 99th percentile, ms. */
  readonly p99Ms: string
  /** Gauge of requests that wait. */
  readonly queued?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** Latency feedback only: nothing here tells how long batches take. @returns null where a series is missing */
export function readMapped(
  metrics: string,
  { completed, p99Ms, queued, labels = {} }: MetricNames,
): ServiceSample | null {
  const series = parsePrometheus(metrics, new Set([completed, p99Ms, ...(queued === undefined ? [] : [queued])]))
  const answered = sumOf(series.get(completed), labels)
  if (answered === null) return null
  return {
    completed: answered,
    failed: 0,
    queued: (queued === undefined ? null : sumOf(series.get(queued), labels)) ?? 0,
    running: 0,
    latencyMs: 0,
    waitMs: null,
    late: null,
    p99Ms: sumOf(series.get(p99Ms), labels),
    batches: [],
  }
}
