import { InvalidInputError } from '@pctodl/platform'
import {
  assertClockOptions,
  assertObservation,
  assertPlant,
  type ClockControllerOptions,
  type ClockMechanism,
} from './clock-options.js'
import type { ClockAction, ClockHypothesis, ClockObservation, ClockStatus, SensorHypothesis } from './clock-step.js'
import { control, SECOND_MS } from './constants.js'
import { PowerHistory } from './power-history.js'
import { PowerObserver } from './power-observer.js'
import { SensorDelay } from './sensor-delay.js'
import { SensorWatch } from './sensor-watch.js'

const LONG_AGO_MS = -1e9

/** Initial state of the control law itself. */
const initialMemory = {
  started: false,
  timeMs: 0,
  capW: 0,
  plannedCapW: 0,
  /** Time of the last new cap, plan or ceiling, ms. */
  plannedMs: 0,
  /** Clock index that follows from the estimate and the dwell time, before the energy window lowers it. */
  base: 0,
  /** Index of the requested clock. */
  index: 0,
  changedMs: 0,
  raisedMs: -1e9,
  /** Model power of the requested clock when it last changed by more than 3 %, W. `movedMs` is the time of that change. */
  steadyW: 0,
  movedMs: 0,
  /** Index of a clock that proved too high; `failedUntilMs` is the time until which it is held off. */
  failed: null as number | null,
  failedUntilMs: 0,
  holdOffMs: 0,
  plantChanged: false,
  ceiling: 0,
  fullSinceMs: null as number | null,
  /** Time at which all tenants last worked, ms. */
  activeMs: -1e9,
  offSinceMs: null as number | null,
  /** Index of the measured clock, and the time of the measurement, ms. */
  measured: 0,
  measuredMs: -1e9,
  lowestSinceMs: null as number | null,
  /** Time at which the firmware last held the clock below the requested one. */
  trimmedMs: -1e9,
  trimmedIndex: 0,
  /** True if the board's limit let too much power pass. The controller then no longer relies on the limit. */
  leaks: false,
  excess: false,
}

/** Inputs of the clock decision in one control step. */
interface Outlook {
  readonly capW: number
  /** Mean power of the last second, W. */
  readonly meanW: number | null
  /** True if the board's own power limit is set to the cap and has not let too much power pass. */
  readonly held: boolean
  readonly first: boolean
}

/**
 * Holds a board under a hard power cap with its SM clock. It chooses the highest clock whose power, as modelled and
 * corrected by the readings, is within the cap. The controller is a state machine without timers or I/O: the caller
 * reports readings about ten times a second and locks the clock that the controller returns.
 */
export class ClockController {
  readonly #clocksMhz: readonly number[]
  readonly #capFactor: number
  readonly #without: ReadonlySet<ClockMechanism>
  readonly #m = { ...initialMemory }
  readonly #history = new PowerHistory()
  readonly #observer = new PowerObserver()
  readonly #delay = new SensorDelay()
  readonly #sensor: SensorWatch
  readonly #averages: boolean
  #modelW: readonly number[] = []

  /** @throws InvalidInputError */
  constructor(options: ClockControllerOptions) {
    assertClockOptions(options)
    this.#clocksMhz = [...options.smClocksMhz]
    this.#capFactor = 1 - (options.sensorTolerancePercent ?? 0) / 100
    this.#without = new Set(options.without)
    this.#averages = options.reading === 'one-second-average'
    this.#sensor = new SensorWatch(this.#averages)
  }

