import { type Latencies, latenciesOf, sumOf } from './prometheus-text.js'
import type { ServiceSample } from './service-sample.js'

/** Kind of latency that an objective limits: of the whole answer, of its first token, or per further token. */
export type LatencyKind = 'e2e' | 'ttft' | 'tpot'

export interface SeriesNames {
  /** Histogram of the latencies of whole requests, in seconds. */
  readonly whole: string
  /** Names of the histogram to which the objective applies. The first that the server exports counts. */
  readonly judged: readonly string[]
  readonly running?: string | undefined
  readonly queued?: string
  readonly labels?: Readonly<Record<string, string>> | undefined
}

export interface HistogramSample extends ServiceSample {
  readonly judged: Latencies
  /** Number of these latencies above `objectiveMs`. */
  readonly late: number
  /** Largest bucket bound within the objective, ms. The attainment of this bound can be counted exactly. */
  readonly objectiveMs: number
}

const VLLM_WHOLE = 'vllm:e2e_request_latency_seconds'
/** Names of vLLM's histograms, the newest name first. */
const vllmHistograms: Readonly<Record<LatencyKind, readonly string[]>> = {
  e2e: [VLLM_WHOLE],
  ttft: ['vllm:time_to_first_token_seconds'],
  tpot: ['vllm:inter_token_latency_seconds', 'vllm:time_per_output_token_seconds'],
}

export function vllmNames(model: string, kind: LatencyKind): SeriesNames {
  const gauges = { running: 'vllm:num_requests_running', queued: 'vllm:num_requests_waiting' }
  return { whole: VLLM_WHOLE, judged: vllmHistograms[kind], labels: { model_name: model }, ...gauges }
}

/** @returns null if the server has none of these names @throws Error if no bucket bound is within the objective */
export function readHistograms(metrics: string, names: SeriesNames, objectiveMs: number): HistogramSample | null {
  const { running, queued, labels = {} } = names
  const completed = sumOf(metrics, `${names.whole}_count`, labels)
  const seconds = sumOf(metrics, `${names.whole}_sum`, labels)
  const judged = names.judged.map((name) => latenciesOf(metrics, name, labels)).find((each) => each !== null)
  if (completed === null || seconds === null || judged === undefined) return null
  const { boundsMs, counts } = judged
  const bucket = boundsMs.findLastIndex((bound) => bound <= objectiveMs * (1 + 1e-9))
  if (bucket < 0)
    throw new Error(`no bucket of its histogram lies within ${objectiveMs} ms; the first: ${boundsMs[0]} ms`)
  return {
    completed,
    failed: 0,
    queued: (queued ? sumOf(metrics, queued, labels) : null) ?? 0,
    running: (running ? sumOf(metrics, running, labels) : null) ?? 0,
    latencyMs: 1000 * seconds,
    late: counts.at(-1)! - counts[bucket]!,
    judged,
    objectiveMs: boundsMs[bucket]!,
  }
}

/** Differences of two histograms of one server; null if they are no histogram: the buckets changed, or a count fell. */
export function since(before: Latencies, after: Latencies): Latencies | null {
  if (before.boundsMs.join() !== after.boundsMs.join()) return null
  const counts = after.counts.map((count, i) => count - before.counts[i]!)
  const sumMs = after.sumMs - before.sumMs
  return sumMs < 0 || counts.some((count, i) => count < (counts[i - 1] ?? 0))
    ? null
    : { boundsMs: after.boundsMs, counts, sumMs }
}
