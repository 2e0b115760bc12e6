import { InvalidInputError } from '@pctodl/platform'
import { BarredClock, type BarredClockState } from './barred-clock.js'
import { BlindDescent, type BlindDescentState } from './blind-descent.js'
import { BoardObserver, type BoardObserverState } from './board-observer.js'
import { CapLaw, type CapLawState, type LawReadings } from './cap-law.js'
import type { ClockAction, ClockStatus } from './clock-action.js'
import { assertObservation, assertPlant } from './clock-input.js'
import { type ClockMemory, newClockMemory } from './clock-memory.js'
import type { ClockObservation } from './clock-observation.js'
import {
  assertClockControllerOptions,
  type ClockControllerOptions,
  type ClockTuning,
  defaultClockTuning,
} from './clock-tuning.js'
import { LowestClock, type LowestClockState } from './lowest-clock.js'
import { PowerTarget, violationW } from './power-target.js'
import { Repayment, type RepaymentState } from './repayment.js'

/** Everything that a controller remembers, safe for JSON. */
export interface ClockControllerState {
  readonly version: 8
  readonly memory: ClockMemory
  readonly board: BoardObserverState
  readonly law: CapLawState
  readonly repayment: RepaymentState
  readonly lowest: LowestClockState
  readonly barred: BarredClockState
  readonly blind: BlindDescentState
}

const SETTLED_MS = 3000
const CAP_CHANGE_PERCENT = 0.5

/**
 * Holds a board under a hard power cap by its SM clock: the highest clock at which the model's power, corrected by what the
 * sensors taught, stays under the cap. A state machine without clocks or I/O: the caller tells it what was read, about ten
 * times a second, and locks the clock it answers.
 *
 * A step observes (`BoardObserver`), asks how much a clock may draw (`PowerTarget`), plans or controls, and answers what the
 * laws of the cap allow (`CapLaw`).
 */
