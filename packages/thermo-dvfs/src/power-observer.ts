import { control } from './constants.js'

export interface PowerObserverState {
  /** Board power minus model power at `referenceW`, W, and its variance. */
  offsetW: number
  offsetVarW2: number
  /** Model power at which the offset was learnt, W. */
  referenceW: number
  noiseVarW2: number
  /** Number of consecutive readings that were too high. */
  high: number
  lowSinceMs: number | null
  lastReadW: number | null
  lastModelW: number
}

export interface Innovation {
  readonly timeMs: number
  readonly durationMs: number
  readonly readW: number
  /** Model power over the reading's window, W. */
  readonly modelW: number
  /** Standard deviation caused by uncertain timing, W. */
  readonly timingSdW: number
  /** Length of the reading's window, ms. */
  readonly windowMs: number
  /** Whether all tenants worked throughout that window. */
  readonly full: boolean
  /** Whether a reading below the expectation counts, too. */
  readonly lowCounts: boolean
  /** Time for which power must be low to count as a lighter load, ms. */
  readonly noticeMs: number
}

/**
 * Estimates the offset between board and model, its variance, and the noise of the readings with a one-state Kalman
 * filter. Two high readings in a row are believed at once; low ones only at full load, after a stalled tenant would
 * have been noticed. Part load gives lower bounds only.
 */
export class PowerObserver {
  readonly state: PowerObserverState

  constructor(state?: PowerObserverState) {
    this.state = state ?? {
      offsetW: 0,
      offsetVarW2: 0,
      referenceW: 0,
      noiseVarW2: 0,
      high: 0,
      lowSinceMs: null,
      lastReadW: null,
      lastModelW: 0,
    }
  }

  begin(modelW: number): void {
    const s = this.state
    s.referenceW = modelW
    s.offsetVarW2 = (control.offsetSd * modelW) ** 2
    s.noiseVarW2 = (control.noiseSd * modelW) ** 2
  }

  /** Carry what was learnt over as a ratio after a change of tenants or memory clock. */
  rebase(factor: number): void {
    const s = this.state
    s.offsetW *= factor
    s.referenceW *= factor
    s.lastModelW *= factor
    s.offsetVarW2 = s.offsetVarW2 * factor ** 2 + (control.plantSd * s.referenceW) ** 2
  }

  /** Discard what was learnt from a sensor that proves wrong. */
  doubt(): void {
    this.state.offsetVarW2 = Math.max(this.state.offsetVarW2, (control.plantSd * this.state.referenceW) ** 2)
  }

  /** Estimated power at a model power, W. Errors of dynamic power scale with it; those of static power do not. */
  power(modelW: number): number {
    const { offsetW, referenceW } = this.state
    if (offsetW === 0) return modelW
    const powerW = modelW + offsetW * (1 + control.scaledShare * (modelW / referenceW - 1))
    // Applied unscaled, a large offset learnt at a high clock would leave negative power at a low one.
    return Math.max(powerW, control.scaledShare * modelW * (1 + offsetW / referenceW))
  }

  /** Standard deviation of the estimate, W. */
  sd(modelW: number): number {
    return Math.hypot(Math.sqrt(this.state.offsetVarW2), this.slopeSd(modelW))
  }

  slopeSd(modelW: number): number {
    return control.slopeSd * Math.abs(modelW - this.state.referenceW)
  }

  get noiseSdW(): number {
    return Math.sqrt(this.state.noiseVarW2)
  }

  /** @returns reading minus expectation, W */
  observe({ timeMs, durationMs, readW, modelW, timingSdW, windowMs, full, lowCounts, noticeMs }: Innovation): number {
    const s = this.state
    s.offsetVarW2 += (control.driftSd * modelW) ** 2 * (durationMs / 1000)
    this.#watchNoise(readW, modelW, full)
    const expectedW = this.power(modelW)
    const innovationW = readW - expectedW
    const priorVarW2 = s.offsetVarW2 + this.slopeSd(modelW) ** 2
    // Readings with overlapping windows carry less information than independent ones.
    const readVarW2 = s.noiseVarW2 * Math.max(1, windowMs / Math.max(1, durationMs) / 2) + timingSdW ** 2
    const boundW = Math.max(control.outlierShare * modelW, control.outlier * Math.sqrt(priorVarW2 + readVarW2))
    s.high = innovationW > boundW ? s.high + 1 : 0
    if (innovationW < 0 && !lowCounts) return innovationW
    const isLow = full && innovationW < -boundW
    s.lowSinceMs = isLow ? (s.lowSinceMs ?? timeMs) : null
    const lighter = isLow && timeMs - s.lowSinceMs! >= noticeMs
    const heavier = s.high >= 2
    if (!heavier && !lighter && (!full || s.high > 0 || isLow)) return innovationW
    const varW2 = heavier || lighter ? Math.max(priorVarW2, innovationW ** 2) : priorVarW2
    const gain = varW2 / (varW2 + readVarW2)
    s.offsetW = expectedW - modelW + gain * innovationW
    s.offsetVarW2 = (1 - gain) * varW2
    s.referenceW = modelW
    return innovationW
  }

  #watchNoise(readW: number, modelW: number, full: boolean): void {
    const s = this.state
    const resting = Math.abs(modelW - s.lastModelW) < control.noiseSd * modelW
    if (full && resting && s.lastReadW !== null) {
      const differenceW = Math.min(Math.abs(readW - s.lastReadW), 5 * control.noiseSd * modelW)
      const minW2 = ((control.noiseSd * modelW) / 4) ** 2
      s.noiseVarW2 = Math.max(minW2, s.noiseVarW2 + 0.05 * (differenceW ** 2 / 2 - s.noiseVarW2))
    }
    s.lastReadW = readW
    s.lastModelW = modelW
  }
}
