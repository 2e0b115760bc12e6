import { control } from './constants.js'
import type { PowerHistory } from './power-history.js'

const CANDIDATES = control.maxDelayMs / control.delayStepMs + 1
/** Candidates between the two readings whose difference is judged. */
const APART = 2

export interface SensorDelayState {
  /**
   * Change that each candidate left unexplained, beyond the best one's, in standard deviations of a reading; the last
   * one is the candidate that the readings do not follow the clock at all.
   */
  readonly losses: number[]
  chosen: number
}

/**
 * Estimates the delay of power readings from the controller's own moves: the delay that leaves the least change
 * unexplained. A wrong one sees each move twice, once in the model and once in the readings. A change of load is seen
 * once at any delay, so by the triangle inequality it never favours a wrong one, even where it cancels a move. A longer
 * delay, whose moves may not have shown yet, must also explain more than readings that follow nothing.
 */
export class SensorDelay {
  readonly state: SensorDelayState

  constructor(state?: SensorDelayState) {
    this.state = state ?? { losses: Array.from({ length: CANDIDATES + 1 }, () => 0), chosen: 0 }
  }

  get delayMs(): number {
    return this.state.chosen * control.delayStepMs
  }

  /** Whether power has moved enough to tell the delay. */
  get known(): boolean {
    const { losses, chosen } = this.state
    return Math.max(...losses) - losses[chosen]! > control.delayEvidence
  }

  /** @returns whether another delay was chosen */
  observe(history: PowerHistory, readW: number, windowMs: number, noiseSdW: number): boolean {
    const { losses } = this.state
    const nowMs = history.newest!.timeMs
    const beforeW = history.readAt(nowMs - APART * control.delayStepMs)
    if (beforeW === null) return false
    const modelW = Array.from({ length: CANDIDATES + APART }, (_, i) => {
      const endMs = nowMs - control.sampleMs - i * control.delayStepMs
      return history.modelMeanW(endMs - windowMs, endMs)
    })
    const changesW = losses.map((_, i) => (i < CANDIDATES ? modelW[i]! - modelW[i + APART]! : 0))
    if (Math.max(...changesW) - Math.min(...changesW) < control.outlier * noiseSdW) return false
    for (let i = 0; i <= CANDIDATES; i++) losses[i]! += Math.abs(readW - beforeW - changesW[i]!) / noiseSdW
    // A bound on the losses lets the present estimate be overruled within one or two moves.
    const bound = 4 * control.delayEvidence
    const minLoss = Math.min(...losses.slice(0, CANDIDATES))
    for (let i = 0; i <= CANDIDATES; i++) losses[i] = Math.max(-bound, Math.min(bound, losses[i]! - minLoss))
    const { chosen } = this.state
    const best = losses.indexOf(0)
    const overruled = best > chosen ? Math.min(losses[chosen]!, losses[CANDIDATES]!) : losses[chosen]!
    if (overruled <= control.delayEvidence) return false
    this.state.chosen = best
    return true
  }
}
