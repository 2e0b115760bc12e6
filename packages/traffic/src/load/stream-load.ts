import { InvalidInputError } from '@pctodl/platform'
import { notNegative } from '../arrivals/arrival-process.js'
import { percentileWithConfidence, queriesNeeded } from './early-stopping.js'
import { type LoadOptions, type LoadResult, loadResult, type Scenario } from './load-result.js'
import { QueryLog } from './query-log.js'
import type { SystemUnderTest } from './system-under-test.js'

export interface StreamLoadOptions extends LoadOptions {
  /** Minimum time during which queries are sent, ms. Default 600,000. */
  readonly minDurationMs?: number
  /** Minimum number of queries. Default: as many as are needed to know the percentile with 99 % confidence. */
  readonly minQueries?: number
}

export interface StreamResult extends LoadResult {
  /** The scenario's metric: a latency percentile with 99 % confidence, ms; null if there are too few queries. */
  readonly percentileMs: number | null
}

/**
 * Runs the SingleStream scenario: one sample at a time, each sent after the previous answer. The metric is the 90th
 * percentile.
 */
export function singleStreamLoad(system: SystemUnderTest, options: StreamLoadOptions): Promise<StreamResult> {
  return streamLoad('single-stream', system, 1, 0.9, options)
}

/**
 * Runs the MultiStream scenario: eight samples at a time, each batch sent after the previous answer. The metric is the
 * 99th percentile.
 */
export function multiStreamLoad(system: SystemUnderTest, options: StreamLoadOptions): Promise<StreamResult> {
  return streamLoad('multi-stream', system, 8, 0.99, options)
}

async function streamLoad(
  scenario: Scenario,
  system: SystemUnderTest,
  samples: number,
  percentile: number,
  { clock, signal, minDurationMs = 600_000, minQueries = queriesNeeded(percentile, 1) }: StreamLoadOptions,
): Promise<StreamResult> {
  notNegative('minDurationMs', minDurationMs, 'milliseconds of at least 0')
  if (!Number.isInteger(minQueries) || minQueries < 1) {
    throw new InvalidInputError('minQueries', minQueries, 'a whole number of at least 1')
  }
  const log = new QueryLog(system, clock)
  const startMs = clock.now()
  for (let id = 0; id < minQueries || clock.now() - startMs < minDurationMs; id++) {
    signal?.throwIfAborted()
    const before = clock.now()
    await log.send({ id, samples, dueMs: before })
    // A system that answers in zero virtual time does not advance the clock. Without this sleep the loop would never
    // end.
    if (clock.now() === before && id + 1 >= minQueries) await clock.sleep(1, signal)
  }
  const result = loadResult(scenario, log, startMs, samples, () => [])
  return { ...result, percentileMs: percentileWithConfidence(result.latenciesMs, percentile) }
}
