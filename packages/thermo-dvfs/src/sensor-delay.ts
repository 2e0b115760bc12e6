import { control } from './constants.js'
import type { PowerHistory } from './power-history.js'

const CANDIDATES = control.maxDelayMs / control.delayStepMs + 1

/**
 * Estimates the delay of power readings from the clock changes that the controller makes. For each candidate delay, it
 * sums the changes in the readings that the model does not explain. It chooses the candidate with the smallest sum.
 * With a wrong delay, each clock change counts twice: once when the model changes, once when the readings change. A
 * change of load counts once with every delay. By the triangle inequality, a change of load therefore never favours a
 * wrong delay, even if it cancels a clock change. The clock changes of a longer delay may not have shown yet. So a
 * longer delay must also explain more than the assumption that readings do not follow the clock at all.
 */
export class SensorDelay {
  /**
   * For each candidate, the change that it left unexplained beyond the best candidate's, in standard deviations of a
   * reading. The last entry belongs to the hypothesis that the readings do not follow the clock.
   */
  readonly #losses = Array.from({ length: CANDIDATES + 1 }, () => 0)
  #chosen = 0

  get delayMs(): number {
    return this.#chosen * control.delayStepMs
  }

  /** True if the power has changed enough to determine the delay. */
  get known(): boolean {
    const losses = this.#losses
    return losses[this.#chosen]! <= control.delayEvidence && Math.max(...losses) > control.delayEvidence
  }

  /** Compare one reading with the candidates. */
  observe(history: PowerHistory, readW: number, windowMs: number, noiseSdW: number): void {
    const losses = this.#losses
    const chosen = this.#chosen
    const nowMs = history.newest!.timeMs
    const beforeW = history.readAt(nowMs - control.delayApart * control.delayStepMs)
    if (beforeW === null) return
    const modelW = Array.from({ length: CANDIDATES + control.delayApart }, (_, i) => {
      const endMs = nowMs - control.sampleMs - i * control.delayStepMs
      return history.meanW(endMs - windowMs, endMs, ({ modelW, workedW }) => workedW || modelW)
    })
    const changesW = losses.map((_, i) => (i < CANDIDATES ? modelW[i]! - modelW[i + control.delayApart]! : 0))
    if (Math.max(...changesW) - Math.min(...changesW) < control.outlier * noiseSdW) return
    for (let i = 0; i <= CANDIDATES; i++) losses[i]! += Math.abs(readW - beforeW - changesW[i]!) / noiseSdW
    // The losses are bounded, so that one or two clock changes can overrule the present estimate.
    const bound = 4 * control.delayEvidence
    const minLoss = Math.min(...losses.slice(0, CANDIDATES))
    for (let i = 0; i <= CANDIDATES; i++) losses[i] = Math.max(-bound, Math.min(bound, losses[i]! - minLoss))
    const best = losses.indexOf(0)
    const overruled = best > chosen ? Math.min(losses[chosen]!, losses[CANDIDATES]!) : losses[chosen]!
    if (overruled > control.delayEvidence) this.#chosen = best
  }
}
