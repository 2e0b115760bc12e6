import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { FixedPoint } from '../../src/fixed-point.js'
import { hostOfBoard, physicsOfBoard } from '../../src/index.js'
import { type NetworkWork, operatorClasses } from '../../src/network-work.js'
import { tenantLoad } from '../../src/tenant-load.js'
import { TenantMix } from '../../src/tenant-mix.js'

/** Device time of `rows x k` times `k x n` in half precision, s: a network of one operator. */
export function matrixProductSeconds(spec: GpuSpec, rows: number, k: number, n: number): number {
  const one = (value: number) => Float64Array.of(value)
  const work: NetworkWork = {
    name: 'resnet50',
    size: 1,
    computing: 1,
    operatorClass: Uint8Array.of(operatorClasses.indexOf('linear')),
    occurrences: one(1),
    flops: one(2 * k * n),
    elements: one(k + n),
    workingElements: one(Math.max(k, n)),
    outputElements: one(n),
    weightElements: one(k * n),
    positions: one(0),
    fused: null,
    operators: 1,
    meanWorkingElements: Math.max(k, n),
    weightBytes: 2 * k * n,
    peakActivationBytesPerSample: 2 * (k + n),
    prefetched: false,
  }
  const { work: physics } = physicsOfBoard(spec)
  // Frameworks' products take some microseconds whatever their size; the calibrated A100's host says how many.
  const host = {
    ...hostOfBoard(spec, 'device-only'),
    kernelFloorUs: hostOfBoard(findGpuSpec('A100'), 'paper').kernelFloorUs,
  }
  const load = tenantLoad(spec, physics, host, work, rows, spec.smCount)
  const mix = new TenantMix(spec, physics, host, [load], new FixedPoint(), false)
  mix.settle(spec.boostClockMhz, spec.performanceMemClocksMhz[0]!)
  return mix.kinds[0]!.deviceS
}
