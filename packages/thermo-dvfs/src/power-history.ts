import { control, SECOND_MS } from './constants.js'

/** Time for which samples are kept, ms. Readings are compared with the model up to this long ago. */
const KEPT_MS = control.maxDelayMs + SECOND_MS + 2 * control.delayStepMs + 4 * control.sampleMs

/** One step of the history; it describes the time slot that ends with the step. */
export interface HistorySample {
  readonly timeMs: number
  readonly capW: number
  /** Model power of the clock that ran in the slot, W. */
  readonly modelW: number
  /** Time integral of the model's power up to the end of the slot, W ms. */
  readonly modelWMs: number
  /** Reading that arrived at the end of the slot, W; null if none did. */
  readonly readW: number | null
}

/** Caps, model power and readings of the last seconds. */
export class PowerHistory {
  readonly #samples: HistorySample[]

  constructor(samples: readonly HistorySample[] = []) {
    this.#samples = [...samples]
  }

  get samples(): readonly HistorySample[] {
    return this.#samples
  }

  get newest(): HistorySample | undefined {
    return this.#samples.at(-1)
  }

  add(timeMs: number, capW: number, modelW: number, readW: number | null): void {
    const last = this.newest
    if (last?.timeMs === timeMs) this.#samples.pop()
    const modelWMs = last === undefined ? 0 : last.modelWMs + modelW * (timeMs - last.timeMs)
    this.#samples.push({ timeMs, capW, modelW, modelWMs, readW })
    while (this.#samples[0]!.timeMs < timeMs - KEPT_MS) this.#samples.shift()
  }

  /** Convert the history to the watts of a new model, after a change of tenants or memory clock. */
  scale(factor: number): void {
    this.#remodel(({ modelW }) => factor * modelW)
  }

  /**
   * Replace the model power of all slots after `afterMs` by `loadW`, W: the power of a load that is known only from
   * readings.
   */
  settle(afterMs: number, loadW: number): void {
    this.#remodel(({ timeMs, modelW }) => (timeMs > afterMs ? loadW : modelW))
  }

  #remodel(modelOf: (sample: HistorySample) => number): void {
    let last: HistorySample | undefined
    for (const [i, sample] of this.#samples.entries()) {
      const modelW = modelOf(sample)
      const modelWMs = last === undefined ? 0 : last.modelWMs + modelW * (sample.timeMs - last.timeMs)
      last = { ...sample, modelW, modelWMs }
      this.#samples[i] = last
    }
  }

  /** Mean model power of a window, W. For times before the history, the power of the oldest slot is used. */
  modelMeanW(fromMs: number, toMs: number): number {
    return (this.#integral(toMs) - this.#integral(fromMs)) / (toMs - fromMs)
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

  #integral(timeMs: number): number {
    let i = this.#samples.length - 1
    while (i > 0 && this.#samples[i - 1]!.timeMs >= timeMs) i--
    const { timeMs: endMs, modelW, modelWMs } = this.#samples[i]!
    return modelWMs - modelW * (endMs - timeMs)
  }
}
