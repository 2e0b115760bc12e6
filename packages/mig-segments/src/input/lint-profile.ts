import { groupBy, segmentSizes } from '@pctodl/platform'
import type { ServiceProfile } from '../profile.js'

/** Factor by which latency may rise from an instance to a larger one before it is reported. */
const TOLERANCE = 1.1

/**
 * Returns suspicious values of a profile, as sentences; the profile is used unchanged. A larger instance cannot be
 * slower, so if latency rises with size in most comparable rows, columns were probably confused. Latency should also
 * equal `batch / throughput` of one process.
 */
export function lintProfile({ model, points }: ServiceProfile): string[] {
  const ran = points.filter((point) => point.processThroughput > 0)
  if (ran.length === 0) return [`${model}: nothing ran; every row has throughput 0`]
  const warnings: string[] = []
  const alike = groupBy(ran, ({ batchSize, processes }) => `${batchSize}x${processes}`)
  const isRising = [...alike.values()].flatMap((of) => {
    const bySize = segmentSizes.flatMap((size) => of.find(({ sizeGpcs }) => sizeGpcs === size) ?? [])
    return bySize.slice(1).map(({ latencyMs }, i) => latencyMs > TOLERANCE * bySize[i]!.latencyMs)
  })
  const [pairs, rising] = [isRising.length, isRising.filter(Boolean).length]
  if (pairs >= 3 && rising > pairs / 2) {
    const where = `in ${rising} of ${pairs} comparable rows`
    warnings.push(`${model}: latency rises with the instance's size ${where}; check the latency column`)
  }
  const apart = ran.filter(({ batchSize, processThroughput, latencyMs }) => {
    const batchMs = (1000 * batchSize) / processThroughput
    return latencyMs > 2 * batchMs || latencyMs < batchMs / 2
  })
  if (apart.length > ran.length / 2) {
    const where = `in ${apart.length} of ${ran.length} rows`
    warnings.push(`${model}: latency is far from batch / throughput ${where}; check both columns`)
  }
  return warnings
}
