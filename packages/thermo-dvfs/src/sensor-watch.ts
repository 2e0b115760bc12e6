import type { ClockObservation } from './clock-step.js'
import { control, SECOND_MS } from './constants.js'
import { CrossCheck } from './cross-check.js'

/** Decides which readings are usable and over which window they average. It also compares them with other meters. */
export class SensorWatch {
  readonly state = {
    readW: null as number | null,
    /**
     * Newest instant reading, W; `averageW` is the newest averaged reading, and `averageVariedMs` the time when it last
     * varied, ms.
     */
    instantW: 0,
    averageW: 0,
    averageVariedMs: 0,
    variedMs: 0,
    /** Model power of the load when readings last varied, W; 0 if it has paused since then. */
    variedModelW: 0,
    /** Time since which the load differs from that one, ms. */
    movedMs: null as number | null,
    /** Time of the last work, ms. */
    workedMs: 0,
    instantMs: -1e9,
    usableMs: 0,
    energyJ: null as number | null,
    energyMs: 0,
    frozen: false,
  }
  readonly #averages: boolean
  readonly #counter = new CrossCheck()
  readonly #meter = new CrossCheck()
  /** While instant readings are in use, compares them with the averaged readings (`averageW`). */
  readonly #plain = new CrossCheck()
  /** The usable reading of this step, W; null if there is none. */
  readW: number | null = null
  /** The averaged reading of this step, W; null if it is missing or not plausible. */
  averageW: number | null = null
  windowMs: number = control.sampleMs
  /** True if the reading of this step is an instant one. */
  #instants = false

  constructor(averages: boolean) {
    this.#averages = averages
  }

  /** Factor by which other meters read more power than the sensor, at least 1. */
  get correction(): number {
    return Math.max(1, ...this.#checks.map(({ correction }) => correction))
  }

  get doubted(): boolean {
    return this.#checks.some(({ disagrees }) => disagrees)
  }

  /**
   * True if another meter measures more power than the readings. A lower reading then does not show a lighter load.
   */
  get contradicted(): boolean {
    return this.#checks.some(({ contradicts }) => contradicts)
  }

  /**
   * Restart the comparison with the energy counter and the external meter. The comparison with the averaged reading
   * continues, because that reading is a one-second average and still contains earlier power.
   */
  askAnew(): void {
    this.#counter.interrupt()
    this.#meter.interrupt()
  }

  get #checks(): readonly CrossCheck[] {
    return [this.#counter, this.#meter, this.#plain]
  }

  /** The higher of the newest averaged and instant readings, W. A reading much older than the other one is ignored. */
  get newestW(): number {
    const { instantW, averageW, averageVariedMs, instantMs } = this.state
    if (instantMs - averageVariedMs > control.patienceMs) return instantW
    return averageVariedMs - instantMs > control.patienceMs ? averageW : Math.max(instantW, averageW)
  }

  observe(seen: ClockObservation, modelW: number, highestW: number, delayMs: number): void {
    const { timeMs } = seen
    const s = this.state
    const instantW = plausible(seen.powerInstantW, highestW)
    this.averageW = plausible(seen.powerAverageW, highestW)
    if (this.averageW !== null && this.averageW !== s.averageW) s.averageVariedMs = timeMs
    s.averageW = this.averageW ?? s.averageW
    s.instantW = instantW ?? s.instantW
    if (instantW !== null) s.instantMs = timeMs
    // An averaged reading that stays constant while instant readings arrive is frozen.
    if (timeMs - s.averageVariedMs > control.patienceMs && s.instantMs > s.averageVariedMs) {
      this.averageW = null
      this.#plain.dismiss()
    }
    if (timeMs - s.energyMs > control.patienceMs) this.#counter.dismiss()
    this.#instants = timeMs - s.instantMs < control.patienceMs / 2
    this.readW = this.#instants ? instantW : this.averageW
    this.windowMs = this.#averages && !this.#instants ? SECOND_MS : control.sampleMs
    if (this.readW !== null && this.readW !== s.readW) {
      s.readW = this.readW
      s.variedMs = timeMs
      s.variedModelW = modelW
      s.movedMs = null
    }
    // During a pause, good readings may stay constant; once work resumes, they vary, unless a long pause follows.
    if (modelW > 0) s.workedMs = timeMs
    else s.variedModelW = 0
    if (timeMs - s.workedMs > control.dwellMs && !s.frozen) s.movedMs = null
    else if (Math.abs(modelW - s.variedModelW) > control.changedShare * modelW) s.movedMs ??= timeMs
    const dueMs = s.variedModelW > 0 ? s.variedMs + delayMs : (s.movedMs ?? timeMs) + control.maxDelayMs
    s.frozen = this.readW !== null && s.movedMs !== null && (s.frozen || timeMs - dueMs >= control.dwellMs)
    if (s.frozen) this.readW = null
    if (this.readW !== null) s.usableMs = timeMs
    else if (s.frozen) s.usableMs = Math.min(s.usableMs, s.variedMs)
  }

  /**
   * Compare the reading with the other meters.
   *
   * @param meanW mean of the last second's readings, W
   * @param steady true if neither clock nor load has changed within the time that readings look back
   */
  compare(
    { timeMs, energyJ = null, meterPowerW }: ClockObservation,
    { durationMs, meanW, steady }: { durationMs: number; meanW: number | null; steady: boolean },
  ): void {
    const s = this.state
    const spanMs = timeMs - s.energyMs
    const moved = energyJ !== null && s.energyJ !== null && energyJ > s.energyJ
    if (!steady) {
      for (const check of this.#checks) check.interrupt()
    } else if (this.readW !== null) {
      if (moved && spanMs > 0 && spanMs < SECOND_MS) {
        this.#counter.compare(timeMs, spanMs, this.readW, ((energyJ - s.energyJ!) / spanMs) * 1000)
      }
      const likeW = this.#averages ? meanW : this.readW
      if (this.#instants && this.averageW !== null && likeW !== null) {
        this.#plain.compare(timeMs, durationMs, likeW, this.averageW)
      }
      if ((meterPowerW ?? 0) > 0) this.#meter.compare(timeMs, durationMs, this.readW, meterPowerW!)
    }
    // A counter that restarted is used from its new value on.
    if (energyJ !== null && energyJ !== s.energyJ) {
      s.energyJ = energyJ
      s.energyMs = timeMs
    }
  }
}

function plausible(powerW: number | null, highestW: number): number | null {
  return powerW !== null && powerW > 0 && powerW <= control.implausibleFactor * highestW ? powerW : null
}
