import type { SegmentSize } from '@pctodl/platform'
import { check } from './check.js'

/** Largest batch size of a point. Larger ones are typing errors, and their simulation would need too much memory. */
export const MAX_BATCH_SIZE = 65_536

/**
 * One measured way to run a network: MPS processes in a MIG instance, which is given by compute slices or by profile.
 */
export interface ProfilePoint {
  /** Number of compute slices. It stands for the MIG profile of this size with the least memory. */
  readonly sizeGpcs?: SegmentSize
  /** MIG profile, e.g. `1g.20gb`; takes precedence over `sizeGpcs`. */
  readonly profile?: string
  readonly batchSize: number
  /** MPS processes that share the instance. */
  readonly processes: number
  /** Items/s of one process while all processes run; 0 if the point did not run (out of memory). */
  readonly processThroughput: number
  /** Time of one batch of one process while all processes run, ms. */
  readonly latencyMs: number
  /** Power that the instance adds to an idle board while all its processes run, W; absent if it was not measured. */
  readonly powerW?: number
  /** SM clock of the measurement, MHz; absent if unknown. A clock applies to the whole board. */
  readonly smClockMhz?: number
}

/** A point whose instance is named by its MIG profile. */
export interface InstancePoint extends ProfilePoint {
  readonly profile: string
}

/** All measurements of one network on one type of board. */
export interface ServiceProfile {
  readonly model: string
  readonly points: readonly ProfilePoint[]
}

/** The rate and latency that a service of one model must reach. */
export interface ServiceObjective {
  readonly model: string
  /** Requests/s; a request is one item. */
  readonly ratePerS: number
  /** Maximum time from request to answer, ms. */
  readonly latencyMs: number
}

/** Throughput of the whole instance, items/s. */
export function throughputOf(point: Pick<ProfilePoint, 'processThroughput' | 'processes'>): number {
  return point.processThroughput * point.processes
}

/**
 * Fraction of a latency objective that computing a batch may take, as in ParvaGPU: half of the objective is for forming
 * the batch, and a tenth of the rest is a margin.
 */
export const DEFAULT_LATENCY_SHARE = 0.45

/** Time that a batch must stay below, ms: a fraction of the objective, above 0 and at most 1. */
export function latencyGateMs(latencyMs: number, share: number = DEFAULT_LATENCY_SHARE): number {
  check(share > 0 && share <= 1, 'latencyShare', share, 'above 0 and at most 1')
  return share * latencyMs
}
