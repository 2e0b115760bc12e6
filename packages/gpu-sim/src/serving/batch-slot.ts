import type { Tenant } from '@pctodl/platform'
import type { ServiceState } from './served-service.js'

/** Interface of a process to serving, and its counters. */
export interface ServedProcess {
  readonly tenant: Tenant
  /** Alive, but completes nothing. */
  readonly hung: boolean
  /** Another batch size is requested; no batch begins until it is adopted. */
  readonly wantsBatchSize: boolean
  samples: number
  batches: number
  latencySumMs: number
  lastCompletionMs: number
}

/** A process and the batch that it runs. */
export interface BatchSlot {
  readonly process: ServedProcess
  /** Service whose requests it answers; null: it runs batch after batch. */
  readonly service: ServiceState | null
  /** Maximum number of requests in a batch. */
  readonly most: number
  /** Available batch sizes, ascending; a smaller batch is padded to the next size. */
  readonly sizes: readonly number[]
  draining: boolean
  /** Index of the size of the batch in flight, from 1; 0: none. */
  size: number
  /** Number of requests in it, and their service. */
  count: number
  batchOf: ServiceState | null
  readonly arrivedMs: Float64Array
  readonly again: Uint8Array
  startMs: number
  /** Remaining work of the batch, in units of `batchMs`. */
  left: number
  /** Time of the whole batch at the present rate, and when it ends if nothing changes, ms. */
  batchMs: number
  endMs: number
}

/** Powers of two up to the largest batch, and the largest batch itself: the sizes that engines are compiled for. */
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

/** A new slot for a process whose batch continues: the size in flight remains available until the batch ends. */
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
