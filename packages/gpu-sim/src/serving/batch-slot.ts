import type { Tenant } from '@pctodl/platform'
import type { ServiceState } from './served-service.js'

/** What the serving engine reads from a process, and the counters that it updates. */
export interface ServedProcess {
  readonly tenant: Tenant
  /** Alive, but completes nothing. */
  readonly hung: boolean
  /** Whether another batch size is requested; no batch begins until it is adopted. */
  readonly wantsBatchSize: boolean
  samples: number
  batches: number
  latencySumMs: number
  lastCompletionMs: number
}

/** A process and the batch that it runs. */
export interface BatchSlot {
  readonly process: ServedProcess
  /** Service whose requests the process answers; null: it answers none and runs batch after batch. */
  readonly service: ServiceState | null
  /** Maximum number of requests in a batch. */
  readonly most: number
  /** Available batch sizes, ascending; a batch of fewer requests is padded to the next size. */
  readonly sizes: readonly number[]
  draining: boolean
  /** Index of the size of the batch in flight, counted from 1; 0: no batch. */
  size: number
  /** Number of requests in the batch in flight, and the service they belong to. */
  count: number
  batchOf: ServiceState | null
  readonly arrivedMs: Float64Array
  readonly again: Uint8Array
  startMs: number
  /** Remaining work of the batch in flight, in units of `batchMs`. */
  left: number
  /** Duration of the whole batch at the present rate, and the time at which it ends if nothing changes, ms. */
  batchMs: number
  endMs: number
}

/** The sizes that engines are compiled for: powers of two up to the largest batch, and the largest batch itself. */
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
 * Returns a new slot for a process whose batch continues. The size in flight remains available until the batch ends.
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
