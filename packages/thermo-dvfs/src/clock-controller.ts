import { InvalidInputError } from '@pctodl/platform'
import { AVERAGE_WINDOW_MS, BoardEstimate, type BoardEstimateState, type ClockObservation } from './board-estimate.js'
import {
  assertClockControllerOptions,
  type ClockControllerOptions,
  type ClockTuning,
  defaultClockTuning,
} from './clock-tuning.js'

/**
 * - `tracking`: moving, or not yet sure;
 * - `settled`: the highest clock that keeps the cap, unchanged for three seconds;
 * - `infeasible`: at the lowest clock and still above the cap;
 * - `blind`: no usable reading, or sensors that contradict each other.
 */
export type ClockStatus = 'tracking' | 'settled' | 'infeasible' | 'blind'

export interface ClockAction {
  /** The clock to lock, MHz: always a supported one. */
  readonly smClockMhz: number
  readonly status: ClockStatus
  /** Estimated minus modelled power at that clock, W. */
  readonly biasW: number
  /** Estimated power at that clock once the tenants run, W. */
  readonly estimatedPowerW: number
  /** Power that a clock may be raised to, W. */
  readonly targetPowerW: number
  /** The board has not been running the requested clock: throttled by its firmware, or the request was lost. */
  readonly clockMismatch: boolean
}

/** Everything that a controller remembers, safe for JSON. */
export interface ClockControllerState {
  readonly version: 1
  readonly memory: ClockMemory
  readonly board: BoardEstimateState
}

interface ClockMemory {
  started: boolean
  plantChanged: boolean
  timeMs: number
  index: number
  /** The cap that was last fed forward, W. */
  plannedCapW: number
  changedMs: number
  infeasible: boolean
  steppedBlindMs: number
  /** A state that proved too high, and until when it is not tried again. */
  barredIndex: number
  barredUntilMs: number
  barredForMs: number
}

const SETTLED_MS = 3000
const CAP_CHANGE_PERCENT = 0.5
const AVERAGE_GUARD_MS = AVERAGE_WINDOW_MS + 300
const INSTANT_GUARD_MS = 600
const BLIND_STEP_MS = 1000
const BLIND_STEP_PERCENT = 3
/** Longest bar, in first bars. */
const LONGEST_BAR = 64
/** At most 1 % of the seconds may exceed the cap by more than 1 %: 2.5 standard deviations below 101 % (2.33 would do). */
const VIOLATION_PERCENT = 101
const VIOLATION_SIGMAS = 2.5
/** Hysteresis of the infeasible state, share of the cap. */
const FEASIBLE_AGAIN = 0.99

/**
 * Holds a board under a hard power cap by its SM clock: the highest clock at which the model's power, corrected by what the
 * sensors taught, stays under the cap. A state machine without clocks or I/O: the caller tells it what was read, about ten
 * times a second, and locks the clock it answers.
 */
export class ClockController {
  readonly #clocksMhz: readonly number[]
  readonly #tuning: ClockTuning
  readonly #capFactor: number
  readonly #board: BoardEstimate
  readonly #memory: ClockMemory

