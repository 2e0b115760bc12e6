import type { NetworkLatency } from '../record/run-record.js'

/**
 * Text of the 99th percentile of batch latency, ms, and its objective if there is one. With several networks, it is
 * about the network with the highest ratio of latency to objective.
 */
export function latencyText(latency: readonly NetworkLatency[] | undefined): string {
  if (latency === undefined || latency.length === 0) return '-'
  const nearness = ({ p99Ms, objectiveMs }: NetworkLatency) =>
    objectiveMs === undefined ? 0 : (p99Ms ?? Infinity) / objectiveMs
  const shown = latency.reduce((a, b) =>
    nearness(b) > nearness(a) || (nearness(a) === 0 && b.p99Ms! > a.p99Ms!) ? b : a,
  )
  const name = latency.length > 1 ? `${shown.model} ` : ''
  const objective = shown.objectiveMs === undefined ? '' : ` of ${shown.objectiveMs}`
  return `${name}${shown.p99Ms?.toFixed(1) ?? 'none'}${objective}`
}
