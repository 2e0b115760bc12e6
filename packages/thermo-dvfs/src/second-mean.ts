const SECOND_MS = 1000
/** Share of the second that the readings must span, so that their mean stands for it. */
const LEAST_SPAN = 0.75
const LEAST_READINGS = 4
/** Readings that are kept: a caller that steps more often than this in a second gives more than is needed. */
const CAPACITY = 32

export interface SecondMeanState {
  readonly timesMs: number[]
  readonly powersW: number[]
}

/** The plain mean of the last second of instant readings: what a one-second average would say. */
export class SecondMean {
  readonly state: SecondMeanState
  #sumW = 0

  constructor(state?: SecondMeanState) {
    this.state = state ?? { timesMs: [], powersW: [] }
    for (const powerW of this.state.powersW) this.#sumW += powerW
  }

  /** W; null where too few readings of the last second are known. */
  get powerW(): number | null {
    const { timesMs } = this.state
    const count = timesMs.length
    if (count < LEAST_READINGS || timesMs[count - 1]! - timesMs[0]! < LEAST_SPAN * SECOND_MS) return null
    return this.#sumW / count
  }

  add(timeMs: number, powerW: number): void {
    const { timesMs, powersW } = this.state
    timesMs.push(timeMs)
    powersW.push(powerW)
    this.#sumW += powerW
    this.forgetBefore(timeMs - SECOND_MS)
    if (timesMs.length > CAPACITY) this.#drop()
  }

  /** Readings of this time or earlier are not of the last second any more. */
  forgetBefore(timeMs: number): void {
    const { timesMs } = this.state
    while (timesMs.length > 0 && timesMs[0]! <= timeMs) this.#drop()
  }

  #drop(): void {
    this.state.timesMs.shift()
    this.#sumW -= this.state.powersW.shift()!
    // Sums that are only ever added to and taken from would drift.
    if (this.state.powersW.length === 0) this.#sumW = 0
  }
}
