import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'

/** Energy since the first reading, by the board and by prediction. */
interface Reading {
  readonly timeMs: number
  readonly energyJ: number
  readonly predictedJ: number
}

/** Target share of the cap. */
export const AIM = 0.99
/** The ceiling rises to the lowest that this many readings allowed. */
const DWELL_SAMPLES = 10
/** States above the ceiling that the board's own limit trims. */
const TRIMMED_STATES = 1

/**
 * The highest clock under the cap: predicted power plus the offset measured over the last second. A second above the
 * cap is repaid in the next. The ceiling falls at once and rises after a second.
 */
export class CapLaw {
  readonly #spec: GpuSpec
  readonly #readings: Reading[] = []
  readonly #allowedMhz: number[] = []
  #offsetW = 0
  #predictedW: number | null = null
  /** Until then, part of the time had no prediction. */
  #unknownMs = 0
  #secondW: number | null = null

  constructor(spec: GpuSpec) {
    this.#spec = spec
  }

  /** Mean power of the last second, W; null without readings. */
  get secondW(): number | null {
    return this.#secondW
  }

  /** Measured minus predicted power of the last second, W. */
  get offsetW(): number {
    return this.#offsetW
  }

  /** @param predictedW for the clock that ran; null without a prediction, as while tenants load */
  read(timeMs: number, { energyJ, powerInstantW, powerAverageW }: Telemetry, predictedW: number | null): void {
    const powerW = powerInstantW ?? powerAverageW
    const before = this.#readings.at(-1)
    const seconds = before ? (timeMs - before.timeMs) / 1000 : 0
    if (energyJ === null && powerW === null) return
    const read = energyJ ?? (before?.energyJ ?? 0) + powerW! * seconds
    if (before && (read < before.energyJ || seconds <= 0)) this.#readings.length = 0
    const known = predictedW !== null && this.#predictedW !== null
    if (!known) this.#unknownMs = timeMs
    const predictedJ = (before?.predictedJ ?? 0) + (known ? 0.5 * (predictedW + this.#predictedW!) * seconds : 0)
    this.#predictedW = predictedW
    this.#readings.push({ timeMs, energyJ: read, predictedJ })
    while (timeMs - this.#readings[0]!.timeMs > 1000) this.#readings.shift()
    const from = this.#readings[0]!
    const spanS = (timeMs - from.timeMs) / 1000
    if (spanS === 0) return
    this.#secondW = (read - from.energyJ) / spanS
    if (from.timeMs >= this.#unknownMs) this.#offsetW = this.#secondW - (predictedJ - from.predictedJ) / spanS
  }

  /** The admitted load changed: earlier ceilings no longer apply. */
  forget(): void {
    this.#allowedMhz.length = 0
  }

  /**
   * @param wantedMhz no ceiling is computed below this
   * @param predictW power at a clock, W; non-decreasing
   */
  ceilingMhz(
    memClockMhz: number,
    powerCapW: number,
    wantedMhz: number,
    predictW: (smClockMhz: number) => number,
  ): number {
    const clocks = smClocksAt(this.#spec, memClockMhz)!
    const debtW = Math.max(0, (this.#secondW ?? 0) - powerCapW)
    const allowed = (mhz: number) => predictW(mhz) + this.offsetW <= AIM * powerCapW - debtW
    let ceilingMhz = clocks.at(-1)!
    if (!allowed(wantedMhz)) {
      let index = 0
      let above = clocks.length
      while (above - index > 1) {
        const middle = (index + above) >> 1
        if (allowed(clocks[middle]!)) index = middle
        else above = middle
      }
      const trimmed = powerCapW >= this.#spec.powerLimitW.min && debtW === 0 ? TRIMMED_STATES : 0
      ceilingMhz = clocks[Math.min(clocks.length - 1, index + trimmed)]!
    }
    this.#allowedMhz.push(ceilingMhz)
    if (this.#allowedMhz.length > DWELL_SAMPLES) this.#allowedMhz.shift()
    return Math.min(...this.#allowedMhz)
  }
}
