import { attainmentBetween, InvalidInputError, type Service, type ServiceCounters } from '@pctodl/platform'

/** Quantiles of latencies, ms; null if nothing was answered. */
export interface LatencyQuantiles {
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
}

/** How a service performed between two readings of its counters. */
export interface ServiceReport extends LatencyQuantiles {
  readonly service: string
  readonly durationMs: number
  /** Arrival rate, requests/s. */
  readonly arrivalsPerS: number
  /** Rate of requests answered within the objective, requests/s. */
  readonly goodputPerS: number
  /**
   * Share of the decided requests (answered, shed or failed) that were answered within the objective, 0..1; null if
   * none was decided.
   */
  readonly attainment: number | null
  /** Whether at least 99 % of the decided requests were answered within the objective; null if none was decided. */
  readonly objectiveMet: boolean | null
  readonly arrived: number
  readonly completed: number
  readonly late: number
  readonly shed: number
  readonly failed: number
  /** Requests that wait or run at the end of the period. */
  readonly open: number
}

/** Attainment that a p99 objective requires. */
const ATTAINMENT = 0.99

/**
 * Reports latency and attainment of a service over a period. Latencies are those of answered requests only; shed and
 * failed requests lower the attainment.
 *
 * @param earlier a reading of the same counters at the start of the period
 * @throws InvalidInputError unless the readings are of the same service and in order
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
