import { attainmentBetween, InvalidInputError, type Service, type ServiceCounters } from '@pctodl/platform'

/** Quantiles of latencies, ms; null where nothing was answered. */
export interface LatencyQuantiles {
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
}

/** What a service did between two readings of its counters. */
export interface ServiceReport extends LatencyQuantiles {
  readonly service: string
  readonly durationMs: number
  /** Requests/s that arrived. */
  readonly arrivalsPerS: number
  /** Requests/s that were answered within the objective. */
  readonly goodputPerS: number
  /** Share of what was decided that was answered within the objective, 0..1; null where nothing was decided. */
  readonly attainment: number | null
  /** Whether 99 of 100 requests were answered within the objective. Null where nothing was decided. */
  readonly objectiveMet: boolean | null
  readonly arrived: number
  readonly completed: number
  readonly late: number
  readonly shed: number
  readonly failed: number
  /** Requests that waited or ran at the end. */
  readonly open: number
}

/** What an objective of p99 asks for. */
const ATTAINMENT = 0.99

/**
 * Latency and attainment of a service over a stretch of time. Latencies are those of answers; what was shed or failed has none
 * and shows in the attainment.
 *
 * @param earlier a reading of the same counters at the begin of the stretch
 * @throws InvalidInputError where the readings are not two of the same service, in order
 */
export function serviceReport(
  service: Pick<Service, 'name'>,
  earlier: ServiceCounters,
  later: ServiceCounters,
): ServiceReport {
  for (const [name, counters] of Object.entries({ earlier, later })) {
    if (counters.service !== service.name) {
      throw new InvalidInputError(`${name}.service`, counters.service, `'${service.name}'`)
    }
  }
  const durationMs = later.timeMs - earlier.timeMs
  if (!(durationMs > 0)) {
    throw new InvalidInputError('later.timeMs', later.timeMs, `after the earlier reading, at ${earlier.timeMs}`)
  }
  const between = (key: 'arrived' | 'completed' | 'late' | 'shed' | 'failed') => later[key] - earlier[key]
  const attainment = attainmentBetween(earlier, later)
  const latencies = later.latencies.since(earlier.latencies)
  const quantile = (share: number) => (latencies.count === 0 ? null : latencies.quantileMs(share))
  return {
    service: service.name,
    durationMs,
    arrivalsPerS: (1000 * between('arrived')) / durationMs,
    goodputPerS: (1000 * (between('completed') - between('late'))) / durationMs,
    attainment,
    objectiveMet: attainment === null ? null : attainment >= ATTAINMENT,
    arrived: between('arrived'),
    completed: between('completed'),
    late: between('late'),
    shed: between('shed'),
    failed: between('failed'),
    open: later.queued + later.running,
    ...quantilesOf(quantile),
  }
}

export function quantilesOf(quantile: (share: number) => number | null): LatencyQuantiles {
  return {
    p50Ms: quantile(0.5),
    p90Ms: quantile(0.9),
    p95Ms: quantile(0.95),
    p99Ms: quantile(0.99),
    p999Ms: quantile(0.999),
  }
}
