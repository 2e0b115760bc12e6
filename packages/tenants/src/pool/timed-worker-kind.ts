import { InvalidInputError, type Tenant } from '@pctodl/platform'
import { builtWorker } from './built-worker.js'
import type { WorkerKind } from './worker-kind.js'

/** Duration of a batch: `baseMs + perSampleMs * batchSize`. */
export interface BatchTimes {
  /** Fixed part of the duration, ms. Default 0. */
  readonly baseMs?: number
  /** Time per sample, ms. Default 1. */
  readonly perSampleMs?: number
}

export interface TimedWorkerOptions {
  /** Durations for all tenants, or for each tenant. Default: 1 ms per sample. */
  readonly batchTimes?: BatchTimes | ((tenant: Tenant) => BatchTimes)
  /** Path of another worker program. Default: the built one of this package. */
  readonly program?: string
}

/**
 * Workers that only wait for a given time per batch, to test queues, policies and faults without a network. Shares and
 * co-runners do not change this time.
 *
 * @throws InvalidInputError for invalid times, when a tenant is started; PctodlError `NOT_BUILT` if the worker has not
 *   been built
 */
export function timedWorker({
  batchTimes = {},
  program = builtWorker('timed-worker'),
}: TimedWorkerOptions = {}): WorkerKind {
  return {
    name: 'stand-ins of known batch times',
    launch: (tenant) => {
      const { baseMs = 0, perSampleMs = 1 } = typeof batchTimes === 'function' ? batchTimes(tenant) : batchTimes
      for (const [field, value] of Object.entries({ baseMs, perSampleMs })) {
        if (!(value >= 0 && value < Infinity)) {
          throw new InvalidInputError(`batchTimes.${field}`, value, 'milliseconds of at least 0')
        }
      }
      return { program: process.execPath, args: [program], protocol: 2, options: { baseMs, perSampleMs } }
    },
  }
}
