import { InvalidInputError, type Tenant } from '@pctodl/platform'
import { builtWorker } from './built-worker.js'
import type { WorkerKind } from './worker-kind.js'

/** What a batch takes: `baseMs + perSampleMs * batchSize`. */
export interface BatchTimes {
  /** Whatever its size, ms. Default 0. */
  readonly baseMs?: number
  /** What each of its samples adds, ms. Default 1. */
  readonly perSampleMs?: number
}

export interface TimedWorkerOptions {
  /** Of all tenants, or by tenant. Default: 1 ms a sample. */
  readonly batchTimes?: BatchTimes | ((tenant: Tenant) => BatchTimes)
  /** The built worker. Default: the one of this package. */
  readonly program?: string
}

/**
 * Stand-ins: processes that infer nothing, and whose batches take as long as they are said to, for whatever is tried without a
 * network: queues, policies, faults. A tenant's batch size and share change nothing of it, nor do its neighbours.
 *
 * @throws InvalidInputError for times that are none, when a tenant is started; PctodlError `NOT_BUILT` where the worker has not been
 *   built
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
