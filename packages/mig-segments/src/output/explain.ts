import { COMPUTE_SLICES, groupBy, segmentSizes } from '@pctodl/platform'
import type { BoundedPlan } from '../plan-segments.js'
import { DEFAULT_LATENCY_SHARE, latencyGateMs, type ServiceProfile, throughputOf } from '../profile.js'

/** Explains a plan: each service's options by instance size, and the chosen one; then the totals and their bounds. */
export function explainPlan(
  plan: BoundedPlan,
  profiles: readonly ServiceProfile[],
  latencyShare: number = DEFAULT_LATENCY_SHARE,
): string {
  const segments = plan.gpus.flatMap((gpu) => gpu.segments)
  const services = plan.served.map(({ model, ratePerS, latencyMs, capacity }) => {
    const gateMs = latencyGateMs(latencyMs, latencyShare)
    const { points } = profiles.find((profile) => profile.model === model)!
    const options = segmentSizes.map((size) => {
      const [point] = points
        .filter((each) => each.sizeGpcs === size && each.processThroughput > 0 && each.latencyMs < gateMs)
        .sort((a, b) => throughputOf(b) - throughputOf(a) || a.batchSize - b.batchSize)
      if (!point) return `  ${size} GPC: nothing profiled keeps that`
      const items = throughputOf(point)
      const rate = `${shown(items)} items/s (${shown(items / size)} per GPC)`
      return `  ${size} GPC: at best batch ${point.batchSize} x ${point.processes}, ${rate}, ${shown(point.latencyMs)} ms`
    })
    const bySize = groupBy(
      segments.filter((segment) => segment.model === model),
      ({ sizeGpcs }) => `${sizeGpcs}`,
    )
    const taken = [...bySize]
      .sort(([a], [b]) => Number(b) - Number(a))
      .map(([size, of]) => `${of.length} x ${size} GPC`)
    const within = `within ${shown(latencyMs)} ms, so a batch must take less than ${shown(gateMs)} ms`
    const used = ((100 * ratePerS) / capacity).toFixed(0)
    return [
      `${model}: ${shown(ratePerS)} requests/s ${within}`,
      ...options,
      `  takes ${taken.join(' + ')}: ${shown(capacity)} items/s, ${used} % used`,
    ].join('\n')
  })
  const missed = plan.unserved.map(({ message }) => `not served: ${message}`)
  return `${[...services, ...missed, explainBounds(plan)].join('\n\n')}\n`
}

/**
 * Describes the number of GPUs and compute slices, and their bounds.
 *
 * @param of the plans to which the bounds apply, if not all: with `tail`, plans with the estimated capacities
 */
export function explainBounds(
  { gpuCount, gpcCount, lowerBoundGpus, lowerBoundGpcs, power }: BoundedPlan,
  of = '',
): string {
  const open = (count: number, bound: number) =>
    `at least ${bound} are needed; a gap of ${(100 * (count / bound - 1)).toPrecision(2)} % is not proved away`
  const gpus = gpuCount === lowerBoundGpus ? 'no plan has fewer' : open(gpuCount, lowerBoundGpus)
  const gpcs = gpcCount === lowerBoundGpcs ? 'the fewest on so many GPUs' : open(gpcCount, lowerBoundGpcs)
  const watts = power ? `; at most ${power.highestW.toFixed(0)} W a GPU of ${power.boardW} W` : ''
  return `${gpuCount} GPU${gpuCount === 1 ? '' : 's'} (${gpus}${of}), ${gpcCount} of ${COMPUTE_SLICES * gpuCount} compute slices (${gpcs})${watts}`
}

/** Formats a number with three digits, or without decimals if it is large. */
export function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}
