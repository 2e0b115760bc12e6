import { control, SECOND_MS } from './constants.js'

/** Time for which samples are kept, ms. Readings are compared with the model up to this long ago. */
const KEPT_MS = control.maxDelayMs + SECOND_MS + 2 * control.delayStepMs + 4 * control.sampleMs

/** One step of the history; it describes the time slot that ends with the step. */
export interface HistorySample {
  readonly timeMs: number
  readonly capW: number
  /** Model power of the clock that ran in the slot, W. */
  readonly modelW: number
  /** Model power of the work in the slot, W: the same if all tenants worked, 0 if the power of the others is unknown. */
  readonly workedW: number
  /** Reading that arrived at the end of the slot, W; null if none did. */
  readonly readW: number | null
}

/** Caps, model power and readings of the last seconds. */
export class PowerHistory {
  readonly #samples: HistorySample[] = []

  get newest(): HistorySample | undefined {
    return this.#samples.at(-1)
  }

  add(sample: HistorySample): void {
    if (this.newest?.timeMs === sample.timeMs) this.#samples.pop()
    this.#samples.push(sample)
    while (this.#samples[0]!.timeMs < sample.timeMs - KEPT_MS) this.#samples.shift()
  }

  /** Convert the history to the watts of a new model, after a change of tenants or memory clock. */
  scale(factor: number): void {
    this.#samples.forEach((sample, i) => {
      this.#samples[i] = { ...sample, modelW: factor * sample.modelW, workedW: factor * sample.workedW }
    })
  }

  /** Record afterwards that not all tenants worked since `afterMs`, and that the rest of the load drew `workedW`. */
  rested(afterMs: number, workedW: number): void {
    for (let i = this.#firstAfter(afterMs); i < this.#samples.length; i++) {
      this.#samples[i] = { ...this.#samples[i]!, workedW }
    }
  }

  /**
   * Mean model power of a window, W, or of the part of it in which all tenants worked. For times outside the history,
   * the nearest slot is used.
   */
  meanW(fromMs: number, toMs: number, powerOf = (slot: HistorySample): number => slot.modelW): number {
    let sumWMs = 0
    let endMs = toMs
    for (let i = this.#samples.length - 1; endMs > fromMs; i--) {
      const beginMs = i > 0 ? Math.max(fromMs, this.#samples[i - 1]!.timeMs) : fromMs
      if (beginMs >= endMs) continue
      sumWMs += powerOf(this.#samples[i]!) * (endMs - beginMs)
      endMs = beginMs
    }
    return sumWMs / (toMs - fromMs)
  }

  /** Mean of the readings after a time (W), and their number. */
  readings(afterMs: number): { readonly meanW: number; readonly count: number } {
    let sumW = 0
    let count = 0
    for (let i = this.#firstAfter(afterMs); i < this.#samples.length; i++) {
      const { readW } = this.#samples[i]!
      if (readW === null) continue
      sumW += readW
      count++
    }
    return { meanW: sumW / count, count }
  }

  /** The reading of the step at or before a time, W; null if none arrived in that step. */
  readAt(timeMs: number): number | null {
    if (timeMs > this.newest!.timeMs) return null
    return this.#samples.findLast((earlier) => earlier.timeMs <= timeMs)?.readW ?? null
  }

  /**
   * Returns the power that the board may draw from now on, W, so that no one-second window that ends 0.3 to 1.1 s ahead
   * exceeds the cap's energy. Past energy counts against the cap of its time, or against the present cap if that is
   * higher.
   *
   * @param presentW power at the present clock, W. The board draws it until a new request takes effect.
   * @param slotW estimated power during a time slot, W
   */
  budgetW(capW: number, presentW: number, slotW: (slot: HistorySample) => number): number {
    const samples = this.#samples
    const spareWMs = (control.lowerShare - 1) * capW * SECOND_MS
    let budgetW = Number.POSITIVE_INFINITY
    // Windows that begin later contain less of the past, so the sum grows from the newest slot backwards.
    let excessWMs = (presentW - capW) * control.sampleMs
    let slot = samples.length - 1
    for (let aheadMs = SECOND_MS + control.sampleMs; aheadMs >= control.shortMs; aheadMs -= control.sampleMs) {
      const beginsMs = this.newest!.timeMs + aheadMs - SECOND_MS
      for (; slot > 0 && samples[slot]!.timeMs > beginsMs; slot--) {
        const durationMs = samples[slot]!.timeMs - samples[slot - 1]!.timeMs
        excessWMs += (slotW(samples[slot]!) - Math.max(capW, samples[slot]!.capW)) * durationMs
      }
      budgetW = Math.min(budgetW, capW + (spareWMs - excessWMs) / (aheadMs - control.sampleMs))
    }
    return budgetW
  }

  /** Standard deviation of the model power over the slots since a time, W; 0 if there is none. */
  modelSdW(fromMs: number): number {
    const first = this.#firstAfter(fromMs)
    const slots = this.#samples.length - first
    let meanW = 0
    for (let i = first; i < this.#samples.length; i++) meanW += this.#samples[i]!.modelW / slots
    let varW2 = 0
    for (let i = first; i < this.#samples.length; i++) varW2 += (this.#samples[i]!.modelW - meanW) ** 2 / slots
    return Math.sqrt(varW2)
  }

  #firstAfter(timeMs: number): number {
    let first = this.#samples.length
    while (first > 0 && this.#samples[first - 1]!.timeMs > timeMs) first--
    return first
  }
}
