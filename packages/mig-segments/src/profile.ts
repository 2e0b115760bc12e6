import type { SegmentSize } from '@pctodl/mig-deploy'

/** One measured way to run a network: processes under MPS inside a MIG instance, named by its compute slices or by its MIG profile. */
export interface ProfilePoint {
  /** Compute slices: the MIG profile of so many with the least memory. */
  readonly sizeGpcs?: SegmentSize
  /** MIG profile, e.g. `1g.20gb`; stands before `sizeGpcs`. */
  readonly profile?: string
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

/** A point whose instance is named by its MIG profile. */
export interface InstancePoint extends ProfilePoint {
  readonly profile: string
}

/** Everything measured of one network on one type of board. */
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
