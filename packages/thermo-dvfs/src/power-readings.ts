/** Readings this many times above the model's highest power are faults of the sensor. */
const IMPLAUSIBLE_FACTOR = 4
/** Time constants of the two means of the instant reading, ms: one for the guard, one to hold against the average. */
const FAST_MEAN_MS = 300
const SLOW_MEAN_MS = 500
const CONTRADICTION_PERCENT = 12
const CONTRADICTION_MS = 2000

export interface PowerReadingsState {
  lastAverageW: number | null
  lastInstantW: number | null
  lastUsableMs: number
  fastMeanW: number | null
  slowMeanW: number | null
  contradictionSinceMs: number | null
}

interface RawReadings {
  readonly timeMs: number
  /** Since the step before, ms. */
  readonly durationMs: number
  readonly averageW: number | null
  readonly instantW: number | null
  /** The model's power at the highest clock, W. */
  readonly highestW: number
  readonly powerCapW: number
  /** No tenant starts or stops, so that the two sensors must agree. */
  readonly steady: boolean
}

/**
 * Decides which readings are worth learning from. Missing, zero and absurd ones are not, nor the lower of two sensors that
 * contradict each other.
 */
export class PowerReadings {
  readonly state: PowerReadingsState
  /** Usable in this step, W. */
  averageW: number | null = null
  instantW: number | null = null
  contradictory = false
  /** A reading differs from the one before it. */
  varied = false

  constructor(state?: PowerReadingsState) {
    this.state = state ?? {
      lastAverageW: null,
      lastInstantW: null,
      lastUsableMs: 0,
      fastMeanW: null,
      slowMeanW: null,
      contradictionSinceMs: null,
    }
  }

  begin(timeMs: number): void {
    this.state.lastUsableMs = timeMs
  }

  observe({ timeMs, durationMs, averageW, instantW, highestW, powerCapW, steady }: RawReadings): void {
    const s = this.state
    this.averageW = plausible(averageW, highestW)
    this.instantW = plausible(instantW, highestW)
    this.varied =
      (this.averageW !== null && this.averageW !== s.lastAverageW) ||
      (this.instantW !== null && this.instantW !== s.lastInstantW)
    if (averageW !== null) s.lastAverageW = averageW
    if (instantW !== null) s.lastInstantW = instantW
    if (this.instantW !== null) {
      s.fastMeanW = smooth(s.fastMeanW, this.instantW, durationMs / FAST_MEAN_MS)
      s.slowMeanW = smooth(s.slowMeanW, this.instantW, durationMs / SLOW_MEAN_MS)
    }
    this.#compareSensors(timeMs, powerCapW, steady)
    if (this.averageW !== null || this.instantW !== null) s.lastUsableMs = timeMs
  }

  /** They turned out to be worth nothing. */
  discard(lastUsableMs: number): void {
    this.averageW = null
    this.instantW = null
    this.state.lastUsableMs = lastUsableMs
  }

  /** Whether the newest reading of any sensor is above a power. */
  above(powerW: number): boolean {
    return (this.state.lastAverageW ?? 0) > powerW || (this.state.lastInstantW ?? 0) > powerW
  }

  /** Whether the mean of the last second, or what is nearest to it, is above a power. */
  meanAbove(powerW: number): boolean {
    return (this.averageW ?? this.state.slowMeanW ?? 0) > powerW
  }

  #compareSensors(timeMs: number, powerCapW: number, steady: boolean): void {
    const s = this.state
    if (this.averageW !== null && this.instantW !== null && s.slowMeanW !== null) {
      const apart = Math.abs(this.averageW - s.slowMeanW) > (CONTRADICTION_PERCENT / 100) * powerCapW
      if (!apart || !steady) s.contradictionSinceMs = null
      else s.contradictionSinceMs ??= timeMs
    }
    this.contradictory = s.contradictionSinceMs !== null && timeMs - s.contradictionSinceMs >= CONTRADICTION_MS
    if (!this.contradictory) return
    if ((s.lastAverageW ?? 0) > (s.slowMeanW ?? 0)) this.instantW = null
    else this.averageW = null
  }
}

function plausible(powerW: number | null, highestW: number): number | null {
  return powerW !== null && powerW > 0 && powerW <= IMPLAUSIBLE_FACTOR * highestW ? powerW : null
}

function smooth(mean: number | null, value: number, fraction: number): number {
  return mean === null ? value : mean + (1 - Math.exp(-fraction)) * (value - mean)
}
