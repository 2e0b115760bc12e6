import { type Histogram, histogramNames, histogramOf, parsePrometheus, sumOf } from './prometheus-text.js'
import type { ServiceSample } from './service-sample.js'

/** What an objective of a language model is about: the whole answer, its first token, or each further one. */
export type LatencyKind = 'e2e' | 'ttft' | 'tpot'

/** Newest name first. */
const histograms: Readonly<Record<LatencyKind, readonly string[]>> = {
  e2e: ['vllm:e2e_request_latency_seconds'],
  ttft: ['vllm:time_to_first_token_seconds'],
  tpot: ['vllm:inter_token_latency_seconds', 'vllm:time_per_output_token_seconds'],
}
const names = new Set([
  ...Object.values(histograms).flat().flatMap(histogramNames),
  'vllm:num_requests_running',
  'vllm:num_requests_waiting',
])

/** A sample with the bound that the objective was snapped to. */
export interface VllmSample extends ServiceSample {
  /** The largest bucket bound within the objective, ms: attainment is exact there. */
  readonly objectiveMs: number
}

/**
 * One model of a vLLM server. Attainment is exact at bucket bounds, so the objective is snapped down to one.
 *
 * @returns null where the model has no series, or no bucket lies within the objective
 */
export function readVllm(model: string, metrics: string, objectiveMs: number, kind: LatencyKind): VllmSample | null {
  const series = parsePrometheus(metrics, names)
  const labels = { model_name: model }
  const first = (of: LatencyKind) =>
    histograms[of].map((name) => histogramOf(series, name, labels)).find((each) => each !== null) ?? null
  const whole = first('e2e')
  const judged = first(kind)
  if (whole === null || judged === null) return null
  const bucket = judged.bounds.findLastIndex((bound) => 1000 * bound <= objectiveMs * (1 + 1e-9))
  if (bucket < 0) return null
  const running = sumOf(series.get('vllm:num_requests_running'), labels) ?? 0
  const steps = first('tpot')
  return {
    completed: countOf(whole),
    failed: 0,
    queued: sumOf(series.get('vllm:num_requests_waiting'), labels) ?? 0,
    running,
    latencyMs: 1000 * judged.sum,
    waitMs: null,
    late: countOf(judged) - judged.counts[bucket]!,
    p99Ms: null,
    // Steps of the decode; how many sequences they had in them is not counted.
    batches: steps ? [{ size: 1, count: countOf(steps), ms: 1000 * steps.sum }] : [],
    objectiveMs: 1000 * judged.bounds[bucket]!,
  }
}

function countOf({ counts }: Histogram): number {
  return counts.at(-1)!
}
