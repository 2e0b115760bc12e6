import { ClockBelief } from './clock-belief.js'
import { type ClockObservation, someStill } from './clock-observation.js'
import type { ClockTuning } from './clock-tuning.js'
import { FullLoadPower, type FullLoadPowerState } from './full-load-power.js'
import { Lateness, type LatenessState } from './lateness.js'
import type { Lesson } from './lesson.js'
import type { LoadBelief } from './load-belief.js'
import { LoadJudge, type LoadJudgeState } from './load-judge.js'
import {
  AVERAGE_WINDOW_MS,
  INSTANT_WINDOW_MS,
  LONGEST_LOOK_BACK_MS,
  PowerHistory,
  type PowerHistoryState,
  READING_AGE_MS,
} from './power-history.js'
import { PowerReadings, type PowerReadingsState } from './power-readings.js'
import { PowerTeacher } from './power-teacher.js'
import { ReadingNoise, type ReadingNoiseState } from './reading-noise.js'
import { RunClock, type RunClockState } from './run-clock.js'
import { SensorBelief, type SensorBeliefState } from './sensor-belief.js'

export interface BoardObserverState {
  readonly memory: ObserverMemory
  readonly history: PowerHistoryState
  readonly power: FullLoadPowerState
  readonly readings: PowerReadingsState
  readonly noise: ReadingNoiseState
  readonly lateness: LatenessState
  readonly runClock: RunClockState
  readonly load: LoadJudgeState
  readonly clock: number[]
  readonly sensor: SensorBeliefState
}

interface ObserverMemory {
  /** Of the first step: what the board did before is not known. */
  startMs: number
  timeMs: number
  /** Until then tenants are still coming up to full load. */
  quietUntilMs: number
  /** A usable reading last differed from the one before it. */
  variedMs: number
}

/** From the end of loading until all tenants run at full load. */
const SETTLE_MS = 500
/** Probability at which readings are taken for frozen. */
const SURE = 0.9
/** A reading should have varied by now where power changed by this share of the cap. */
const SHOULD_VARY_MS = 1000
const SHOULD_VARY = 0.03
/**
 * What is known of the board. Three beliefs say what its load, its clock and its sensors are doing; one estimate says what it
 * draws at full load at each clock, and how sure that is. Only readings that the beliefs take for full load teach it lower
 * powers; any reading may teach it higher ones.
 */
export class BoardObserver {
  readonly clock: ClockBelief
  readonly sensor: SensorBelief
  readonly readings: PowerReadings
  readonly noise: ReadingNoise
  readonly #judge: LoadJudge
  readonly #teacher: PowerTeacher
  readonly #lateness: Lateness
  readonly #runClock: RunClock
  readonly #averages: boolean
  readonly #memory: ObserverMemory
  readonly #history: PowerHistory
  readonly #power: FullLoadPower

