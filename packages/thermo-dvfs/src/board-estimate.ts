import { AppliedPower, type AppliedPowerState } from './applied-power.js'
import { BiasEstimator, type BiasState, powerOf } from './bias-estimator.js'
import type { ClockTuning } from './clock-tuning.js'
import { PowerReadings, type PowerReadingsState } from './power-readings.js'
import { LONGEST_LAG_MS, ReadingLag, type ReadingLagState } from './reading-lag.js'

/** One reading of the board, and what the caller knows of its tenants. */
export interface ClockObservation {
  /** Monotonic, ms. */
  readonly timeMs: number
  readonly powerCapW: number
  /** The plain power reading, W; null where none arrived. */
  readonly powerAverageW: number | null
  /** The instant reading, W; null where the board has none or none arrived. */
  readonly powerInstantW: number | null
  /** Measured SM clock, MHz. */
  readonly smClockMhz: number | null
  /** Tenants are being started or restarted, so the board draws less than its configuration will. */
  readonly loading: boolean
  /** The board has refused the clock of the last answer and runs another one. Default false. */
  readonly refused?: boolean
}

export interface BoardEstimateState {
  readonly memory: EstimateMemory
  readonly applied: AppliedPowerState
  readonly bias: BiasState
  readonly readings: PowerReadingsState
  readonly lag: ReadingLagState
}

interface EstimateMemory {
  modelW: number[]
  /** Of the first step: what the board did before is not known. */
  startMs: number
  timeMs: number
  /** Until then a reading may be low because tenants were not running. */
  quietUntilMs: number
  mismatchSinceMs: number | null
  /** Until then a reading may hold power of a clock that was not known to be running. */
  unexplainedUntilMs: number
  underloadSinceMs: number | null
  /** What was known of the loaded board, kept while it idles without a reason that we were told. */
  loadedBias: BiasState | null
  /** What was known before the newest reading: what a frozen sensor taught since is worth nothing. */
  variedBias: BiasState | null
  /** Variance of the one-second average in steady state, relative to the cap squared. */
  noiseVariance: number
  /** Smoothed error of the instant reading, relative to the cap: stands in for a one-second average where there is none. */
  smoothedError: number
}

export const AVERAGE_WINDOW_MS = 1000
const INSTANT_WINDOW_MS = 100
/** From a request until the clock has changed. */
const ACTUATION_MS = 50
/** Readings are renewed about every 100 ms, so they are half of that old. */
const READING_AGE_MS = 50
/** How far these two may be wrong. */
const TIMING_MS = 100
/** Share of a power change within the window that uncertain timing makes uncertain. */
const TIMING_UNCERTAINTY = 0.15
/** The same while it is not known how late the readings are. */
const UNKNOWN_LAG_UNCERTAINTY = 0.5
/** From the end of loading until all tenants run at full load. */
const SETTLE_MS = 500
/** Time that a clock request may take to show in the measured clock, ms. */
const MISMATCH_MS = 400
/** Exponential smoothing over this time passes as much noise as a mean over one second. */
const SECOND_LIKE_MS = 500
const NOISE_MEMORY_MS = 10_000
const NOISE_START_PERCENT = 0.2
const NOISE_OUTLIER_PERCENT = 3

/** What is known of the board: the model's powers, corrected by what the sensors taught, and how sure that is. */
export class BoardEstimate {
  readonly #clocksMhz: readonly number[]
  readonly #tuning: ClockTuning
  readonly #averages: boolean
  readonly #memory: EstimateMemory
  readonly #applied = new AppliedPower()
  readonly #readings: PowerReadings
  readonly #lag: ReadingLag
  #bias: BiasEstimator
  /** In the newest observation. */
  #refused = false

