import type { Tenant } from '@pctodl/platform'
import type { ServiceState } from './served-service.js'

/** What the serving engine reads from a process, and the counters that it updates. */
export interface ServedProcess {
  readonly tenant: Tenant
  /** Whether the process is alive but completes no batches. */
  readonly hung: boolean
  /** Whether a change of batch size is requested. No batch begins until the process has adopted it. */
  readonly wantsBatchSize: boolean
  samples: number
  batches: number
  latencySumMs: number
  lastCompletionMs: number
  lastBatchSize: number
}

/** A process and the batch that it runs. */
export interface BatchSlot {
  readonly process: ServedProcess
  /** Service whose requests the process answers; null if it answers none and runs batch after batch. */
  readonly service: ServiceState | null
  /** Maximum number of requests in a batch. */
  readonly most: number
  /** Available batch sizes, ascending. A batch with fewer requests is padded to the next size. */
  readonly sizes: readonly number[]
  draining: boolean
  /** Batch size of the batch in flight, as an index into `sizes` counted from 1; 0 if there is no batch. */
  size: number
  /** Number of requests in the batch in flight, and the service that they belong to. */
  count: number
  batchOf: ServiceState | null
  readonly arrivedMs: Float64Array
  readonly again: Uint8Array
  startMs: number
  /** Fraction of the batch in flight that remains to be done. */
  left: number
  /**
   * Duration of the whole batch at the present pace, and the time at which it ends if the pace does not change, ms.
   */
  batchMs: number
  endMs: number
}

/**
 * Batch sizes for which an engine is compiled: powers of two up to the largest batch size, and the largest size itself.
 */
export function compiledSizes(largest: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < largest; size *= 2) sizes.push(size)
  return [...sizes, largest]
}

/** @param service service whose requests the process answers; null: none */
export function newSlot(process: ServedProcess, service: ServiceState | null): BatchSlot {
  const { batchSize } = process.tenant
  const largest = service === null ? batchSize : Math.min(batchSize, service.service.maxBatchSize)
  return {
    process,
    service,
    most: largest,
    sizes: service === null ? [largest] : compiledSizes(largest),
    draining: false,
    size: 0,
    count: 0,
    batchOf: null,
    arrivedMs: new Float64Array(largest),
    again: new Uint8Array(largest),
    startMs: 0,
    left: 0,
    batchMs: 0,
    endMs: Number.POSITIVE_INFINITY,
  }
}

/**
 * Returns a new slot for a process whose batch continues. The batch size in flight remains available until the batch
 * ends.
 */
export function takeOver(slot: BatchSlot, running: BatchSlot): BatchSlot {
  const size = running.sizes[running.size - 1]!
  const sizes = slot.sizes.includes(size) ? slot.sizes : [...slot.sizes, size].sort((a, b) => a - b)
  const room = Math.max(slot.most, running.count)
  const arrivedMs = new Float64Array(room)
  const again = new Uint8Array(room)
  arrivedMs.set(running.arrivedMs.subarray(0, running.count))
  again.set(running.again.subarray(0, running.count))
  const { process, service, most } = slot
  return { ...running, process, service, most, sizes, size: 1 + sizes.indexOf(size), arrivedMs, again }
}
