import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'

/** Measured and predicted energy since the first reading. */
interface Reading {
  readonly timeMs: number
  readonly energyJ: number
  readonly predictedJ: number
}

/** Predicted power aims at this share of the cap. */
export const AIM = 0.99
/** The ceiling is the minimum over this many recent samples, so that it rises only after a second. */
const DWELL_SAMPLES = 10
/** Number of states above the ceiling that may be locked. The board's own power limit then holds the cap. */
const TRIMMED_STATES = 1

/**
 * Computes the highest SM clock under the cap. Power at a clock is predicted power plus the mean error of the
 * prediction over the last second. Excess energy of one second is repaid in the next. The ceiling falls at once and
 * rises after a second.
 */
export class CapLaw {
  readonly #spec: GpuSpec
  readonly #readings: Reading[] = []
  readonly #allowedMhz: number[] = []
  #offsetW = 0
  #predictedW: number | null = null
  /** Last time without a prediction, ms. A window that contains it gives no offset. */
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

  /**
   * @param predictedW predicted power at the clock that ran, W; null if there is no prediction, e.g. while tenants load
   */
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

  /** Discards earlier ceilings, because the admitted load has changed. */
  forget(): void {
    this.#allowedMhz.length = 0
  }

  /**
   * @param wantedMhz the clock that the caller wants; if the cap allows it, there is no ceiling to compute
   * @param predictW predicted power at a clock, W; must not decrease with the clock
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
