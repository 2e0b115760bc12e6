import type { TenantCounters } from '@pctodl/platform'

/** Samples completed since the start of a run, also by processes that have ended since. */
export class CompletedSamples {
  readonly #byProcess = new Map<number, number>()
  #total = 0

  update(counters: readonly TenantCounters[]): number {
    for (const { id, samples } of counters) {
      // A counter that fell has counted nothing that could be known; from where it stands it counts on.
      const before = this.#byProcess.get(id) ?? 0
      if (samples > before) this.#total += samples - before
      this.#byProcess.set(id, samples)
    }
    return this.#total
  }
}
