import { COMPUTE_SLICES, segmentSizes } from '@pctodl/platform'
import type { ServedService } from '../fleet/fleet-plan.js'
import type { BoundedPlan } from '../plan-segments.js'
import { DEFAULT_LATENCY_SHARE, latencyGateMs, type ServiceProfile, throughputOf } from '../profile.js'

/**
 * Explains a plan: for each service its options by instance size and the chosen one, then the totals and their bounds.
 */
export function explainPlan(
  plan: BoundedPlan,
  profiles: readonly ServiceProfile[],
  latencyShare: number = DEFAULT_LATENCY_SHARE,
): string {
  const parts: string[] = []
  for (const service of plan.served) {
    const gateMs = latencyGateMs(service.latencyMs, latencyShare)
    const lines = [
      `${service.model}: ${shown(service.ratePerS)} requests/s within ${shown(service.latencyMs)} ms, ` +
        `so a batch must take less than ${shown(gateMs)} ms`,
    ]
    const { points } = profiles.find(({ model }) => model === service.model)!
    for (const size of segmentSizes) {
      const [point] = points
        .filter((each) => each.sizeGpcs === size && each.processThroughput > 0 && each.latencyMs < gateMs)
        .sort((a, b) => throughputOf(b) - throughputOf(a) || a.batchSize - b.batchSize)
      if (!point) {
        lines.push(`  ${size} GPC: nothing profiled keeps that`)
        continue
      }
      const items = throughputOf(point)
      lines.push(
        `  ${size} GPC: at best batch ${point.batchSize} x ${point.processes}, ${shown(items)} items/s ` +
          `(${shown(items / size)} per GPC), ${shown(point.latencyMs)} ms`,
      )
    }
    lines.push(
      `  takes ${segmentsOf(plan, service)}: ${shown(service.capacity)} items/s, ${usedPercent(service)} % used`,
    )
    parts.push(lines.join('\n'))
  }
  for (const { message } of plan.unserved) parts.push(`not served: ${message}`)
  parts.push(explainBounds(plan))
  return `${parts.join('\n\n')}\n`
}

function segmentsOf({ gpus }: BoundedPlan, { model }: ServedService): string {
  const counts = new Map<number, number>()
  for (const { segments } of gpus) {
    for (const segment of segments) {
      if (segment.model === model) counts.set(segment.sizeGpcs, (counts.get(segment.sizeGpcs) ?? 0) + 1)
    }
  }
  return [...counts]
    .sort(([a], [b]) => b - a)
    .map(([size, count]) => `${count} x ${size} GPC`)
    .join(' + ')
}

function usedPercent({ ratePerS, capacity }: ServedService): string {
  return ((100 * ratePerS) / capacity).toFixed(0)
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
