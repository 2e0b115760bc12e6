import type { TenantCounters } from '@pctodl/platform'

/** Samples completed since the start of a run, including those of processes that have ended. */
export class CompletedSamples {
  readonly #byProcess = new Map<number, number>()
  #total = 0

  update(counters: readonly TenantCounters[]): number {
    for (const { id, samples } of counters) {
      // A counter that fell gives no usable count; counting continues from its new value.
      const before = this.#byProcess.get(id) ?? 0
      if (samples > before) this.#total += samples - before
      this.#byProcess.set(id, samples)
    }
    return this.#total
  }
}
