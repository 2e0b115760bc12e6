import type { Tenant } from '@pctodl/platform'
import type { ServiceState } from './served-service.js'

/** What serving needs of a process, and what it counts for it. */
export interface ServedProcess {
  readonly tenant: Tenant
  /** Alive, but it completes nothing. */
  readonly hung: boolean
  /** Another batch size is wanted: it begins no batch until it has it. */
  readonly wantsBatchSize: boolean
  samples: number
  batches: number
  latencySumMs: number
  lastCompletionMs: number
}

/** A process and the batch that it runs. */
export interface BatchSlot {
  readonly process: ServedProcess
  /** Whose requests it answers; null: it runs batch after batch of its own. */
  readonly service: ServiceState | null
  /** Requests in a batch at most. */
  readonly most: number
  /** Batch sizes that it runs, ascending: a batch of fewer requests is filled up to the next. */
  readonly sizes: readonly number[]
  draining: boolean
  /** Index of the size of the batch in flight, from 1; 0: none. */
  size: number
  /** Requests in it, and whose they are. */
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

/** Powers of two up to the largest batch, and that: what engines are compiled for. */
export function compiledSizes(largest: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < largest; size *= 2) sizes.push(size)
  return [...sizes, largest]
}

/** @param service whose requests the process answers; null: none's */
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

/** A slot for the same process, with a batch that runs on: its size stays among those that the slot knows until it ends. */
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
