import { control } from './constants.js'
import type { PowerHistory } from './power-history.js'

const CANDIDATES = control.maxDelayMs / control.delayStepMs + 1

export interface SensorDelayState {
  readonly meansW: (number | null)[]
  readonly losses: number[]
  chosen: number
}

/**
 * Estimates the delay of power readings. Each candidate delay tracks the mean of reading minus delayed model power.
 * Once the model's power has moved enough to distinguish them, the delay with the smallest residuals is chosen.
 */
export class SensorDelay {
  readonly state: SensorDelayState

  constructor(state?: SensorDelayState) {
    this.state = state ?? {
      meansW: Array.from({ length: CANDIDATES }, () => null),
      losses: Array.from({ length: CANDIDATES }, () => 0),
      chosen: 0,
    }
  }

  get delayMs(): number {
    return this.state.chosen * control.delayStepMs
  }

  /** Whether power has moved enough to tell the delay. */
  get known(): boolean {
    return Math.max(...this.state.losses) - this.state.losses[this.state.chosen]! > control.delayEvidence
  }

  /** Forget the residuals after a change of the model. */
  forget(): void {
    this.state.meansW.fill(null)
  }

  /** @returns whether another delay was chosen */
  observe(history: PowerHistory, readW: number, windowMs: number, noiseW2: number): boolean {
    const { meansW, losses } = this.state
    const endMs = history.newest!.timeMs - control.sensingMs
    const residuals = meansW.map(
      (_, i) => readW - history.modelMeanW(endMs - i * control.delayStepMs - windowMs, endMs - i * control.delayStepMs),
    )
    const spreadW = Math.max(...residuals) - Math.min(...residuals)
    const informative = spreadW ** 2 > control.delaySpread * noiseW2
    // The board's slope differs a little from the model's.
    const varianceW2 = noiseW2 + (control.slopeSd * spreadW) ** 2
    for (let i = 0; i < CANDIDATES; i++) {
      const mean = meansW[i] ?? null
      const residualW = residuals[i]!
      if (mean === null) {
        meansW[i] = residualW
        continue
      }
      if (informative) {
        losses[i] =
          control.delayLossKept * losses[i]! + Math.min(control.delaySpread, (residualW - mean) ** 2 / varianceW2)
      }
      meansW[i] = mean + control.delayMeanWeight * (residualW - mean)
    }
    if (!informative) return false
    let best = this.state.chosen
    for (let i = 0; i < CANDIDATES; i++) if (losses[i]! < losses[best]!) best = i
    if (losses[this.state.chosen]! - losses[best]! <= control.delayEvidence) return false
    this.state.chosen = best
    return true
  }
}
