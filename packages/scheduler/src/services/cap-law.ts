import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'
import { firstWhere } from './serving-clocks.js'

/** Measured and predicted energy since the first reading. */
interface Reading {
  readonly timeMs: number
  readonly energyJ: number
  readonly predictedJ: number
  /** Predicted power at the time of the reading, W. */
  readonly predictedW: number
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
  /** Last time without a prediction, ms. */
  #unknownMs = Number.NEGATIVE_INFINITY
  /** Mean power of the last second, W; null without readings. */
  secondW: number | null = null
  /** Measured minus predicted power of the last second, W. */
  offsetW = 0

  constructor(spec: GpuSpec) {
    this.#spec = spec
  }

  /**
   * @param predictedW predicted power at the clock that ran, W; null if there is no prediction, e.g. while tenants load.
   *   A second that contains such a time gives no offset
   */
  read(timeMs: number, { energyJ, powerInstantW, powerAverageW }: Telemetry, predictedW: number | null): void {
    const powerW = powerInstantW ?? powerAverageW
    if (energyJ === null && powerW === null) return
    const readings = this.#readings
    const before = readings.at(-1)
    const seconds = before ? (timeMs - before.timeMs) / 1000 : 0
    const read = energyJ ?? (before?.energyJ ?? 0) + powerW! * seconds
    if (before && (read < before.energyJ || seconds <= 0)) readings.length = 0
    if (predictedW === null) this.#unknownMs = timeMs
    const nowW = predictedW ?? 0
    const predictedJ = (before?.predictedJ ?? 0) + 0.5 * (nowW + (before?.predictedW ?? nowW)) * seconds
    readings.push({ timeMs, energyJ: read, predictedJ, predictedW: nowW })
    // Two readings remain if the interval is longer.
    while (readings.length > 2 && timeMs - readings[0]!.timeMs > 1000) readings.shift()
    const from = readings[0]!
    const spanS = (timeMs - from.timeMs) / 1000
    if (spanS === 0) return
    this.secondW = (read - from.energyJ) / spanS
    if (from.timeMs > this.#unknownMs) this.offsetW = this.secondW - (predictedJ - from.predictedJ) / spanS
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
    const debtW = Math.max(0, (this.secondW ?? 0) - powerCapW)
    const above = (mhz: number) => predictW(mhz) + this.offsetW > AIM * powerCapW - debtW
    let index = clocks.length - 1
    if (above(wantedMhz)) {
      const trimmed = powerCapW >= this.#spec.powerLimitW.min && debtW === 0 ? TRIMMED_STATES : 0
      index = Math.min(index, Math.max(0, firstWhere(clocks, above) - 1) + trimmed)
    }
    this.#allowedMhz.push(clocks[index]!)
    if (this.#allowedMhz.length > DWELL_SAMPLES) this.#allowedMhz.shift()
    return Math.min(...this.#allowedMhz)
  }
}