  /**
   * @param state of an earlier controller with the same options, to go on exactly where it stopped
   * @throws InvalidInputError
   */
  constructor(options: ClockControllerOptions, state?: ClockControllerState) {
    assertClockControllerOptions(options)
    this.#clocksMhz = [...options.smClocksMhz]
    this.#tuning = { ...defaultClockTuning, ...options.tuning }
    this.#capFactor = 1 - (options.sensorTolerancePercent ?? 0) / 100
    if (state !== undefined) this.#assertState(state)
    const copy = state === undefined ? undefined : structuredClone(state)
    const averages = options.reading === 'one-second-average'
    this.#board = new BoardEstimate(this.#clocksMhz, this.#tuning, averages, copy?.board)
    this.#memory = copy?.memory ?? {
      started: false,
      plantChanged: false,
      timeMs: 0,
      index: 0,
      plannedCapW: 0,
      changedMs: 0,
      infeasible: false,
      steppedBlindMs: 0,
      barredIndex: 0,
      barredUntilMs: 0,
      barredForMs: 0,
    }
  }

  /** Everything it remembers. `new ClockController(options, state)` continues identically. */
  serialise(): ClockControllerState {
    return structuredClone({ version: 1, memory: this.#memory, board: this.#board.state() })
  }

  /**
   * Give the model's power at every clock for the tenants and the memory clock of now. Call it again after a repartition;
   * what was learnt about the board carries over as a ratio.
   *
   * @param predictedPowerW W, one per clock, not falling
   * @throws InvalidInputError
   */
  setPlant(predictedPowerW: ArrayLike<number>): void {
    this.#assertPlant(predictedPowerW)
    this.#board.setPlant(predictedPowerW, this.#memory.index, this.#memory.started)
    this.#memory.plantChanged = true
  }

  /** @throws InvalidInputError for a cap or a time that cannot be, or before `setPlant` */
  step(observation: ClockObservation): ClockAction {
    this.#assertObservation(observation)
    const m = this.#memory
    const { timeMs, powerCapW } = observation
    const capW = powerCapW * this.#capFactor
    const first = !m.started
    if (first) {
      m.started = true
      m.index = this.#board.begin(timeMs, capW)
      m.changedMs = timeMs
    }
    m.timeMs = timeMs
    const recalled = this.#board.observe(observation, capW, m.index, m.changedMs)
    const capChanged = Math.abs(capW - m.plannedCapW) * 100 > CAP_CHANGE_PERCENT * m.plannedCapW
    const targetW = this.#target(capW)
    let next: number
    if (first || capChanged || m.plantChanged || recalled) next = this.#plan(capW, targetW, powerCapW, first)
    else next = this.#control(capW, targetW, powerCapW)
    const another = next !== m.index
    if (another) {
      m.index = next
      m.changedMs = timeMs
    }
    // Also where it stays: after a repartition the same clock has another power.
    this.#board.apply(next, another)
    const estimatedPowerW = this.#board.power(next)
    m.infeasible = next === 0 && estimatedPowerW > capW * (m.infeasible ? FEASIBLE_AGAIN : 1)
    return {
      smClockMhz: this.#clocksMhz[next]!,
      status: this.#status(),
      biasW: estimatedPowerW - this.#board.model(next),
      estimatedPowerW,
      targetPowerW: targetW,
      clockMismatch: this.#board.mismatch,
    }
  }

  get #unseenMs(): number {
    return this.#memory.timeMs - this.#board.readings.state.lastUsableMs
  }

  #target(capW: number): number {
    const noisy = VIOLATION_PERCENT - VIOLATION_SIGMAS * 100 * this.#board.relativeNoise
    return (Math.min(this.#tuning.targetPercent, noisy) / 100) * capW
  }

  /** A new cap or new tenants: go at once where the model and what was learnt say. */
  #plan(capW: number, targetW: number, powerCapW: number, first: boolean): number {
    const m = this.#memory
    m.plannedCapW = capW
    m.plantChanged = false
    m.barredUntilMs = m.timeMs
    m.barredForMs = 0
    const blind = this.#unseenMs > this.#tuning.blindAfterMs
    const boundW = blind ? Math.min(targetW, (this.#tuning.blindPowerPercent / 100) * capW) : targetW
    const wanted = this.#board.highestWithin(boundW)
    if (first || wanted <= m.index) return wanted
    const { readings } = this.#board
    return this.#board.doubtfulClock || readings.contradictory || readings.above(powerCapW) ? m.index : wanted
  }

  #control(capW: number, targetW: number, powerCapW: number): number {
    const m = this.#memory
    const lowerAboveW = targetW + (1 - this.#tuning.targetPercent / 100) * capW
    let lowered = m.index
    if (this.#board.power(m.index) > lowerAboveW) lowered = Math.min(m.index - 1, this.#board.highestWithin(targetW))
    // A throttled board will run the requested clock again, at a power that was not seen for long.
    if (this.#board.mismatch) lowered = Math.min(lowered, this.#board.highestWithin(lowerAboveW))
    lowered = Math.max(0, Math.min(lowered, this.#guarded(capW)))
    if (lowered < m.index) {
      this.#bar()
      return lowered
    }
    if (this.#unseenMs > this.#tuning.blindAfterMs) return this.#steppedBlind(capW)
    if (!this.#mayRaise(capW, powerCapW)) return m.index
    const top = m.timeMs < m.barredUntilMs ? m.barredIndex - 1 : this.#clocksMhz.length - 1
    return Math.max(m.index, Math.min(top, this.#board.highestWithin(targetW)))
  }

  /** Lower by what a reading exceeds the cap, whatever the estimate says, once per settling time of that reading. */
  #guarded(capW: number): number {
    const { index, timeMs, changedMs } = this.#memory
    const { readings, slope, mismatch } = this.#board
    if (mismatch) return index
    const { guardPercent, instantNoisePercent } = this.#tuning
    // What is read now may be as old as the readings are late.
    const sinceMs = timeMs - changedMs - this.#board.readingLagMs
    const averageW = sinceMs >= AVERAGE_GUARD_MS ? (readings.averageW ?? 0) : 0
    const instantW = sinceMs >= INSTANT_GUARD_MS && readings.instantW !== null ? (readings.state.fastMeanW ?? 0) : 0
    let excessW = 0
    if (averageW > capW * (1 + guardPercent / 100)) excessW = averageW - capW
    if (instantW > capW * (1 + (guardPercent + instantNoisePercent) / 100)) excessW = Math.max(excessW, instantW - capW)
    if (excessW === 0 || index === 0) return index
    let lower = index - 1
    while (lower > 0 && slope * (this.#board.model(index) - this.#board.model(lower)) < excessW) lower--
    return lower
  }

  #steppedBlind(capW: number): number {
    const m = this.#memory
    const { blindStepDownAfterMs, blindPowerPercent } = this.#tuning
    const powerW = this.#board.power(m.index)
    const due = this.#unseenMs > blindStepDownAfterMs && m.timeMs - m.steppedBlindMs >= BLIND_STEP_MS
    if (!due || powerW <= (blindPowerPercent / 100) * capW) return m.index
    m.steppedBlindMs = m.timeMs
    let lower = m.index
    while (lower > 0 && this.#board.power(lower) > powerW - (BLIND_STEP_PERCENT / 100) * capW) lower--
    return lower
  }

  #mayRaise(capW: number, powerCapW: number): boolean {
    const m = this.#memory
    const board = this.#board
    const { readings } = board
    if (this.#unseenMs > 0 || readings.contradictory || board.doubtfulClock || board.underloaded || board.quiet)
      return false
    if (m.timeMs - m.changedMs < this.#tuning.raiseDwellMs + board.readingLagMs) return false
    return !readings.above(powerCapW) && (readings.state.fastMeanW ?? 0) <= capW
  }

  /** The present state proved too high: without a memory of that, it would be tried again after every dwell. */
  #bar(): void {
    const m = this.#memory
    const { retryAfterMs } = this.#tuning
    const recent = m.barredForMs > 0 && m.timeMs - m.barredUntilMs < LONGEST_BAR * retryAfterMs
    m.barredForMs = recent ? Math.min(2 * m.barredForMs, LONGEST_BAR * retryAfterMs) : retryAfterMs
    m.barredIndex = m.index
    m.barredUntilMs = m.timeMs + m.barredForMs
  }

  #status(): ClockStatus {
    const m = this.#memory
    if (this.#unseenMs > this.#tuning.blindAfterMs || this.#board.readings.contradictory) return 'blind'
    if (m.infeasible) return 'infeasible'
    return m.timeMs - m.changedMs >= SETTLED_MS && !this.#board.quiet ? 'settled' : 'tracking'
  }

  #assertObservation({ timeMs, powerCapW }: ClockObservation): void {
    const m = this.#memory
    if (!this.#board.hasPlant) throw new InvalidInputError('plant', undefined, 'a call of setPlant before step')
    if (!(powerCapW > 0 && Number.isFinite(powerCapW))) {
      throw new InvalidInputError('powerCapW', powerCapW, 'a positive number of watts')
    }
    if (!Number.isFinite(timeMs) || (m.started && timeMs < m.timeMs)) {
      throw new InvalidInputError('timeMs', timeMs, `a time not before the last step's (${m.timeMs} ms)`)
    }
  }

  #assertState(state: ClockControllerState): void {
    if (state.version !== 1) throw new InvalidInputError('state.version', state.version, '1')
    const { modelW } = state.board.memory
    if (modelW.length > 0) this.#assertPlant(modelW)
  }

  #assertPlant(predictedPowerW: ArrayLike<number>): void {
    const count = this.#clocksMhz.length
    if (predictedPowerW.length !== count) {
      throw new InvalidInputError(
        'predictedPowerW.length',
        predictedPowerW.length,
        `${count}, one power for each clock`,
      )
    }
    for (let i = 0; i < count; i++) {
      const powerW = predictedPowerW[i]!
      if (!(powerW > 0 && Number.isFinite(powerW) && powerW >= (predictedPowerW[i - 1] ?? 0))) {
        throw new InvalidInputError(
          `predictedPowerW[${i}]`,
          powerW,
          'positive powers that do not fall as the clock rises',
        )
      }
    }
  }
}