  /** @param averages the plain reading is a one-second average; otherwise it is an instant one */
  constructor(clocksMhz: readonly number[], tuning: ClockTuning, averages: boolean, state?: BoardObserverState) {
    this.#averages = averages
    this.#power = new FullLoadPower(tuning, state?.power)
    this.#history = new PowerHistory(state?.history)
    this.readings = new PowerReadings(state?.readings)
    this.clock = new ClockBelief(state?.clock)
    this.sensor = new SensorBelief(state?.sensor)
    this.noise = new ReadingNoise(state?.noise)
    this.#judge = new LoadJudge(tuning, averages, this.#power, this.#history, state?.load)
    const known = { power: this.#power, history: this.#history, load: this.#judge, noise: this.noise }
    this.#teacher = new PowerTeacher(tuning, averages, known)
    this.#runClock = new RunClock(clocksMhz, state?.runClock)
    const followed = { readings: this.readings, power: this.#power, history: this.#history, load: this.#judge }
    this.#lateness = new Lateness(averages, { ...followed, runClock: this.#runClock }, state?.lateness)
    this.#memory = state?.memory ?? {
      startMs: 0,
      timeMs: 0,
      quietUntilMs: 0,
      variedMs: 0,
    }
  }

  state(): BoardObserverState {
    return {
      memory: this.#memory,
      history: this.#history.state,
      power: this.#power.state,
      readings: this.readings.state,
      noise: this.noise.state,
      lateness: this.#lateness.state,
      runClock: this.#runClock.state,
      load: this.#judge.state,
      clock: this.clock.state,
      sensor: this.sensor.state,
    }
  }

  get hasPlant(): boolean {
    return this.#power.modelW.length > 0
  }

  /** Tenants start, or have just started: the board draws less than it will. */
  get quiet(): boolean {
    return this.#memory.timeMs < this.#memory.quietUntilMs
  }

  /** The board runs another clock than the one that was asked for. */
  get mismatch(): boolean {
    return this.clock.of('asked') < 0.5
  }

  /** How late what is read may be beyond its averaging, ms. */
  get latenessMs(): number {
    return this.#lateness.latenessMs
  }

  /** How much later power is read than the clock is, ms. */
  get behindClockMs(): number {
    return this.#lateness.behindClockMs
  }

  /** The same as long as nobody knows how late they are, ms. */
  get longestLatenessMs(): number {
    return this.#lateness.longestLatenessMs
  }

  /** A reading of now shows what the clock of now draws: no second of averaging, and nothing that comes late. */
  get prompt(): boolean {
    return this.#lateness.prompt
  }

  get load(): LoadBelief {
    return this.#judge.belief
  }

  /** Tenants pause or work in part: they may be back, as they were or otherwise, at any moment. */
  get away(): boolean {
    return this.#judge.away
  }

  /** How much more than known the load may draw when it is back, relative. */
  get returnExcess(): number {
    return this.#judge.returnExcess
  }

  /** Board watts per model watt along the clock. */
  get slope(): number {
    return this.#power.estimate.state.slope
  }

  /** The highest state. */
  get top(): number {
    return this.#power.modelW.length - 1
  }

  model(index: number): number {
    return this.#power.modelW[index]!
  }

  /** Estimated full-load power at a state, W. */
  power(index: number): number {
    return this.#power.estimate.power(this.#power.modelW[index]!)
  }

  /** The model's power of the clocks that an instant reading of now is of, W. */
  get modelReadW(): number {
    return this.#history.under(this.#history.endOf(this.#memory.timeMs), INSTANT_WINDOW_MS)
  }

  /** The state that the board was last seen in, as far as it is one. */
  ranIndex(asked: number): number {
    return this.#runClock.indexNear(asked)
  }

  /** Highest state whose estimated power, with its uncertainty, stays within a bound; the lowest state where none does. */
  highestWithin(boundW: number, confidence?: number, sureW?: number): number {
    return this.#power.highestWithin(boundW, confidence, sureW)
  }

  /** The same where the present state's power is known, and only what another one draws more than it is not. */
  highestFrom(index: number, boundW: number, confidence: number): number {
    return this.#power.highestFrom(index, boundW, confidence)
  }

  setPlant(predictedPowerW: ArrayLike<number>, index: number, running: boolean): void {
    const before = this.hasPlant
    this.#power.setModel(predictedPowerW, running ? index : null)
    if (!running || !before) return
    this.load.begin()
    this.#lateness.abandon(this.#memory.timeMs)
    this.#beQuiet()
    this.#history.push(this.#memory.timeMs, this.#runClock.modelled(this.#power.modelW, index))
  }

  /** @returns the state that the model has at the cap */
  begin(timeMs: number, capW: number): number {
    const m = this.#memory
    const index = this.#power.begin(capW)
    m.startMs = timeMs
    m.timeMs = timeMs
    m.variedMs = timeMs
    this.#beQuiet()
    this.readings.begin(timeMs)
    return index
  }

  /** The first clock: what is read from now on is of it. */
  setOut(index: number): void {
    this.#history.push(this.#memory.timeMs, this.#power.modelW[index]!)
  }

  /** Another clock than before is being requested now. */
  ask(): void {
    this.#runClock.ask(this.#memory.timeMs)
  }

  /**
   * Take in one observation.
   *
   * @param index the state that was requested
   * @param held the board's own limit holds the cap
   * @returns whether what is known changed so much that the clock must be planned anew
   */
  observe(observation: ClockObservation, capW: number, index: number, held: boolean): boolean {
    const { timeMs, loading } = observation
    const m = this.#memory
    const durationMs = timeMs - m.timeMs
    m.timeMs = timeMs
    if (loading) this.#beQuiet()
    const recalled = loading && this.#power.recallHeavier()
    this.#read(observation, durationMs, capW, held)
    this.#followClock(observation, durationMs, index, held)
    this.#power.estimate.age(durationMs)
    this.#learn(observation, durationMs, capW, held)
    const still = someStill(observation)
    this.#lateness.followReturns(timeMs, still, index, capW)
    this.#lateness.followMoves(timeMs, still, index, capW, this.quiet || this.mismatch)
    return recalled
  }

  #read(observation: ClockObservation, durationMs: number, powerCapW: number, held: boolean): void {
    const { timeMs, powerAverageW, powerInstantW, energyJ = null, meterPowerW = null } = observation
    const m = this.#memory
    const r = this.readings
    const beforeMs = r.state.lastUsableMs
    r.observe({
      timeMs,
      durationMs,
      averageW: this.#averages ? powerAverageW : null,
      instantW: this.#averages ? powerInstantW : (powerInstantW ?? powerAverageW),
      highestW: this.#power.highestW,
      powerCapW,
      steady: !this.quiet,
    })
    this.sensor.update({
      timeMs,
      durationMs,
      present: r.averageW !== null || r.instantW !== null,
      varied: r.varied,
      shouldVary:
        timeMs - m.variedMs >= SHOULD_VARY_MS && this.#history.movedSince(m.variedMs, timeMs) > SHOULD_VARY * powerCapW,
      lagMs: this.latenessMs,
      readingW: r.averageW ?? r.state.slowMeanW,
      steady:
        !this.quiet &&
        timeMs - this.#judge.lowMs > AVERAGE_WINDOW_MS &&
        // Firmware that holds the board at its limit moves the clock so that power rests.
        (held
          ? this.#runClock.restsMs(timeMs) >= LONGEST_LOOK_BACK_MS
          : this.#history.longSpread(timeMs) <= SHOULD_VARY * powerCapW),
      energyJ,
      meterPowerW,
    })
    if (r.varied) {
      this.#power.keep()
      m.variedMs = timeMs
    } else if (this.sensor.of('frozen') > SURE) {
      // What was read since it last varied is worth nothing, and neither is what it taught.
      this.#power.rollBack()
      r.discard(Math.min(beforeMs, m.variedMs))
    }
  }

  /** What the board draws by the model is that of the clock it runs, not of the one it was asked for. */
  #followClock(observation: ClockObservation, durationMs: number, index: number, held: boolean): void {
    const { timeMs, smClockMhz, loading, refused = false, throttled = false, idle = false } = observation
    const frozen = this.sensor.of('frozen') > 0.5
    const steps = this.#runClock.see(timeMs, frozen ? null : smClockMhz, index, refused)
    // An idle board may rest at another clock.
    const excused = this.#runClock.underway(timeMs) || loading || idle
    this.clock.update({ durationMs, steps, throttled, refused, held, excused })
    // Nor does the clock of one whose tenants are being started say at which they will run.
    if (loading && !idle) this.#history.push(timeMs, this.#power.modelW[index]!)
    if (loading || idle) return
    this.#history.push(timeMs - READING_AGE_MS, this.#runClock.modelled(this.#power.modelW, index))
  }

