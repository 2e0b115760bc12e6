import type { SampleObservation, WindowObservation } from '@pctodl/scheduler'

/** Time at the start of each window that the Python code's sampler ignores, ms. */
const IGNORED_MS = 2000

/** The highest power of a window after its first two seconds, as in PctoDL's Python code. */
export class WindowPower {
  #windowStartMs = 0
  #maxW: number | null = null

  observe({ timeMs, telemetry: { powerAverageW } }: SampleObservation): void {
    if (powerAverageW === null || timeMs < this.#windowStartMs + IGNORED_MS) return
    this.#maxW = Math.max(this.#maxW ?? powerAverageW, powerAverageW)
  }

  /**
   * Ends a window.
   *
   * @returns the highest power, W; null if no reading arrived
   */
  close({ endMs }: WindowObservation): number | null {
    const maxW = this.#maxW
    this.#windowStartMs = endMs
    this.#maxW = null
    return maxW
  }
}
