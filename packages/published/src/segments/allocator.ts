import { type SegmentSize, segmentSizes } from '@pctodl/platform'
import type { Configured, PublishedPoint } from './configurator.js'
import { GpuTable } from './gpu-table.js'

const f32 = Math.fround

/** A GPU with at most this many GPCs in use is dissolved: its segments are split and placed elsewhere. */
const LIGHTLY_USED_GPCS = 4

/**
 * The published Segment Allocator. Its defect is kept: a segment of a dissolved GPU is lost if its service has no
 * measured point for 1 or 2 GPCs.
 *
 * @param optimize whether to run the second pass, which splits the segments of lightly used GPUs into segments of 1 and
 *   2 GPCs
 */
export function allocate(configured: readonly Configured[], optimize = true): GpuTable {
  const table = new GpuTable()
  for (const size of [...segmentSizes].reverse()) {
    configured.forEach((service, m) => {
      if (service.optimal.sizeGpcs === size) {
        for (let i = 0; i < service.optimalCount; i++) table.place({ service: m, sizeGpcs: size })
      }
      if (service.last.sizeGpcs === size) table.place({ service: m, sizeGpcs: size })
    })
  }
  if (optimize) dissolveLightGpus(configured, table)
  return table
}

function dissolveLightGpus(configured: readonly Configured[], table: GpuTable): void {
  const credit = new Float32Array(configured.length)
  for (let gpu = table.length - 1; gpu >= 0; gpu--) {
    if (7 - table.freeGpcs(gpu) > LIGHTLY_USED_GPCS) continue
    for (let slot = 0; slot < 7; slot++) {
      const segment = table.slots(gpu)[slot]
      if (!segment) continue
      const m = segment.service
      const { optimal, last, best } = configured[m]!
      credit[m]! += (segment.sizeGpcs === optimal.sizeGpcs ? optimal : last).throughput
      table.remove(gpu, slot)
      const { twos, ones } = split(credit[m]!, best.get(1)?.throughput, best.get(2)?.throughput)
      if (twos > 0) credit[m] = f32(credit[m]! - f32(twos * best.get(2)!.throughput))
      if (ones > 0) credit[m] = f32(credit[m]! - f32(ones * best.get(1)!.throughput))
      for (let i = 0; i < twos; i++) table.place({ service: m, sizeGpcs: 2 })
      for (let i = 0; i < ones; i++) table.place({ service: m, sizeGpcs: 1 })
    }
  }
}

/**
 * Returns how many segments of 1 and 2 GPCs serve a throughput `credit`, items/s. `one` and `two` are the throughputs
 * of such segments. Both results are 0 if the service has no point of either size.
 */
function split(credit: number, one: number | undefined, two: number | undefined): { twos: number; ones: number } {
  if (one !== undefined && two !== undefined && f32(two / 2) > one) {
    const twos = Math.floor(f32(credit / two))
    return { twos, ones: Math.ceil(f32(f32(credit - f32(twos * two)) / one)) }
  }
  if (one !== undefined) return { twos: 0, ones: Math.ceil(f32(credit / one)) }
  if (two !== undefined) return { twos: Math.ceil(f32(credit / two)), ones: 0 }
  return { twos: 0, ones: 0 }
}

/**
 * Returns the measured point that the published code writes for a service's segment of this size. If two points have
 * the size, the optimal triplet is used.
 */
export function pointOfSize({ optimal, last, best }: Configured, size: SegmentSize): PublishedPoint {
  if (optimal.sizeGpcs === size) return optimal
  return last.sizeGpcs === size ? last : best.get(size)!
}
