import type { SampleObservation, WindowObservation } from '@pctodl/scheduler'

/**
 * The Python code's sampler leaves out this much of every window. It must: a reading that averages over a second still holds the
 * clock of the window before, and a maximum over the whole window would answer every step down with another one.
 */
const SETTLING_MS = 2000

/** The highest power of a window without its first two seconds. */
export class SettledPower {
  #windowStartMs = 0
  #sampled = false
  #maxW: number | null = null

  observe({ timeMs, telemetry: { powerAverageW } }: SampleObservation): void {
    this.#sampled = true
    if (powerAverageW === null || timeMs < this.#windowStartMs + SETTLING_MS) return
    this.#maxW = Math.max(this.#maxW ?? powerAverageW, powerAverageW)
  }

  /**
   * End a window.
   *
   * @returns W; null where no reading arrived. The window's own maximum where no sample was shown to `observe` at all.
   */
  close(window: WindowObservation): number | null {
    const powerW = this.#sampled ? this.#maxW : window.powerMaxW
    this.#windowStartMs = window.endMs
    this.#sampled = false
    this.#maxW = null
    // 0 W is what a failed reading looks like on some drivers.
    return powerW !== null && powerW > 0 ? powerW : null
  }
}
