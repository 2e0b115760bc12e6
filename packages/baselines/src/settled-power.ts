import type { SampleObservation, WindowObservation } from '@pctodl/scheduler'

/**
 * Time at the start of each window that the Python code's sampler ignores, ms. A one-second average still contains the
 * clock of the previous window. If such readings counted, the highest power of the window would cause another step down
 * after each step down.
 */
const SETTLING_MS = 2000

/** The highest power of a window after its first two seconds. */
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
   * Ends a window.
   *
   * @returns the highest power, W; null if no reading arrived. If `observe` was not called in this window, the window's
   *   own maximum counts.
   */
  close(window: WindowObservation): number | null {
    const powerW = this.#sampled ? this.#maxW : window.powerMaxW
    this.#windowStartMs = window.endMs
    this.#sampled = false
    this.#maxW = null
    // Some drivers report 0 W when a reading fails.
    return powerW !== null && powerW > 0 ? powerW : null
  }
}