  /** @param averages the plain reading is a one-second average; otherwise it is an instant one */
  constructor(clocksMhz: readonly number[], tuning: ClockTuning, averages: boolean, state?: BoardEstimateState) {
    this.#clocksMhz = clocksMhz
    this.#tuning = tuning
    this.#averages = averages
    this.#bias = new BiasEstimator(tuning, state?.bias)
    this.#readings = new PowerReadings(state?.readings)
    this.#lag = new ReadingLag(state?.lag)
    if (state) this.#applied.restore(state.applied)
    this.#memory = state?.memory ?? {
      modelW: [],
      startMs: 0,
      timeMs: 0,
      quietUntilMs: 0,
      mismatchSinceMs: null,
      unexplainedUntilMs: 0,
      underloadSinceMs: null,
      loadedBias: null,
      variedBias: null,
      noiseVariance: (NOISE_START_PERCENT / 100) ** 2,
      smoothedError: 0,
    }
  }

  state(): BoardEstimateState {
    return {
      memory: this.#memory,
      applied: this.#applied.state(),
      bias: this.#bias.state,
      readings: this.#readings.state,
      lag: this.#lag.state,
    }
  }

  /** How late a reading may be beyond its averaging, ms: as learnt, or the longest while nothing is. */
  get readingLagMs(): number {
    return this.#lag.known ? this.#lag.lagMs : 0
  }

  get hasPlant(): boolean {
    return this.#memory.modelW.length > 0
  }

  /** Tenants start, or have just started: the board draws less than it will. */
  get quiet(): boolean {
    return this.#memory.timeMs < this.#memory.quietUntilMs
  }

  /** The board has not been running the requested clock for a while. */
  get mismatch(): boolean {
    const { mismatchSinceMs, timeMs } = this.#memory
    return mismatchSinceMs !== null && timeMs - mismatchSinceMs >= MISMATCH_MS
  }

  /** The board may not be running the requested clock, or was not within the last second. */
  get doubtfulClock(): boolean {
    const { mismatchSinceMs, unexplainedUntilMs, timeMs } = this.#memory
    return mismatchSinceMs !== null || timeMs < unexplainedUntilMs
  }

  /** So little is drawn that tenants cannot be running. */
  get underloaded(): boolean {
    return this.#memory.underloadSinceMs !== null
  }

  get readings(): PowerReadings {
    return this.#readings
  }

  /** Board watts per model watt along the clock. */
  get slope(): number {
    return this.#bias.state.slope
  }

  /** Standard deviation of the one-second average in steady state, relative to the cap. */
  get relativeNoise(): number {
    return Math.sqrt(this.#memory.noiseVariance)
  }

  model(index: number): number {
    return this.#memory.modelW[index]!
  }

  /** Estimated board power at a state, W. */
  power(index: number): number {
    return this.#bias.power(this.#memory.modelW[index]!)
  }

  /** Highest state whose estimated power, with its uncertainty, stays within a bound; the lowest state where none does. */
  highestWithin(boundW: number): number {
    const { modelW } = this.#memory
    for (let index = modelW.length - 1; index > 0; index--) {
      const roomW = boundW - this.#bias.power(modelW[index]!)
      if (roomW < 0) continue
      if (this.#tuning.confidence ** 2 * this.#bias.variance(modelW[index]!) <= roomW * roomW) return index
    }
    return 0
  }

  setPlant(predictedPowerW: ArrayLike<number>, index: number, running: boolean): void {
    const m = this.#memory
    const oldModelW = m.modelW[index]
    m.modelW = Array.from(predictedPowerW)
    if (!running || oldModelW === undefined) return
    this.#recallLoadedBias()
    this.#bias.transfer(oldModelW, m.modelW[index]!)
    this.#beQuiet()
    this.#applied.push(m.timeMs + ACTUATION_MS, m.modelW[index]!)
  }

  begin(timeMs: number, capW: number): number {
    const m = this.#memory
    let index = m.modelW.length - 1
    while (index > 0 && m.modelW[index]! > capW) index--
    // What the prior says of the level, it says of the power near the cap.
    this.#bias.state.pivotW = m.modelW[index]!
    m.startMs = timeMs
    m.timeMs = timeMs
    this.#beQuiet()
    this.#readings.begin(timeMs, m.modelW[index]!)
    this.#applied.push(timeMs, m.modelW[index]!)
    return index
  }

  /** The clock of a state is being requested now, another one than before or the same. */
  apply(index: number, another: boolean): void {
    // What the board does not run, it does not draw.
    if (this.#refused || (this.mismatch && !another)) return
    this.#applied.push(this.#memory.timeMs + ACTUATION_MS, this.#memory.modelW[index]!)
  }

  /**
   * Take in one observation.
   *
   * @param index the state that was requested, `changedMs` when
   * @returns whether what is known changed so much that the clock must be planned anew
   */
  observe(observation: ClockObservation, capW: number, index: number, changedMs: number): boolean {
    const { timeMs, loading } = observation
    const m = this.#memory
    const durationMs = timeMs - m.timeMs
    m.timeMs = timeMs
    if (loading) this.#beQuiet()
    const recalled = loading && this.#recallLoadedBias()
    this.#followMeasuredClock(observation, index, changedMs)
    this.#bias.age(durationMs)
    this.#learn(observation, durationMs, capW)
    return recalled
  }

  /** Where the board persistently runs another clock than requested, the model follows the board. */
  #followMeasuredClock(observation: ClockObservation, index: number, changedMs: number): void {
    const { timeMs, smClockMhz, loading, refused = false } = observation
    const m = this.#memory
    this.#refused = refused
    if (smClockMhz === null) {
      if (refused) m.unexplainedUntilMs = timeMs + AVERAGE_WINDOW_MS + TIMING_MS
      return
    }
    const clocks = this.#clocksMhz
    const requested = clocks[index]!
    const stepMhz = Math.max(requested - (clocks[index - 1] ?? requested), (clocks[index + 1] ?? requested) - requested)
    // An idle board may rest at another clock, and a request takes a moment to show.
    const excused = !refused && (loading || timeMs - changedMs < MISMATCH_MS)
    if (excused || Math.abs(smClockMhz - requested) <= 1.5 * stepMhz) {
      if (m.mismatchSinceMs !== null) {
        this.#applied.push(timeMs, m.modelW[index]!)
        m.unexplainedUntilMs = timeMs + AVERAGE_WINDOW_MS + TIMING_MS
      }
      m.mismatchSinceMs = null
      return
    }
    if (m.mismatchSinceMs === null) {
      m.mismatchSinceMs = refused ? timeMs - MISMATCH_MS : timeMs
      m.unexplainedUntilMs = timeMs + MISMATCH_MS + AVERAGE_WINDOW_MS + TIMING_MS
    }
    if (this.mismatch) this.#applied.push(timeMs, this.#modelAt(smClockMhz))
  }

  #learn({ timeMs, powerAverageW, powerInstantW }: ClockObservation, durationMs: number, capW: number): void {
    const m = this.#memory
    const t = this.#tuning
    const r = this.#readings
    const endMs = timeMs - READING_AGE_MS - this.#lag.lagMs
    const modelAverageW = this.#applied.average(endMs - AVERAGE_WINDOW_MS, endMs)
    const expectedW = this.#bias.power(modelAverageW)
    r.observe({
      timeMs,
      durationMs,
      averageW: this.#averages ? powerAverageW : null,
      instantW: this.#averages ? powerInstantW : (powerInstantW ?? powerAverageW),
      expectedW,
      highestW: m.modelW[m.modelW.length - 1]!,
      powerCapW: capW,
      steady: !this.quiet,
    })
    if (r.varied) m.variedBias = this.#bias.copy()
    else if (r.frozen && m.variedBias !== null) {
      this.#bias = new BiasEstimator(t, m.variedBias)
      m.variedBias = null
    }
    this.#watchUnderload(timeMs, modelAverageW)
    this.#watchLag(timeMs, capW)
    // A clock that may or may not be applied explains nothing.
    if (timeMs < m.unexplainedUntilMs) return
    const knownMs = endMs - ACTUATION_MS - m.startMs
    if (r.averageW !== null && knownMs >= AVERAGE_WINDOW_MS) {
      this.#learnFromAverage(r.averageW, modelAverageW, endMs, durationMs, capW)
    }
    if (r.instantW !== null && knownMs >= INSTANT_WINDOW_MS) {
      this.#learnFromInstant(r.instantW, endMs, durationMs, capW)
    }
  }

  #learnFromAverage(averageW: number, modelW: number, endMs: number, durationMs: number, capW: number): void {
    const spreadW = this.#applied.spread(this.#earliest(endMs - AVERAGE_WINDOW_MS), endMs + READING_AGE_MS)
    const expectedW = this.#bias.power(modelW)
    // An instant reading sees the tenants stop before the average does.
    const lowestW = Math.min(averageW, this.#readings.instantW ?? averageW)
    if (averageW >= expectedW || this.#teaches(lowestW, expectedW)) {
      const noiseW = (this.#tuning.averageNoisePercent / 100) * capW
      this.#bias.learn(0, modelW, averageW, noiseW, this.#timingUncertainty * spreadW * this.slope)
    }
    if (!this.quiet && spreadW === 0) this.#learnNoise((averageW - expectedW) / capW, durationMs)
  }

  #learnFromInstant(instantW: number, endMs: number, durationMs: number, capW: number): void {
    const m = this.#memory
    // Too short a window to say on which side of a clock change it lies.
    if (this.#applied.spread(this.#earliest(endMs - INSTANT_WINDOW_MS), endMs + READING_AGE_MS) > 0) return
    const modelW = this.#applied.average(endMs - INSTANT_WINDOW_MS, endMs)
    const expectedW = this.#bias.power(modelW)
    if (this.#teaches(instantW, expectedW)) {
      this.#bias.learn(1, modelW, instantW, (this.#tuning.instantNoisePercent / 100) * capW, 0)
    }
    if (this.#averages || this.quiet) return
    const error = (instantW - expectedW) / capW
    m.smoothedError += (1 - Math.exp(-durationMs / SECOND_LIKE_MS)) * (error - m.smoothedError)
    this.#learnNoise(m.smoothedError, durationMs)
  }

  /** From when on a clock may show in a reading whose window begins at a time, as far as its lag is known. */
  #earliest(fromMs: number): number {
    return fromMs - TIMING_MS - (this.#lag.known ? 0 : LONGEST_LAG_MS)
  }

  get #timingUncertainty(): number {
    return this.#lag.known ? TIMING_UNCERTAINTY : UNKNOWN_LAG_UNCERTAINTY
  }

  /** Compare how the readings follow the clock with how they would under other lags. */
  #watchLag(timeMs: number, capW: number): void {
    const reading = this.#averages ? this.#readings.averageW : this.#readings.instantW
    const windowMs = this.#averages ? AVERAGE_WINDOW_MS : INSTANT_WINDOW_MS
    const fromMs = timeMs - READING_AGE_MS - LONGEST_LAG_MS - windowMs
    // The whole history that a reading is laid over must be explained by clocks alone.
    const { startMs, unexplainedUntilMs, quietUntilMs } = this.#memory
    if (this.mismatch || fromMs < Math.max(startMs, unexplainedUntilMs, quietUntilMs)) {
      this.#lag.abandon()
      return
    }
    if (this.#applied.spread(fromMs, timeMs) === 0) this.#lag.conclude()
    else if (reading !== null) {
      this.#lag.during(reading / capW, (lagMs) => {
        const endMs = timeMs - READING_AGE_MS - lagMs
        return this.#applied.average(endMs - windowMs, endMs) / capW
      })
    }
  }

  /** Low readings say nothing while tenants load, nor when so low that tenants cannot be running. */
  #teaches(readingW: number, expectedW: number): boolean {
    if (readingW >= expectedW) return true
    return !this.quiet && (this.#memory.loadedBias !== null || !this.#tooLow(readingW, expectedW))
  }

  #tooLow(readingW: number, expectedW: number): boolean {
    return readingW < (this.#tuning.underloadPercent / 100) * expectedW
  }

  /** An idling board is waited for, then believed; what was known of it is kept for when it is loaded again. */
  #watchUnderload(timeMs: number, modelW: number): void {
    const m = this.#memory
    const expectedW = this.#bias.power(modelW)
    const { averageW, instantW, state } = this.#readings
    const fastW = instantW === null ? null : state.fastMeanW
    const lowestW = Math.min(averageW ?? expectedW, fastW ?? expectedW)
    // What was known of the loaded board ends where readings reach it again, or its clock proves it wrong.
    if (m.loadedBias !== null && !this.#tooLow(lowestW, powerOf(m.loadedBias, modelW))) m.loadedBias = null
    if (this.quiet || !this.#tooLow(lowestW, expectedW)) {
      m.underloadSinceMs = null
      return
    }
    m.underloadSinceMs ??= timeMs
    if (timeMs - m.underloadSinceMs >= this.#tuning.underloadHoldMs) m.loadedBias ??= this.#bias.copy()
  }

  #recallLoadedBias(): boolean {
    const { loadedBias } = this.#memory
    if (loadedBias === null) return false
    this.#bias = new BiasEstimator(this.#tuning, loadedBias)
    this.#memory.loadedBias = null
    return true
  }

  #learnNoise(error: number, durationMs: number): void {
    if (Math.abs(error) * 100 > NOISE_OUTLIER_PERCENT) return
    const m = this.#memory
    m.noiseVariance += Math.min(1, durationMs / NOISE_MEMORY_MS) * (error * error - m.noiseVariance)
  }

  #beQuiet(): void {
    const m = this.#memory
    const windowMs = this.#averages ? AVERAGE_WINDOW_MS : INSTANT_WINDOW_MS
    m.quietUntilMs = Math.max(m.quietUntilMs, m.timeMs + windowMs + SETTLE_MS)
  }

  /** Model power at a clock between states, W. */
  #modelAt(clockMhz: number): number {
    const { modelW } = this.#memory
    const clocks = this.#clocksMhz
    let upper = 0
    while (upper < clocks.length - 1 && clocks[upper]! < clockMhz) upper++
    const lower = Math.max(0, upper - 1)
    const span = clocks[upper]! - clocks[lower]!
    const position = span === 0 ? 0 : Math.min(1, Math.max(0, (clockMhz - clocks[lower]!) / span))
    return modelW[lower]! + position * (modelW[upper]! - modelW[lower]!)
  }
}
