import type { SampleObservation, WindowObservation } from '@pctodl/scheduler'

/** The Python code's sampler leaves out this much of every window. */
const IGNORED_MS = 2000

/** The highest power of a window without its first two seconds, as PctoDL's Python code measures it. */
export class WindowPower {
  #windowStartMs = 0
  #maxW: number | null = null

  observe({ timeMs, telemetry: { powerAverageW } }: SampleObservation): void {
    if (powerAverageW === null || timeMs < this.#windowStartMs + IGNORED_MS) return
    this.#maxW = Math.max(this.#maxW ?? powerAverageW, powerAverageW)
  }

  /** End a window. @returns W; null where no reading arrived */
  close({ endMs }: WindowObservation): number | null {
    const maxW = this.#maxW
    this.#windowStartMs = endMs
    this.#maxW = null
    return maxW
  }
}
