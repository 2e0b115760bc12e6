import { IndexedHeap } from '@pctodl/numerics'
import type { Arrivals } from '@pctodl/platform'
import type { ArrivalProcess } from '@pctodl/traffic'
import { check } from '../check.js'
import type { Dispatch } from './ways.js'

/** Identical workers. */
export interface WorkerKind {
  readonly workers: number
  /** Batch time by number of requests, ms; index 0 is unused. The last index is the maximum batch size. */
  readonly batchMs: Float64Array
}

export interface QueueOutcome {
  /** Number of requests that the statistics include. */
  readonly requests: number
  /** Requests answered later than the objective. */
  readonly late: number
  /** 99th percentile of latency, ms; NaN for a model that was not simulated. */
  readonly p99Ms: number
}

export interface SimulationOptions {
  /** Squared coefficient of variation of the gaps between requests. Default 1: Poisson. */
  readonly burstiness?: number
  /** Arrival process of a service's requests. Default: gamma-distributed gaps. */
  readonly arrivals?: (ratePerS: number) => ArrivalProcess
  /** How requests reach instances. Default `split`. */
  readonly dispatch?: Dispatch
  /** Requests counted for each service; with `split`, at least 10 000 for each kind of instance. Default 100 000. */
  readonly requests?: number
  /** Whether requests are counted from the first on, which finds all workers free. Default: after a warm-up. */
  readonly fresh?: boolean
  /** Minimum number of requests per place in a batch: large services turn late only after many batches. Default 0. */
  readonly perSlot?: number
  /** Default 1. */
  readonly seed?: number
  /** Models to simulate. The outcomes of others have no requests. Default: all. */
  readonly only?: ReadonlySet<string>
}

export interface SimulatedService extends QueueOutcome {
  /** Name of the model. With `split`, `p99Ms` is that of its instance with the highest p99. */
  readonly model: string
}

/**
 * Simulates the requests of one service. They wait in one queue. A free worker takes the waiting requests at once, up
 * to a full batch; of several free workers, the fastest is first.
 *
 * @param objectiveMs latency above which a request is late, ms
 * @param requests number of requests that are counted
 * @param fresh whether they are the first; otherwise, they follow a warm-up of a tenth as many or of ten full batches of
 *   each worker, whichever is more
 */
export function simulateQueue(
  kinds: readonly WorkerKind[],
  arrivals: Arrivals,
  objectiveMs: number,
  requests: number,
  fresh = false,
): QueueOutcome {
  const rate = ({ batchMs }: WorkerKind) => (batchMs.length - 1) / batchMs.at(-1)!
  const sorted = [...kinds].sort((a, b) => rate(b) - rate(a))
  const kindOf = sorted.flatMap(({ workers }, kind) => new Array<number>(workers).fill(kind))
  const idle = sorted.map((_, kind) => kindOf.flatMap((each, worker) => (each === kind ? [worker] : [])))
  /** Busy workers, ordered by the end of their batch, ms. */
  const running = new IndexedHeap(kindOf.length)
  const slots = sorted.reduce((sum, { workers, batchMs }) => sum + workers * (batchMs.length - 1), 0)
  const skipped = fresh ? 0 : Math.max(Math.floor(requests / 10), 10 * slots)
  const latencies = new Float64Array(requests)
  let waiting = new Float64Array(1024)
  let first = 0
  let length = 0
  let begun = 0
  let late = 0
  const begin = (worker: number, nowMs: number): void => {
    const { batchMs } = sorted[kindOf[worker]!]!
    const count = Math.min(length, batchMs.length - 1)
    const endMs = nowMs + batchMs[count]!
    for (let i = 0; i < count; i++) {
      const latencyMs = endMs - waiting[first]!
      first = (first + 1) & (waiting.length - 1)
      const index = begun++ - skipped
      if (index < 0 || index >= requests) continue
      latencies[index] = latencyMs
      if (latencyMs > objectiveMs) late++
    }
    length -= count
    running.set(worker, endMs)
  }
  let nextMs = arrivals.nextMs()
  while (begun < skipped + requests && (nextMs < Infinity || length > 0)) {
    if (running.firstKey <= nextMs) {
      const worker = running.first
      if (length > 0) {
        begin(worker, running.firstKey)
      } else {
        running.remove(worker)
        idle[kindOf[worker]!]!.push(worker)
      }
      continue
    }
    if (length === waiting.length) {
      const larger = new Float64Array(2 * length)
      for (let i = 0; i < length; i++) larger[i] = waiting[(first + i) & (length - 1)]!
      waiting = larger
      first = 0
    }
    waiting[(first + length++) & (waiting.length - 1)] = nextMs
    const free = idle.find((workers) => workers.length > 0)?.pop()
    if (free !== undefined) begin(free, nextMs)
    nextMs = arrivals.nextMs()
  }
  const counted = Math.min(requests, begun - skipped)
  check(counted > 0, 'arrivals', begun, `more requests than the ${skipped} of the warm-up; repeat a trace`)
  const ordered = latencies.subarray(0, counted).sort()
  return { requests: counted, late, p99Ms: ordered[Math.ceil(0.99 * counted) - 1]! }
}
