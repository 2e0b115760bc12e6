const MEMORY_MS = 10_000
const START_PERCENT = 0.2
const OUTLIER_PERCENT = 3
/** Exponential smoothing over this time passes as much noise as a mean over one second. */
const SECOND_LIKE_MS = 500

export interface ReadingNoiseState {
  /** Variance of the one-second average in steady state, relative to the cap squared. */
  variance: number
  /** Smoothed error of the instant reading, relative to the cap. */
  smoothed: number
}

/** How much the one-second mean of power fluctuates where nothing changes: what must stay free below the cap. */
export class ReadingNoise {
  readonly state: ReadingNoiseState

  constructor(state?: ReadingNoiseState) {
    this.state = state ?? { variance: (START_PERCENT / 100) ** 2, smoothed: 0 }
  }

  /** Standard deviation, relative to the cap. */
  get relative(): number {
    return Math.sqrt(this.state.variance)
  }

  /** @param error of a one-second average, relative to the cap */
  learn(error: number, durationMs: number): void {
    if (Math.abs(error) * 100 > OUTLIER_PERCENT) return
    this.state.variance += Math.min(1, durationMs / MEMORY_MS) * (error * error - this.state.variance)
  }

  /** @param error of an instant reading, where there is no average; it is smoothed to be like one */
  learnInstant(error: number, durationMs: number): void {
    this.state.smoothed += (1 - Math.exp(-durationMs / SECOND_LIKE_MS)) * (error - this.state.smoothed)
    this.learn(this.state.smoothed, durationMs)
  }
}
