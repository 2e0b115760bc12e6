import type { SegmentSize } from '@pctodl/mig-deploy'

/** One measured way to run a network: processes under MPS inside a MIG instance. */
export interface ProfilePoint {
  readonly sizeGpcs: SegmentSize
  readonly batchSize: number
  /** MPS processes that share the instance. */
  readonly processes: number
  /** Items/s of one process while all run; 0 where it did not run (out of memory). */
  readonly processThroughput: number
  /** Time of one batch of one process while all run, ms. */
  readonly latencyMs: number
  /** Watts that the instance adds to an idle board while all its processes run; absent where they were not measured. */
  readonly powerW?: number
  /** SM clock at which it was measured, MHz; absent where nobody says. The clock belongs to the whole board. */
  readonly smClockMhz?: number
}

/** Everything measured of one network. */
export interface ServiceProfile {
  readonly model: string
  readonly points: readonly ProfilePoint[]
}

/** What a service must deliver. */
export interface ServiceObjective {
  readonly model: string
  /** Requests/s; a request is one item. */
  readonly ratePerS: number
  /** Time from request to answer that must be kept, ms. */
  readonly latencyMs: number
}

/** Items/s of the whole instance. */
export function throughputOf({
  processThroughput,
  processes,
}: Pick<ProfilePoint, 'processThroughput' | 'processes'>): number {
  return processThroughput * processes
}