  /**
   * Set the model's power at every clock for the present tenants and memory clock. Call it again after a repartition.
   * The learnt ratio of board to model power carries over.
   *
   * @param predictedPowerW power at each clock, W. If it falls from one clock to the next, the highest power of all
   *   lower clocks is used instead.
   * @throws InvalidInputError
   */
  setPlant(predictedPowerW: ArrayLike<number>): void {
    assertPlant(predictedPowerW, this.#clocksMhz.length)
    let highestW = 0
    const modelW = Array.from(predictedPowerW, (powerW) => {
      highestW = Math.max(highestW, powerW)
      return highestW
    })
    if (this.#m.started) {
      const factor = modelW[this.#m.index]! / this.#modelW[this.#m.index]!
      this.#history.scale(factor)
      this.#observer.rebase(factor)
    } else this.#observer.begin(modelW[0]!)
    this.#modelW = modelW
    this.#m.plantChanged = true
    this.#m.lowestSinceMs = null
  }

  /**
   * Returns the highest clock that is safe with the present model, but at most the present clock, MHz. Request it
   * together with new tenants, before they draw power.
   *
   * @param powerLimitW the board's own power limit in force, W
   */
  clockBefore(powerCapW: number, powerLimitW?: number): number {
    const capW = powerCapW * this.#capFactor
    const wanted = this.#fit(capW, this.#held(powerLimitW, capW))
    return this.#clocksMhz[this.#m.started ? Math.min(this.#m.index, wanted) : wanted]!
  }

  /**
   * Process one reading and return the clock to lock.
   *
   * @throws InvalidInputError for an impossible cap or time, or before `setPlant`
   */
  step(seen: ClockObservation): ClockAction {
    const m = this.#m
    if (this.#modelW.length === 0) throw new InvalidInputError('plant', undefined, 'a call of setPlant before step')
    assertObservation(seen, m.started ? m.timeMs : null)
    const first = !m.started
    const durationMs = first ? 0 : seen.timeMs - m.timeMs
    const capW = (seen.powerCapW * this.#capFactor) / (this.#without.has('cross-check') ? 1 : this.#sensor.correction)
    m.timeMs = seen.timeMs
    if (first) {
      m.started = true
      m.capW = capW
      m.changedMs = this.#sensor.state.usableMs = m.timeMs
    }
    const ran = this.#ranIndex(seen)
    const innovationW = this.#observe(seen, ran, durationMs)
    m.capW = capW
    const meanW = this.#meanOfSecondW(seen)
    const held = this.#held(seen.powerLimitW, capW)
    const planned = this.#decideBase(seen, { capW, meanW, held, first })
    const trims = this.#trims(held)
    const limited = Math.min(trims ? m.base + 1 : this.#limited(capW, ran, innovationW), m.ceiling)
    // While a reading is above the cap, the clock does not rise. After a change of clock, it rises only after the dwell
    // time, unless the plan or cap is new.
    const above = this.#sensor.newestW > seen.powerCapW
    const sinceMs = m.timeMs - m.changedMs
    const rises = first || (!above && (planned || sinceMs >= control.dwellMs + this.#delay.delayMs))
    let index = rises ? limited : Math.min(limited, m.index)
    // A new lock suspends the firmware's trimming, so the lock rises only to a clock within the cap.
    if (!planned && index > m.index) index = Math.max(m.index, Math.min(index, this.#highest(capW) + (trims ? 1 : 0)))
    if (ran < m.index && !planned) {
      // Each new lock above the running clock suspends the firmware's trimming for a while. So a lowered lock goes down
      // to the running clock (one state above it while the firmware trims). A lock above the running clock is set at
      // most once a second.
      if (index < m.index) index = Math.min(index, trims ? ran + 1 : ran)
      if (held && index > ran && sinceMs < SECOND_MS) index = Math.min(m.index, m.ceiling)
    }
    this.#watchMinimum(ran, capW)
    if (index !== m.index) {
      m.index = index
      m.changedMs = m.timeMs
    }
    return this.#answer(seen, capW, meanW)
  }

  /**
   * Index of the clock that ran until now. It is the requested clock, unless the board refused it, throttles it, or has
   * run another clock for some seconds.
   */
  #ranIndex({ smClockMhz, throttled = false, refused = false, timeMs }: ClockObservation): number {
    const m = this.#m
    if (this.#sensor.state.frozen) m.measuredMs = LONG_AGO_MS
    else if (smClockMhz! > 0) {
      m.measured = this.#indexOf(smClockMhz!)
      m.measuredMs = timeMs
    }
    // While readings of the clock are missing, the last one counts for some seconds.
    const known = timeMs - m.measuredMs < control.patienceMs && m.measuredMs > m.changedMs + control.sampleMs
    const measured = known || (smClockMhz! > 0 && !this.#sensor.state.frozen) ? m.measured : m.index
    if (Math.abs(measured - m.index) <= control.statesOff) m.offSinceMs = null
    else m.offSinceMs ??= timeMs
    if (refused || this.#offForMs(timeMs) >= control.patienceMs + this.#delay.delayMs) return measured
    return throttled ? Math.min(measured, m.index) : m.index
  }

  /**
   * Learn from one observation.
   *
   * @returns reading minus expectation, W; 0 without a reading
   */
  #observe(seen: ClockObservation, ran: number, durationMs: number): number {
    const m = this.#m
    const { timeMs, loading, idle = false, throttled = false, activeShare, stallNoticeMs } = seen
    // The board may report late that it is no longer idle; the tenants' own activity is known at once.
    const share = loading ? 0 : (activeShare ?? (idle ? 0 : 1))
    const active = share >= 1
    const delayMs = this.#delay.delayMs
    // A delayed sensor may report the clock late, too: a measured clock may then be that of an earlier request.
    const throttledLate = throttled && timeMs - m.changedMs <= delayMs
    const modelW = this.#modelW[throttledLate ? m.index : ran]!
    this.#sensor.observe(seen, share === 0 ? 0 : modelW, this.#modelW.at(-1)!, delayMs)
    if (this.#sensor.state.frozen) this.#observer.restore()
    else if (this.#sensor.state.variedMs === timeMs) this.#observer.keep()
    const { readW, windowMs } = this.#sensor
    const pauseMs = timeMs - m.activeMs
    if (active && pauseMs > control.maxDelayMs + windowMs + control.sampleMs && readW !== null) {
      // After a long pause, even delayed readings describe the paused load. So the rise to full load shows the delay.
      this.#history.rested(m.activeMs, Math.min(modelW, readW / this.#observer.state.ratio))
    }
    this.#history.add({ timeMs, capW: m.capW, modelW, workedW: active ? modelW : 0, readW })
    if (!active && !loading && pauseMs === durationMs) this.#observer.explainLow(stallNoticeMs ?? SECOND_MS)
    if (active) m.activeMs = timeMs
    if (ran < m.index) {
      m.trimmedMs = timeMs
      m.trimmedIndex = ran
    }
    m.fullSinceMs = active && !idle ? (m.fullSinceMs ?? timeMs) : null
    const lookBackMs = this.#lookBackMs
    const fullMs = m.fullSinceMs === null ? -1 : timeMs - m.fullSinceMs
    const full = fullMs >= lookBackMs
    // While the delay is unknown, the longest is assumed: the readings may describe an earlier load or clock than the
    // other meter's readings.
    const lateMs = this.#delay.known ? delayMs : control.maxDelayMs
    const seenMs = lateMs + SECOND_MS + 2 * control.sampleMs
    const askedW = this.#modelW[m.index]!
    if (Math.abs(askedW - m.steadyW) > control.changedShare * m.steadyW) {
      m.steadyW = askedW
      m.movedMs = timeMs
    }
    const steady = Math.min(fullMs, timeMs - m.movedMs) >= seenMs
    this.#sensor.compare(seen, { durationMs, meanW: this.#meanOfSecondW(seen), steady })
    const lowCounts = !this.#sensor.contradicted && this.#sensor.state.variedModelW > 0
    if (readW === null || durationMs === 0 || this.#without.has('offset')) return 0
    if (full && !this.#without.has('delay')) {
      const sdW = Math.hypot(this.#observer.noiseSdW, control.driftSd * modelW)
      this.#delay.observe(this.#history, readW, windowMs, sdW)
    }
    const endMs = timeMs - control.sampleMs - delayMs
    const meanModelW = (byMs: number) => this.#history.meanW(endMs - windowMs + byMs, endMs + byMs)
    const spread = control.sampleMs
    // While the delay is unknown, the window with the least work counts.
    let workedW = Number.POSITIVE_INFINITY
    for (let lagMs = this.#delay.known ? delayMs : 0; lagMs <= lateMs; lagMs += control.delayStepMs) {
      const toMs = timeMs - control.sampleMs - lagMs
      const lagWorkedW = this.#history.meanW(toMs - windowMs, toMs, (slot) => slot.workedW)
      workedW = Math.min(workedW, lagWorkedW)
    }
    // Firmware that trims alternates between clocks, and a sample shows only one of them.
    const ditherW = this.#history.modelSdW(Math.max(timeMs - SECOND_MS, m.changedMs, m.fullSinceMs ?? 0))
    const timingSdW = Math.hypot((meanModelW(spread) - meanModelW(-spread)) / 2, ditherW)
    const noticeMs = this.#without.has('low-belief')
      ? Number.POSITIVE_INFINITY
      : activeShare == null
        ? control.holdOffMs / 2
        : (stallNoticeMs ?? SECOND_MS) + windowMs + delayMs
    const innovationW = this.#observer.observe({
      durationMs,
      readW,
      modelW: meanModelW(0),
      workedW,
      timingSdW,
      windowMs,
      full,
      lowCounts,
      noticeMs,
    })
    // When the power falls, the comparison with the other meters starts again.
    if (this.#observer.state.lowMs === durationMs && !this.#sensor.contradicted) this.#sensor.askAnew()
    return innovationW
  }

  /** Mean power reading of the last second, W; null if too few readings arrived. */
  #meanOfSecondW({ timeMs }: ClockObservation): number | null {
    const { meanW, count } = this.#history.readings(timeMs - SECOND_MS)
    return count >= SECOND_MS / (2 * control.sampleMs) ? meanW : null
  }

  /** Whether the board's own limit is set to the cap and has not let too much power through. */
  #held(powerLimitW: number | null | undefined, capW: number): boolean {
    if (this.#without.has('board-limit') || this.#m.leaks || powerLimitW == null) return false
    return powerLimitW <= control.lowerShare * capW
  }

  /**
   * True if the firmware can be relied on to keep the mean power at the cap by alternating between two clocks. After a
   * change of cap or load it trims too slowly for this, so readings must first show the new state for the dwell time.
   */
  #trims(held: boolean): boolean {
    return held && !this.#m.leaks && this.#shownMs(this.#m.plannedMs) >= control.dwellMs
  }

  #isNewCap(capW: number): boolean {
    return Math.abs(capW - this.#m.plannedCapW) > (1 - control.targetShare) * this.#m.plannedCapW
  }

  /**
   * Update the clock that follows from the estimate. It is lowered at once and raised after a dwell time.
   *
   * @returns true if the requested clock may rise at once: after a new plan or cap, a higher ceiling, or a raise of
   *   this clock
   */
  #decideBase(seen: ClockObservation, { capW, meanW, held, first }: Outlook): boolean {
    const m = this.#m
    const ceiling = this.#ceilingIndex(seen.ceilingMhz)
    const planned = first || m.plantChanged || ceiling > m.ceiling || this.#isNewCap(capW)
    m.ceiling = ceiling
    const readAbove = (this.#sensor.readW ?? 0) > capW
    const mismatch = this.#mismatch(seen)
    const unseenMs = m.timeMs - this.#sensor.state.usableMs
    if (planned) m.plannedMs = m.timeMs
    const trims = this.#trims(held)
    const fit = trims ? this.#highest(capW) : this.#fit(capW, held)
    if (planned) {
      m.plantChanged = false
      m.plannedCapW = capW
      m.failed = null
      m.holdOffMs = control.holdOffMs
      if (fit < m.base || first || !(readAbove || unseenMs > control.patienceMs / 2)) m.base = fit
      return true
    }
    const leakW = control.leakShare * capW + this.#observer.noiseSdW / 3
    const above = this.#shownMs(m.changedMs) >= SECOND_MS && meanW !== null && meanW > leakW
    m.leaks ||= above && trims
    // While the firmware trims, a clock that is a little too high does no harm.
    const tooHigh = above || this.#power(m.base) > (trims ? 1 + control.changedShare : control.lowerShare) * capW
    if (m.base > 0 && tooHigh) {
      this.#lower(Math.min(fit, m.base - 1))
      return false
    }
    if (unseenMs > control.patienceMs && !this.#without.has('blind-descent')) {
      const descent = (control.changedShare * (unseenMs - control.patienceMs)) / SECOND_MS
      const share = Math.max(control.blindLowestShare, 1 - descent)
      m.base = Math.min(m.base, this.#highest(share * capW))
      return false
    }
    if (fit <= m.base || unseenMs > control.shortMs || mismatch || readAbove) return false
    const trimmed = held && m.timeMs - m.trimmedMs < control.patienceMs ? m.trimmedIndex : Number.POSITIVE_INFINITY
    if (m.activeMs < m.timeMs || m.timeMs - m.changedMs < this.#lookBackMs - control.sampleMs + control.dwellMs)
      return false
    // A clock that proved too high is held off, unless its estimated power is now well below the cap.
    const surelyFreeW = (1 - control.changedShare) * capW
    const waits = m.failed !== null && m.timeMs < m.failedUntilMs && this.#power(m.failed) > surelyFreeW
    const backedOff = waits ? m.failed! - 1 : Number.POSITIVE_INFINITY
    const raised = Math.min(fit, backedOff, trimmed)
    if (raised <= m.base) return false
    m.base = raised
    m.raisedMs = m.timeMs
    return true
  }

  #lower(index: number): void {
    const m = this.#m
    if (m.timeMs - m.raisedMs < control.holdOffMs + this.#delay.delayMs && !this.#without.has('back-off')) {
      m.failed = m.base
      m.raisedMs = LONG_AGO_MS
      m.failedUntilMs = m.timeMs + m.holdOffMs
      m.holdOffMs *= 2
    }
    m.base = Math.max(0, index)
  }

  /**
   * Returns the index of the base clock, or of the highest clock below it that does not let a coming one-second window
   * exceed the cap's energy.
   */
  #limited(capW: number, ran: number, innovationW: number): number {
    const m = this.#m
    if (this.#without.has('energy-window')) return m.base
    const noiseW = control.outlier * this.#observer.noiseSdW
    const budgetW = this.#history.budgetW(capW, this.#power(ran), ({ timeMs, modelW }) => {
      const expectedW = this.#observer.power(modelW)
      const readMs = timeMs + this.#delay.delayMs + control.sampleMs
      const averaged = this.#sensor.windowMs === SECOND_MS
      const errorW = averaged ? innovationW : (this.#history.readAt(readMs) ?? expectedW) - expectedW
      return Math.abs(errorW) < noiseW ? expectedW : expectedW + errorW
    })
    return budgetW >= Math.min(this.#power(m.base), capW) ? m.base : Math.min(m.base, this.#highest(budgetW))
  }

  /**
   * Index of the highest clock whose estimated power is at most `limitW` and, with a margin for uncertainty, at most
   * `sureW`; 0 if there is none.
   */
  #highest(limitW: number, sureW = Number.POSITIVE_INFINITY): number {
    // A clock that is too high is noticed only after the sensor's delay, so a longer delay needs a wider margin.
    const confidence = (control.outlier / 2) * (1 + Math.min(1, this.#delay.delayMs / SECOND_MS))
    for (let i = this.#modelW.length - 1; i > 0; i--) {
      const powerW = this.#power(i)
      if (powerW <= limitW && powerW + confidence * this.#observer.sd(this.#modelW[i]!) <= sureW) return i
    }
    return 0
  }

  /** Index of the highest clock that may be chosen. The board's own limit replaces the margin for uncertainty. */
  #fit(capW: number, held: boolean): number {
    return this.#highest(control.targetShare * capW, held ? Number.POSITIVE_INFINITY : capW)
  }

  /** Time for which readings have described full load after an event at `fromMs`, ms. */
  #shownMs(fromMs: number): number {
    const { timeMs, fullSinceMs } = this.#m
    return timeMs - Math.max(fromMs, fullSinceMs ?? timeMs) - this.#delay.delayMs - control.shortMs
  }

  /** Time that readings look back, ms. Events before that no longer show in the readings. */
  get #lookBackMs(): number {
    return this.#delay.delayMs + this.#sensor.windowMs + 2 * control.sampleMs
  }

  #power(index: number): number {
    return this.#observer.power(this.#modelW[Math.max(0, index)]!)
  }

  #mismatch({ refused = false, timeMs }: ClockObservation): boolean {
    return refused || this.#offForMs(timeMs) >= control.dwellMs + this.#delay.delayMs
  }

  /** Time for which a clock other than the requested one has been measured, ms. */
  #offForMs(timeMs: number): number {
    const { offSinceMs, changedMs } = this.#m
    return offSinceMs === null ? -1 : timeMs - Math.max(offSinceMs, changedMs)
  }

  /** Checks whether power stays too high even at the lowest clock. Only this can show that a cap is infeasible. */
  #watchMinimum(ran: number, capW: number): void {
    const m = this.#m
    if (ran > 0) m.lowestSinceMs = null
    else m.lowestSinceMs ??= m.timeMs
    m.excess = false
    if (m.lowestSinceMs === null) return
    const fromMs = Math.max(m.lowestSinceMs + this.#lookBackMs - control.sampleMs, m.timeMs - SECOND_MS)
    const { meanW, count } = this.#history.readings(fromMs)
    m.excess = count >= 2 && meanW > control.leakShare * capW
  }

  #ceilingIndex(ceilingMhz = Number.POSITIVE_INFINITY): number {
    let index = this.#clocksMhz.length - 1
    while (index > 0 && this.#clocksMhz[index]! > ceilingMhz) index--
    return index
  }

  #indexOf(clockMhz: number): number {
    let index = 0
    for (let i = 1; i < this.#clocksMhz.length; i++) {
      if (Math.abs(this.#clocksMhz[i]! - clockMhz) < Math.abs(this.#clocksMhz[index]! - clockMhz)) index = i
    }
    return index
  }

  #answer(seen: ClockObservation, capW: number, meanW: number | null): ClockAction {
    const m = this.#m
    const estimatedPowerW = this.#power(m.index)
    const unseen = m.timeMs - this.#sensor.state.usableMs > control.patienceMs / 2
    const rests = m.timeMs - m.changedMs >= control.patienceMs && m.fullSinceMs !== null
    const highestMeanW = Math.max(meanW ?? 0, this.#averages ? (this.#sensor.averageW ?? 0) : 0)
    const status: ClockStatus = unseen
      ? 'blind'
      : m.excess
        ? 'infeasible'
        : rests && highestMeanW <= capW
          ? 'settled'
          : 'tracking'
    return {
      smClockMhz: this.#clocksMhz[m.index]!,
      status,
      biasW: estimatedPowerW - this.#modelW[m.index]!,
      estimatedPowerW,
      targetPowerW: control.targetShare * capW,
      clockMismatch: this.#mismatch(seen),
      seen: {
        clock: this.#clock(seen),
        sensor: this.#sensorSeen(unseen),
        delayMs: this.#delay.delayMs,
        correction: this.#sensor.correction,
      },
    }
  }

  #clock({ timeMs, throttled = false, refused = false }: ClockObservation): ClockHypothesis {
    const offMs = this.#offForMs(timeMs)
    if (refused || offMs < (throttled ? SECOND_MS : control.patienceMs + this.#delay.delayMs)) return 'asked'
    return throttled ? 'throttled' : 'lost'
  }

  #sensorSeen(unseen: boolean): SensorHypothesis {
    if (this.#sensor.state.frozen) return 'frozen'
    if (unseen) return 'missing'
    if (this.#sensor.doubted) return 'doubted'
    return this.#delay.delayMs > 0 ? 'late' : 'good'
  }
}