export class ClockController {
  readonly #clocksMhz: readonly number[]
  readonly #tuning: ClockTuning
  readonly #capFactor: number
  readonly #board: BoardObserver
  readonly #target: PowerTarget
  readonly #law: CapLaw
  readonly #repayment: Repayment
  readonly #lowest: LowestClock
  readonly #barred: BarredClock
  readonly #blind: BlindDescent
  readonly #memory: ClockMemory
  /** The board's limit is no higher than the cap: its firmware holds it, whatever its readings scatter. */
  #limited = false

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
    this.#board = new BoardObserver(this.#clocksMhz, this.#tuning, averages, copy?.board)
    this.#target = new PowerTarget(this.#tuning, this.#board)
    this.#law = new CapLaw(copy?.law)
    this.#repayment = new Repayment(this.#board, this.#target, copy?.repayment)
    this.#lowest = new LowestClock(this.#board, this.#tuning.guardPercent, copy?.lowest)
    this.#barred = new BarredClock(this.#tuning.retryAfterMs, copy?.barred)
    this.#blind = new BlindDescent(this.#tuning, copy?.blind)
    this.#memory = copy?.memory ?? newClockMemory()
  }

  /** Everything it remembers. `new ClockController(options, state)` continues identically. */
  serialise(): ClockControllerState {
    return structuredClone({
      version: 8,
      memory: this.#memory,
      board: this.#board.state(),
      law: this.#law.state,
      repayment: this.#repayment.state,
      lowest: this.#lowest.state,
      barred: this.#barred.state,
      blind: this.#blind.state,
    })
  }

  /**
   * Give the model's power at every clock for the tenants and the memory clock of now. Call it again after a repartition;
   * what was learnt about the board carries over as a ratio.
   *
   * @param predictedPowerW W, one per clock; where it falls along the clock, its highest value up to there counts
   * @throws InvalidInputError
   */
  setPlant(predictedPowerW: ArrayLike<number>): void {
    assertPlant(predictedPowerW, this.#clocksMhz.length)
    this.#board.setPlant(predictedPowerW, this.#memory.index, this.#memory.started)
    this.#memory.plantChanged = true
  }

  /**
   * The clock that the present plant may run at, MHz: to ask for in one breath with new tenants, before they draw anything.
   * Never above the present one.
   */
  clockBefore(powerCapW: number): number {
    const { started, index, held } = this.#memory
    const wanted = this.#board.highestWithin(this.#target.watts(powerCapW * this.#capFactor, held))
    return this.#clocksMhz[started ? Math.min(index, wanted) : wanted]!
  }

  /** @throws InvalidInputError for a cap or a time that cannot be, or before `setPlant` */
  step(observation: ClockObservation): ClockAction {
    const m = this.#memory
    if (!this.#board.hasPlant) throw new InvalidInputError('plant', undefined, 'a call of setPlant before step')
    assertObservation(observation, m.started ? m.timeMs : null)
    const { timeMs, powerCapW, powerLimitW } = observation
    // What another witness says the readings leave out, is left free.
    const capW = (powerCapW * this.#capFactor) / this.#board.sensor.correction
    const first = !m.started
    if (first) {
      m.started = true
      m.index = this.#board.begin(timeMs, capW)
      m.changedMs = timeMs
    }
    m.timeMs = timeMs
    m.held = PowerTarget.holds(powerLimitW, capW)
    this.#limited = m.held && powerLimitW! <= capW
    const recalled = this.#board.observe(observation, capW, m.index, m.held)
    const readings = this.#lawReadings()
    this.#law.observe(readings)
    this.#repayment.observe(timeMs, capW)
    const targetW = this.#target.watts(capW, m.held)
    const ceiling = this.#indexWithin(observation.ceilingMhz)
    const raised = ceiling > (m.ceiling ?? Number.POSITIVE_INFINITY)
    if (observation.ceilingMhz === undefined) delete m.ceiling
    else m.ceiling = ceiling
    if (first) this.#setOut(capW, targetW, ceiling)
    else {
      // More work than before is no experiment: the clock goes at once where it may.
      const planned = recalled || m.plantChanged || raised || this.#capChanged(capW)
      const wanted = planned ? this.#plan(capW, targetW) : this.#control(capW, targetW)
      const lawful = this.#lawful(Math.min(wanted, ceiling), readings, capW)
      const { index, changedMs, held } = m
      const repaid = this.#repayment.step(lawful, { timeMs, capW, targetW, held, index, changedMs })
      this.#moveTo(Math.min(repaid, ceiling))
    }
    this.#lowest.observe(timeMs, capW, m.index)
    return this.#answer(capW, targetW)
  }

  #answer(capW: number, targetPowerW: number): ClockAction {
    const { index } = this.#memory
    const { load, clock, sensor, latenessMs, mismatch } = this.#board
    const estimatedPowerW = this.#board.power(index)
    return {
      smClockMhz: this.#clocksMhz[index]!,
      status: this.#status(capW),
      biasW: estimatedPowerW - this.#board.model(index),
      estimatedPowerW,
      targetPowerW,
      clockMismatch: mismatch,
      seen: {
        load: load.mostProbable,
        clock: clock.mostProbable,
        sensor: sensor.mostProbable,
        latenessMs,
        correction: sensor.correction,
        excess: this.#lowest.state.excess,
      },
    }
  }

  #setOut(capW: number, targetW: number, ceiling: number): void {
    const m = this.#memory
    this.#planned(capW)
    const index = Math.min(ceiling, this.#target.first(targetW, m.held))
    this.#board.setOut(index)
    if (index === m.index) return
    m.index = index
    this.#board.ask()
  }

  /** The highest state of at most a clock; the lowest of all where none is. */
  #indexWithin(clockMhz = Number.POSITIVE_INFINITY): number {
    let index = this.#clocksMhz.length - 1
    while (index > 0 && this.#clocksMhz[index]! > clockMhz) index--
    return index
  }

  #moveTo(index: number): void {
    const m = this.#memory
    if (index === m.index) return
    const ran = this.#board.ranIndex(m.index)
    if (index > m.index) {
      this.#law.raised()
      this.#barred.raised()
    } else if (m.held ? index <= ran : index < ran) this.#law.lowered(m.timeMs)
    m.index = index
    m.changedMs = m.timeMs
    this.#board.ask()
  }

  #capChanged(capW: number): boolean {
    const { plannedCapW } = this.#memory
    return Math.abs(capW - plannedCapW) * 100 > CAP_CHANGE_PERCENT * plannedCapW
  }

  #planned(capW: number): void {
    this.#memory.plannedCapW = capW
    this.#memory.plannedMs = this.#memory.timeMs
    this.#memory.plantChanged = false
    this.#barred.forget(this.#memory.timeMs)
  }

  /** A new cap or new tenants: go at once where the model and what was learnt say. */
  #plan(capW: number, targetW: number): number {
    const { index, held } = this.#memory
    this.#planned(capW)
    const { blindAfterMs, blindPowerPercent } = this.#tuning
    const boundW = this.#unseenMs > blindAfterMs ? Math.min(targetW, (blindPowerPercent / 100) * capW) : targetW
    const wanted = Math.min(this.#target.highest(boundW, held, index), this.#target.ceiling(targetW))
    if (wanted <= index) return wanted
    const { mismatch, readings } = this.#board
    return mismatch || readings.contradictory || readings.above(capW) ? index : wanted
  }

  #control(capW: number, targetW: number): number {
    const { index, timeMs, held } = this.#memory
    const ceiling = this.#target.ceiling(targetW)
    let lowered = Math.min(index, ceiling)
    if (this.#target.tooHigh(index, targetW, capW, held)) {
      lowered = Math.max(0, Math.min(lowered, index - 1, this.#target.highest(targetW, held)))
    }
    if (lowered < index) {
      this.#bar()
      // Firmware that throttles is below already: a request above that would only set it free for a moment.
      const throttled = held || this.#board.clock.of('throttled') > 0.5
      return throttled ? Math.min(lowered, this.#board.ranIndex(index)) : lowered
    }
    const unseenMs = this.#unseenMs
    if (unseenMs > this.#tuning.blindAfterMs) {
      return this.#blind.step(timeMs, unseenMs, index, capW, (i) => this.#board.power(i))
    }
    if (!this.#mayRaise(capW)) return index
    const barred = this.#barred.highest(timeMs, capW, (i) => this.#board.power(i))
    return Math.max(
      index,
      Math.min(barred, this.#target.highest(targetW, held, index), this.#target.risen(index, targetW), ceiling),
    )
  }

  /** The last word on a clock: where the board's was not lowered although the first law asks for it, it is. */
  #lawful(wanted: number, readings: LawReadings, capW: number): number {
    const { index, held } = this.#memory
    if (wanted < Math.min(index, this.#board.ranIndex(index))) return wanted
    const { guardPercent, sampledGuardPercent, instantNoisePercent } = this.#tuning
    const percent = readings.averageW === null ? sampledGuardPercent : guardPercent
    const bounds = [capW * (1 + percent / 100), capW * (1 + (guardPercent + instantNoisePercent) / 100)] as const
    const excessW = this.#law.excessW(readings, capW, ...bounds)
    if (excessW === 0) return wanted
    if (index > 0 && !held) this.#bar()
    return Math.min(wanted, held ? this.#belowTrimmed(readings, capW, excessW) : this.#lowerBy(excessW))
  }

  /**
   * Firmware that trims has answered already what the mean of the last second is too high by: what is left is what power is now. Under
   * a limit no higher than the cap that is not new, a mean is noise of which the instant readings of its second know nothing, and those of
   * now not that the cap would be broken.
   */
  #belowTrimmed({ instantW, fastMeanW }: LawReadings, capW: number, excessW: number): number {
    const { index } = this.#memory
    const ran = this.#board.ranIndex(index)
    const isKnown = instantW !== null && fastMeanW !== null
    const { instantSecondW } = this.#law
    const boundW = capW * (1 + this.#tuning.guardPercent / 100)
    const isNoise = isKnown && instantSecondW !== null && instantSecondW <= boundW && fastMeanW <= violationW(capW)
    if (isNoise && this.#limitRests) return index
    const nowW = isKnown ? fastMeanW - capW : ran < index ? 0 : excessW
    return nowW <= 0 && ran < index ? ran : this.#lowerBy(Math.max(0, nowW))
  }

  /** The state that draws so much less than the one that the board runs, which its firmware may hold below the one asked for. */
  #lowerBy(excessW: number): number {
    const asked = this.#memory.index
    const index = Math.min(asked, this.#board.ranIndex(asked))
    const { slope } = this.#board
    let lower = Math.max(0, index - 1)
    while (lower > 0 && slope * (this.#board.model(index) - this.#board.model(lower)) < excessW) lower--
    return lower
  }

  #lawReadings(): LawReadings {
    const { readings, latenessMs } = this.#board
    const { averageW, instantW, state } = readings
    return { timeMs: this.#memory.timeMs, averageW, instantW, fastMeanW: state.fastMeanW, latenessMs }
  }

  #mayRaise(capW: number): boolean {
    const { timeMs, changedMs, index, held } = this.#memory
    const board = this.#board
    const { readings } = board
    // What firmware holds below the clock that was asked for, a higher one would only set free for a moment.
    if (held && board.ranIndex(index) < index) return false
    if (this.#unseenMs > 0 || readings.contradictory || board.mismatch || board.quiet) return false
    // Neither a pause nor a part of the load is headroom.
    if (board.load.of('full') < 0.5) return false
    const { raiseDwellMs, promptDwellMs } = this.#tuning
    if (timeMs - changedMs < (board.prompt ? promptDwellMs : raiseDwellMs + board.longestLatenessMs)) return false
    return !readings.above(capW) && (readings.state.fastMeanW ?? 0) <= capW
  }

  /** The present state proved too high, unless it is only that nobody knows with what load the tenants come back. */
  #bar(): void {
    if (!this.#board.away) this.#barred.bar(this.#memory.timeMs, this.#memory.index)
  }

  /** The board's limit is no higher than the cap, and neither it nor the tenants are new. */
  get #limitRests(): boolean {
    const { timeMs, plannedMs } = this.#memory
    return this.#limited && timeMs - plannedMs >= SETTLED_MS
  }

  get #unseenMs(): number {
    return this.#memory.timeMs - this.#board.readings.state.lastUsableMs
  }

  #status(capW: number): ClockStatus {
    const { timeMs, changedMs } = this.#memory
    const { readings, quiet } = this.#board
    if (this.#unseenMs > this.#tuning.blindAfterMs || readings.contradictory) return 'blind'
    if (this.#lowest.state.infeasible) return 'infeasible'
    return timeMs - changedMs >= SETTLED_MS && !quiet && !this.#law.unsettled(capW) ? 'settled' : 'tracking'
  }

  #assertState(state: ClockControllerState): void {
    if (state.version !== 8) throw new InvalidInputError('state.version', state.version, '8')
    const { modelW } = state.board.power.memory
    if (modelW.length > 0) assertPlant(modelW, this.#clocksMhz.length)
  }
}
