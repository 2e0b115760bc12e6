import { bucketWithin, histogramNames, latenciesOf, parsePrometheus, sumOf } from './prometheus-text.js'
import type { Latencies, ServiceSample } from './service-sample.js'

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

/** Names of vLLM's histograms, the newest name first. */
const vllmHistograms: Readonly<Record<LatencyKind, readonly string[]>> = {
  e2e: ['vllm:e2e_request_latency_seconds'],
  ttft: ['vllm:time_to_first_token_seconds'],
  tpot: ['vllm:inter_token_latency_seconds', 'vllm:time_per_output_token_seconds'],
}
const [running, waiting] = ['vllm:num_requests_running', 'vllm:num_requests_waiting']
const vllmNames = new Set([...Object.values(vllmHistograms).flat().flatMap(histogramNames), running, waiting])

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
  const series = parsePrometheus(metrics, vllmNames)
  const labels = { model_name: model }
  const first = (of: LatencyKind) =>
    vllmHistograms[of].map((name) => latenciesOf(series, name, labels)).find((each) => each !== null)
  const gauge = (name: string) => sumOf(series.get(name), labels) ?? 0
  return sampleOf(first('e2e'), first(kind), objectiveMs, gauge(waiting), gauge(running))
}

/**
 * Reads the mapped series of any server with a histogram; null if there are none.
 *
 * @throws Error if no bucket bound is within the objective
 */
export function readMapped(
  metrics: string,
  { histogram, inFlight, labels = {} }: MetricNames,
  objectiveMs: number,
): HistogramSample | null {
  const names = [...histogramNames(histogram), ...(inFlight === undefined ? [] : [inFlight])]
  const series = parsePrometheus(metrics, new Set(names))
  const whole = latenciesOf(series, histogram, labels) ?? undefined
  const inServer = inFlight === undefined ? null : sumOf(series.get(inFlight), labels)
  return sampleOf(whole, whole, objectiveMs, 0, inServer)
}

function sampleOf(
  whole: Latencies | undefined,
  judged: Latencies | undefined,
  objectiveMs: number,
  queued: number,
  running: number | null,
): HistogramSample | null {
  if (whole === undefined || judged === undefined) return null
  const bucket = bucketWithin(judged, objectiveMs)
  if (bucket < 0)
    throw new Error(`no bucket of its histogram lies within ${objectiveMs} ms; the first: ${judged.boundsMs[0]} ms`)
  return {
    completed: whole.counts.at(-1)!,
    failed: 0,
    queued,
    running,
    latencyMs: whole.sumMs,
    waitMs: null,
    late: judged.counts.at(-1)! - judged.counts[bucket]!,
    batches: [],
    judged,
    objectiveMs: judged.boundsMs[bucket]!,
  }
}
