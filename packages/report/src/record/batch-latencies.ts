import { sum } from '@pctodl/numerics'
import { given, groupBy, type TenantCounters } from '@pctodl/platform'
import type { NetworkLatency } from './run-record.js'

/** Batches of one network with the same latency. */
interface TimedBatches {
  readonly model: string
  readonly latencyMs: number
  readonly batches: number
}

/**
 * Collects the latencies of a run's batches from counters that are read many times a second. If a tenant completes
 * several batches between two readings, each counts with the mean latency of these batches. A batch that takes longer
 * than the reading interval counts with its own latency.
 */
export class BatchLatencies {
  readonly #before = new Map<number, TenantCounters>()
  readonly #seen: TimedBatches[] = []

  /** @param counts whether the batches since the last reading count; if false, they are ignored */
  add(counters: readonly TenantCounters[], counts: boolean): void {
    for (const counter of counters) {
      const before = this.#before.get(counter.id)
      const batches = counter.batches - (before?.batches ?? 0)
      const latencyMs = (counter.latencySumMs - (before?.latencySumMs ?? 0)) / batches
      if (counts && batches > 0) this.#seen.push({ model: counter.tenant.model, latencyMs, batches })
      this.#before.set(counter.id, counter)
    }
  }

  /**
   * Latencies of each network, in the order of names.
   *
   * @param objectives latency objectives by network, ms
   */
  summary(objectives: Readonly<Record<string, number>> = {}): NetworkLatency[] {
    return [...groupBy(this.#seen, ({ model }) => model)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([model, seen]) => {
        const total = sum(seen.map(({ batches }) => batches))
        const meanMs = sum(seen.map(({ latencyMs, batches }) => latencyMs * batches)) / total
        return {
          model,
          ...given({ objectiveMs: objectives[model] }),
          meanMs: tidy(meanMs),
          p99Ms: tidy(p99Of(seen, total)),
        }
      })
  }
}

/** Returns the lowest latency that 99 % of the batches do not exceed, ms. */
function p99Of(seen: readonly TimedBatches[], total: number): number {
  const ascending = seen.toSorted((a, b) => a.latencyMs - b.latencyMs)
  let counted = 0
  for (const { latencyMs, batches } of ascending) {
    counted += batches
    if (counted >= 0.99 * total) return latencyMs
  }
  return ascending.at(-1)!.latencyMs
}

const tidy = (ms: number) => Math.round(1000 * ms) / 1000
