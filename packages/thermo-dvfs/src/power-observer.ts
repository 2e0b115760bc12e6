import { control, SECOND_MS } from './constants.js'

export interface Innovation {
  readonly durationMs: number
  readonly readW: number
  /** Model power over the reading's window, W. */
  readonly modelW: number
  /** Standard deviation of the model power due to uncertain timing, W. */
  readonly timingSdW: number
  /** Length of the reading's window, ms. */
  readonly windowMs: number
  /** True if all tenants worked throughout that window. */
  readonly full: boolean
  /** Model power of the part of the window in which all tenants worked for certain, W. */
  readonly workedW: number
  /** Whether readings below the expected power may change the estimate, too; otherwise only readings above it may. */
  readonly lowCounts: boolean
  /** Time for which power must be low to count as a lighter load, ms. */
  readonly noticeMs: number
}

/**
 * Estimates the ratio of board to model power, its variance, and the noise of the readings with a one-state Kalman
 * filter. High readings are believed once their excess adds up to 1 % of a second's energy, after two readings at the
 * earliest. Low readings are believed only after a stalled tenant would have been noticed. At part load, readings give
 * only bounds: full load draws at least the reading, and at most the reading divided by the share of time with work.
 */
export class PowerObserver {
  readonly state = {
    /** Ratio of board power to model power; `ratioVar` is its variance. */
    ratio: 1,
    ratioVar: (control.ratioSd ** 2) as number,
    /** Model power at which the ratio was learnt, W. */
    referenceW: 0,
    /** Estimate when a reading last varied. It replaces what was learnt from frozen readings. */
    kept: { ratio: 1, ratioVar: 0, referenceW: 0 },
    noiseVarW2: 0,
    /** Unexplained energy of consecutive readings that were too high, W ms. */
    highWMs: 0,
    /** Time of readings that were too low since the last one that was not, ms. */
    lowMs: 0,
    lastReadW: null as number | null,
    lastModelW: 0,
  }

  begin(modelW: number): void {
    this.state.referenceW = modelW
    this.state.noiseVarW2 = (control.noiseSd * modelW) ** 2
    this.keep()
  }

  keep(): void {
    const { ratio, ratioVar, referenceW } = this.state
    this.state.kept = { ratio, ratioVar, referenceW }
  }

  restore(): void {
    Object.assign(this.state, this.state.kept)
  }

  /**
   * Adapt to a model whose power changed by a factor, because the tenants or the memory clock changed. The ratio
   * carries over.
   */
  rebase(factor: number): void {
    this.state.referenceW *= factor
    this.state.kept.referenceW *= factor
    this.state.lastModelW *= factor
  }

  /** A stall of a tenant was noticed. It explains the low readings in the time before. */
  explainLow(noticeMs: number): void {
    this.state.lowMs = Math.max(0, this.state.lowMs - noticeMs)
  }

  /** Estimated board power for a model power, W. */
  power(modelW: number): number {
    return this.state.ratio * modelW
  }

  /** Standard deviation of the estimated board power, W. */
  sd(modelW: number): number {
    return Math.sqrt(this.#varW2(modelW))
  }

  #varW2(modelW: number): number {
    const { ratioVar, referenceW } = this.state
    return ratioVar * modelW ** 2 + (control.slopeSd * (modelW - referenceW)) ** 2
  }

  get noiseSdW(): number {
    return Math.sqrt(this.state.noiseVarW2)
  }

  /**
   * Update the estimate with one reading.
   *
   * @returns reading minus expectation, W
   */
  observe(innovation: Innovation): number {
    const { durationMs, readW, modelW, workedW, timingSdW, windowMs, full, lowCounts, noticeMs } = innovation
    const s = this.state
    s.ratioVar += (control.driftSd ** 2 * durationMs) / SECOND_MS
    this.#watchNoise(innovation)
    const innovationW = readW - this.power(modelW)
    const priorVarW2 = this.#varW2(modelW)
    // Readings with overlapping windows carry less information than independent ones.
    const readVarW2 = s.noiseVarW2 * Math.max(1, windowMs / Math.max(1, durationMs) / 2) + timingSdW ** 2
    // At part load a reading is a lower bound. So if it is above the estimate it counts, however uncertain the estimate
    // is.
    const sdW = Math.sqrt(readVarW2 + (full ? priorVarW2 : 0))
    const boundW = Math.max((control.changedShare / 2) * modelW, control.outlier * sdW)
    // One reading alone is not evidence, however high it is.
    const excessW = Math.min(innovationW, 5 * control.noiseSd * modelW)
    s.highWMs = innovationW > boundW ? s.highWMs + excessW * durationMs : 0
    const isLow = lowCounts && readW < this.power(workedW) - boundW
    if (innovationW >= -boundW) s.lowMs = 0
    if (isLow) s.lowMs += durationMs
    const lighter = isLow && s.lowMs >= noticeMs
    const heavier = s.highWMs >= control.noiseSd * modelW * SECOND_MS
    const usual = full && s.highWMs === 0 && !isLow && (innovationW >= 0 || (lowCounts && workedW >= modelW))
    if (!heavier && !lighter && !usual) return innovationW
    const errorW = lighter ? (readW / workedW) * modelW - this.power(modelW) : innovationW
    const varW2 = usual ? priorVarW2 : Math.max(priorVarW2, errorW ** 2)
    const gain = varW2 / (varW2 + readVarW2)
    s.ratio += (gain * errorW) / modelW
    s.ratioVar = ((1 - gain) * varW2) / modelW ** 2
    s.referenceW = modelW
    return innovationW
  }

  #watchNoise({ readW, modelW, windowMs, full }: Innovation): void {
    const s = this.state
    const resting = Math.abs(modelW - s.lastModelW) < control.noiseSd * modelW
    if (full && resting && s.lastReadW !== null) {
      // Only a change of load can change the mean of a second by more than this.
      const maxW = (windowMs === SECOND_MS ? 1 : 5) * control.noiseSd * modelW
      const differenceW = Math.min(Math.abs(readW - s.lastReadW), maxW)
      const minW2 = ((control.noiseSd * modelW) / 4) ** 2
      s.noiseVarW2 = Math.max(minW2, s.noiseVarW2 + control.meanWeight * (differenceW ** 2 / 2 - s.noiseVarW2))
    }
    s.lastReadW = readW
    s.lastModelW = modelW
  }
}
