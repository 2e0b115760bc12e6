import { type GpuSpec, smsOfShare, type Tenant } from '@pctodl/platform'
import type { BoardPhysics, ProcessPhysics } from './board-physics.js'
import { type Execution, elementBytes } from './execution.js'
import { networkWork } from './network-work.js'

/** GPU memory of a process that has loaded its network but run nothing, bytes. */
export function loadedBytes(physics: ProcessPhysics, model: string, bytesPerElement: number): number {
  return physics.contextBytes + (networkWork(model).weightBytes * bytesPerElement) / 2
}

/** GPU memory of a running process: context, weights, and the activations that live at once. */
export function runningBytes(physics: ProcessPhysics, { model, batchSize }: Tenant, bytesPerElement: number): number {
  const perSample = (networkWork(model).peakActivationBytesPerSample * bytesPerElement) / 2
  return loadedBytes(physics, model, bytesPerElement) + perSample * batchSize * physics.activationFactor
}

/** Streaming multiprocessors and memory that a tenant takes on a board once it runs, for messages, searches and reports. */
export function tenantFootprint(
  { spec, physics }: { readonly spec: GpuSpec; readonly physics: BoardPhysics },
  tenant: Tenant,
  execution: Execution = {},
): { sms: number; memoryBytes: number } {
  return {
    sms: smsOfShare(spec, tenant.mpsPercent),
    memoryBytes: runningBytes(physics.process, tenant, elementBytes(execution)),
  }
}
