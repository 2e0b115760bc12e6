import { type GpuSpec, smsOfShare, type Tenant } from '@pctodl/platform'
import type { BoardPhysics, ProcessPhysics } from './board-physics.js'
import { type Execution, elementBytes } from './execution.js'
import { type NetworkWork, networksOf, networkWork } from './network-work.js'

/** GPU memory of a process that has loaded its network but not yet run a batch, bytes. */
export function loadedBytes(physics: ProcessPhysics, network: NetworkWork, bytesPerElement: number): number {
  return physics.contextBytes + (network.weightBytes * bytesPerElement) / 2
}

/**
 * GPU memory of a running process, bytes: context, weights, and the largest set of activations that are needed at the
 * same time.
 */
export function runningBytes(
  physics: ProcessPhysics,
  network: NetworkWork,
  batchSize: number,
  bytesPerElement: number,
): number {
  const perSample = (network.peakActivationBytesPerSample * bytesPerElement) / 2
  return loadedBytes(physics, network, bytesPerElement) + perSample * batchSize * physics.activationFactor
}

/** Returns the SMs and the memory that a running tenant takes. */
export function tenantFootprint(
  { spec, physics }: { readonly spec: GpuSpec; readonly physics: BoardPhysics },
  { model, mpsPercent, batchSize }: Tenant,
  execution: Execution = {},
): { sms: number; memoryBytes: number } {
  const network = networkWork(model, networksOf(execution.networks))
  return {
    sms: smsOfShare(spec, mpsPercent),
    memoryBytes: runningBytes(physics.process, network, batchSize, elementBytes(execution)),
  }
}
