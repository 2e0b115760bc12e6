import { segmentSizes } from '@pctodl/platform'
import type { ProfilePoint, ServiceProfile } from '../profile.js'

/** Factor by which latency may rise from an instance to a larger one before it is reported. */
const TOLERANCE = 1.1

/**
 * Returns suspicious values of a profile, as sentences; the profile is used unchanged. A larger instance cannot be
 * slower, so if latency rises with size in most comparable rows, columns were probably confused. Latency should also
 * equal `batch / throughput` of one process.
 */
export function lintProfile({ model, points }: ServiceProfile): string[] {
  const ran = points.filter((point) => point.processThroughput > 0)
  const warnings: string[] = []
  if (ran.length === 0) return [`${model}: nothing ran; every row has throughput 0`]
  const rising = risingPairs(ran)
  if (rising.pairs >= 3 && rising.rising > rising.pairs / 2) {
    warnings.push(
      `${model}: latency rises with the instance's size in ${rising.rising} of ${rising.pairs} comparable rows; ` +
        'check the latency column',
    )
  }
  const apart = ran.filter((point) => {
    const batchMs = (1000 * point.batchSize) / point.processThroughput
    return point.latencyMs > 2 * batchMs || point.latencyMs < batchMs / 2
  })
  if (apart.length > ran.length / 2) {
    warnings.push(
      `${model}: latency is far from batch / throughput in ${apart.length} of ${ran.length} rows; check both columns`,
    )
  }
  return warnings
}

function risingPairs(ran: readonly ProfilePoint[]): { pairs: number; rising: number } {
  const keyOf = ({ batchSize, processes }: ProfilePoint) => `${batchSize}x${processes}`
  let pairs = 0
  let rising = 0
  for (const key of new Set(ran.map(keyOf))) {
    const bySize = segmentSizes.flatMap(
      (size) => ran.find((each) => keyOf(each) === key && each.sizeGpcs === size) ?? [],
    )
    bySize.slice(1).forEach(({ latencyMs }, i) => {
      pairs++
      if (latencyMs > TOLERANCE * bySize[i]!.latencyMs) rising++
    })
  }
  return { pairs, rising }
}
