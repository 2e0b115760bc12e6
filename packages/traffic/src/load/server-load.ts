import { InvalidInputError } from '@pctodl/platform'
import { type ArrivalProcess, notNegative, positive } from '../arrivals/arrival-process.js'
import { queriesNeeded } from './early-stopping.js'
import { type LoadOptions, type LoadResult, loadResult } from './load-result.js'
import { QueryLog } from './query-log.js'
import type { SystemUnderTest } from './system-under-test.js'

export interface ServerLoadOptions extends LoadOptions {
  /** Due times of queries, which have one sample each. MLPerf's rule is `poissonArrivals`. */
  readonly arrivals: ArrivalProcess
  /** Default 1. */
  readonly seed?: number
  /** Bound that the latency percentile of all queries must not exceed, ms. */
  readonly latencyBoundMs: number
  /** Default 0.99. */
  readonly percentile?: number
  /** Minimum time during which queries are sent, ms. Default 600,000. */
  readonly minDurationMs?: number
  /** Minimum number of queries. Default: as many as are needed to know the percentile with 99 % confidence. */
  readonly minQueries?: number
  /**
   * Maximum number of queries that are not answered yet. The generator sheds further ones, so that a system that does
   * not respond cannot exhaust memory. Default 100,000.
   */
  readonly maxOpen?: number
}

/**
 * Runs the Server scenario, an open loop. Queries are sent when they are due, whether or not earlier ones were
 * answered, and latency counts from the due time. A stall therefore delays all requests that users would have sent
 * during it (no coordinated omission). The run is valid if the percentile is below the bound with 99 % confidence.
 */
export async function serverLoad(system: SystemUnderTest, options: ServerLoadOptions): Promise<LoadResult> {
  const { clock, signal, arrivals, seed = 1, latencyBoundMs, percentile = 0.99 } = options
  const { minDurationMs = 600_000, minQueries = queriesNeeded(percentile, 1), maxOpen = 100_000 } = options
  positive('latencyBoundMs', latencyBoundMs, 'milliseconds above 0')
  notNegative('minDurationMs', minDurationMs, 'milliseconds of at least 0')
  if (!Number.isInteger(minQueries) || minQueries < 1) {
    throw new InvalidInputError('minQueries', minQueries, 'a whole number of at least 1')
  }
  positive('maxOpen', maxOpen)
  const limited: SystemUnderTest = {
    answer: (query) => (log.open >= maxOpen ? Promise.resolve('shed') : system.answer(query)),
  }
  const log = new QueryLog(limited, clock)
  const due = arrivals.start(seed)
  const startMs = clock.now()
  let sent = 0
  for (let afterMs = due.nextMs(); afterMs < Infinity; afterMs = due.nextMs()) {
    if (afterMs >= minDurationMs && sent >= minQueries) break
    const dueMs = startMs + afterMs
    if (dueMs > clock.now()) await clock.sleep(dueMs - clock.now(), signal)
    signal?.throwIfAborted()
    void log.send({ id: sent++, samples: 1, dueMs })
  }
  await log.settle()
  return loadResult('server', log, startMs, 1, ({ queries, latenciesMs }) => {
    if (queries < minQueries) return [`${queries} queries, fewer than ${minQueries}: the arrivals ended`]
    const over = queries - countWithin(latenciesMs, latencyBoundMs)
    const share = Math.round(percentile * 1000) / 10
    if (queries >= queriesNeeded(percentile, over)) return []
    return [`${over} of ${queries} queries took more than ${latencyBoundMs} ms: too many for a p${share} below it`]
  })
}

/** Number of values that are at most `bound`, in an ascending array. */
function countWithin(ascending: Float64Array, bound: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= bound) low = middle + 1
    else high = middle
  }
  return low
}
