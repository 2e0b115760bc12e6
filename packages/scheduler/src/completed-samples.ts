import type { TenantCounters } from '@pctodl/platform'

/** Number of samples completed since the start of a run, including samples of processes that have ended. */
export class CompletedSamples {
  readonly #byProcess = new Map<number, number>()
  #total = 0

  update(counters: readonly TenantCounters[]): number {
    for (const { id, samples } of counters) {
      // If a process's counter fell, the lost samples are unknown; counting continues from the counter's new value.
      const before = this.#byProcess.get(id) ?? 0
      if (samples > before) this.#total += samples - before
      this.#byProcess.set(id, samples)
    }
    return this.#total
  }
}
