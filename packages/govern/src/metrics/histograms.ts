import { PrometheusText } from './prometheus-text.js'
import type { ServiceSample } from './service-sample.js'

/** Kind of latency that an objective limits: of the whole answer, of its first token, or per further token. */
export type LatencyKind = 'e2e' | 'ttft' | 'tpot'

/** Names of a server's series, for servers other than Triton and vLLM. */
export interface MetricNames {
  /** Histogram of request latencies, in seconds. */
  readonly histogram: string
  /** Gauge of the number of requests in the server. */
  readonly inFlight?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** A sample, with the bucket bound that replaces the objective. */
export interface HistogramSample extends ServiceSample {
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

/**
 * Reads the series of one model of a vLLM server; null if there are none.
 *
 * @throws Error if no bucket bound is within the objective
 */
export function readVllm(
  model: string,
  metrics: string,
  objectiveMs: number,
  kind: LatencyKind,
): HistogramSample | null {
  const gauges = { running: 'vllm:num_requests_running', queued: 'vllm:num_requests_waiting' }
  const names = { whole: VLLM_WHOLE, judged: vllmHistograms[kind], labels: { model_name: model }, ...gauges }
  const sample = read(metrics, names, objectiveMs)
  return sample && { ...sample, running: sample.running ?? 0 }
}

/**
 * Reads the mapped series of any server with a histogram; null if there are none.
 *
 * @throws Error if no bucket bound is within the objective
 */
export function readMapped(
  metrics: string,
  { histogram, inFlight, labels }: MetricNames,
  objectiveMs: number,
): HistogramSample | null {
  return read(metrics, { whole: histogram, judged: [histogram], labels, running: inFlight }, objectiveMs)
}

interface Names {
  /** Name of the histogram of whole requests. The objective applies to the first histogram of `judged` that exists. */
  readonly whole: string
  readonly judged: readonly string[]
  readonly running: string | undefined
  readonly queued?: string
  readonly labels: Readonly<Record<string, string>> | undefined
}

function read(metrics: string, names: Names, objectiveMs: number): HistogramSample | null {
  const { running, queued, labels = {} } = names
  const text = new PrometheusText(metrics, labels)
  const whole = text.latencies(names.whole)
  const judged = names.judged.map((name) => text.latencies(name)).find((each) => each !== null)
  if (whole === null || judged === undefined) return null
  const { boundsMs, counts } = judged
  const bucket = boundsMs.findLastIndex((bound) => bound <= objectiveMs * (1 + 1e-9))
  if (bucket < 0)
    throw new Error(`no bucket of its histogram lies within ${objectiveMs} ms; the first: ${boundsMs[0]} ms`)
  return {
    completed: whole.counts.at(-1)!,
    failed: 0,
    queued: (queued ? text.sum(queued) : null) ?? 0,
    running: running ? text.sum(running) : null,
    latencyMs: whole.sumMs,
    waitMs: null,
    late: counts.at(-1)! - counts[bucket]!,
    batches: [],
    judged,
    objectiveMs: boundsMs[bucket]!,
  }
}
