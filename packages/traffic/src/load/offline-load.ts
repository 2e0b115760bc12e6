import { InvalidInputError } from '@pctodl/platform'
import { notNegative } from '../arrivals/arrival-process.js'
import { type LoadOptions, type LoadResult, loadResult } from './load-result.js'
import { QueryLog } from './query-log.js'
import type { SystemUnderTest } from './system-under-test.js'

export interface OfflineLoadOptions extends LoadOptions {
  /** Number of samples in the single query. Default 24,576, MLPerf's minimum. */
  readonly samples?: number
  /** Minimum duration of a valid run, ms. Default 600,000. A faster system needs more samples. */
  readonly minDurationMs?: number
}

/** Runs the Offline scenario: all samples at once, in one query. The scenario's metric is `samplesPerS`. */
export async function offlineLoad(
  system: SystemUnderTest,
  { clock, signal, samples = 24_576, minDurationMs = 600_000 }: OfflineLoadOptions,
): Promise<LoadResult> {
  if (!Number.isInteger(samples) || samples < 1) {
    throw new InvalidInputError('samples', samples, 'a whole number of at least 1')
  }
  notNegative('minDurationMs', minDurationMs, 'milliseconds of at least 0')
  signal?.throwIfAborted()
  const log = new QueryLog(system, clock)
  const startMs = clock.now()
  await log.send({ id: 0, samples, dueMs: startMs })
  signal?.throwIfAborted()
  return loadResult('offline', log, startMs, samples, ({ durationMs }) =>
    durationMs >= minDurationMs ? [] : [`${samples} samples took ${durationMs} ms, less than ${minDurationMs}`],
  )
}
