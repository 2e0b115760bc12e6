import { given, type TenantCounters } from '@pctodl/platform'
import type { NetworkLatency } from './run-record.js'

/**
 * Collects the latencies of a run's batches from counters that are read many times a second. If a tenant completes
 * several batches between two readings, each counts with the mean latency of these batches. A batch that takes longer
 * than the reading interval counts with its own latency.
 */
export class BatchLatencies {
  readonly #before = new Map<number, TenantCounters>()
  /** By network: latencies, ms, and the number of batches with each latency. */
  readonly #seen = new Map<string, { readonly latencyMs: number; readonly batches: number }[]>()

  /** @param counts whether the batches since the last reading count; if false, they are ignored */
  add(counters: readonly TenantCounters[], counts: boolean): void {
    for (const counter of counters) {
      const before = this.#before.get(counter.id)
      const batches = counter.batches - (before?.batches ?? 0)
      if (counts && batches > 0) {
        const latencyMs = (counter.latencySumMs - (before?.latencySumMs ?? 0)) / batches
        const { model } = counter.tenant
        const seen = this.#seen.get(model) ?? []
        if (seen.length === 0) this.#seen.set(model, seen)
        seen.push({ latencyMs, batches })
      }
      this.#before.set(counter.id, counter)
    }
  }

  /**
   * Latencies of each network, in the order of names.
   *
   * @param objectives latency objectives by network, ms
   */
  summary(objectives: Readonly<Record<string, number>> = {}): NetworkLatency[] {
    return [...this.#seen]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([model, seen]) => {
        const total = seen.reduce((sum, { batches }) => sum + batches, 0)
        const meanMs = seen.reduce((sum, { latencyMs, batches }) => sum + latencyMs * batches, 0) / total
        const objectiveMs = objectives[model]
        return {
          model,
          ...given({ objectiveMs }),
          meanMs: tidy(meanMs),
          p99Ms: tidy(atShare(seen, 0.99 * total)),
        }
      })
  }
}

/** Returns the lowest latency that is not exceeded in at least `wanted` batches, ms. */
function atShare(seen: readonly { readonly latencyMs: number; readonly batches: number }[], wanted: number): number {
  const ascending = [...seen].sort((a, b) => a.latencyMs - b.latencyMs)
  let counted = 0
  for (const { latencyMs, batches } of ascending) {
    counted += batches
    if (counted >= wanted) return latencyMs
  }
  return ascending.at(-1)!.latencyMs
}

const tidy = (ms: number) => Math.round(1000 * ms) / 1000