  #learn(observation: ClockObservation, durationMs: number, capW: number, held: boolean): void {
    const { timeMs } = observation
    const r = this.readings
    const endMs = this.#history.endOf(timeMs)
    const knownMs = endMs - READING_AGE_MS - this.#memory.startMs
    const known = knownMs >= INSTANT_WINDOW_MS ? r.instantW : null
    const steady = this.#history.steady(endMs, INSTANT_WINDOW_MS)
    const lesson: Lesson = {
      timeMs,
      durationMs,
      capW,
      endMs,
      averageW: knownMs >= AVERAGE_WINDOW_MS ? r.averageW : null,
      instantW: steady ? known : null,
      unsteadyW: steady ? null : known,
      quiet: this.quiet,
      held,
    }
    this.#judge.judge(observation, lesson, r.state.fastMeanW)
    this.#teacher.teach(lesson, r.state.fastMeanW)
    // What is found out of the lateness now, holds for the next reading.
    this.#lateness.followReadings(timeMs, Math.max(this.#memory.startMs, this.#memory.quietUntilMs), this.mismatch)
  }

  #beQuiet(): void {
    const m = this.#memory
    const windowMs = this.#averages ? AVERAGE_WINDOW_MS : INSTANT_WINDOW_MS
    m.quietUntilMs = Math.max(m.quietUntilMs, m.timeMs + windowMs + SETTLE_MS)
  }
}
