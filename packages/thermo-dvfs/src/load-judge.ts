import { type ClockObservation, someStill } from './clock-observation.js'
import type { ClockTuning } from './clock-tuning.js'
import type { FullLoadPower } from './full-load-power.js'
import type { Lesson } from './lesson.js'
import { LoadBelief, type LoadBeliefState } from './load-belief.js'
import { AVERAGE_WINDOW_MS, INSTANT_WINDOW_MS, type PowerHistory, TIMING_MS } from './power-history.js'

/** Probability at which a hypothesis is acted upon. */
const SURE = 0.9
/** A load that returned from idling within this time may have been exchanged meanwhile, ms. */
const RETURN_MS = 2000
/** Before anything was measured, low power is more likely the model's error than a load that is not all there, ms. */
const FIRST_HOLD_MS = 3000
const LONG_AGO_MS = -1e9

export interface LoadJudgeState {
  readonly belief: LoadBeliefState
  readonly memory: {
    /** When the load was last below full. */
    lowMs: number
    /** When some of the tenants last stood still. */
    stillMs: number
    /** Somebody counts what tenants complete. */
    counted: boolean
    /** None of the tenants ran when last heard of. */
    gone: boolean
    /** When tenants last paused or worked in part. */
    absentMs: number
    /** How much more than known a load drew when it came back from idling, relative; the most so far. */
    returnExcess: number
  }
}

/**
 * What the readings say of the load, and what a load that is another one than known does to what is known of its power: a heavier
 * one is recalled, a lighter one learnt anew.
 */
export class LoadJudge {
  readonly belief: LoadBelief
  readonly #tuning: ClockTuning
  readonly #averages: boolean
  readonly #power: FullLoadPower
  readonly #history: PowerHistory
  readonly #memory: LoadJudgeState['memory']

  constructor(
    tuning: ClockTuning,
    averages: boolean,
    power: FullLoadPower,
    history: PowerHistory,
    state?: LoadJudgeState,
  ) {
    this.#tuning = tuning
    this.#averages = averages
    this.#power = power
    this.#history = history
    this.belief = new LoadBelief(state?.belief)
    this.#memory = state?.memory ?? {
      lowMs: 0,
      stillMs: LONG_AGO_MS,
      counted: false,
      gone: false,
      absentMs: 0,
      returnExcess: 0,
    }
  }

  get state(): LoadJudgeState {
    return { belief: this.belief.state, memory: this.#memory }
  }

  /** When the load was last below full, ms. */
  get lowMs(): number {
    return this.#memory.lowMs
  }

  /** How much more than known the load may draw when it is back, relative. */
  get returnExcess(): number {
    return this.#memory.returnExcess
  }

  /** Tenants pause or work in part: they may be back, as they were or otherwise, at any moment. */
  get away(): boolean {
    return this.belief.of('idle') + this.belief.of('part') > SURE
  }

  /** All of the tenants work, whatever they draw. */
  get #works(): boolean {
    return this.belief.of('full') + this.belief.of('other') >= 0.5
  }

  /** The load has been full for as long as a reading's window reaches back. */
  fullFor(windowMs: number, timeMs: number): boolean {
    return this.belief.of('full') >= 0.5 && timeMs - this.#memory.lowMs > this.#lookBackMs(windowMs)
  }

  /** @param meanW of the last instant readings, W */
  judge(observation: ClockObservation, lesson: Lesson, meanW: number | null): void {
    const { timeMs, durationMs, capW, endMs, averageW, instantW, quiet } = lesson
    const { loading, smUtilPercent = null, activeShare = null, idle = false } = observation
    const estimate = this.#power.estimate
    const windowMs = instantW === null ? AVERAGE_WINDOW_MS : INSTANT_WINDOW_MS
    const reading = instantW ?? (this.#averages ? averageW : null)
    const modelW = this.#history.under(endMs, windowMs)
    const noise = this.#noise(lesson, windowMs)
    const sigma = Math.hypot(noise, Math.sqrt(estimate.variance(modelW)) / capW)
    if (someStill(observation)) this.#memory.stillMs = timeMs
    const error =
      reading === null || quiet ? null : this.#told((reading - estimate.power(modelW)) / capW, timeMs, windowMs)
    const stallNoticeMs = this.#stallNoticeMs(observation)
    this.belief.update({ durationMs, error, sigma, noise, smUtilPercent, activeShare, stallNoticeMs, idle, loading })
    if (quiet) return
    this.#watchGone(activeShare)
    const recalled = error !== null && error > 3 * sigma && this.#heavier(timeMs, error)
    if (!this.#works) this.#memory.absentMs = timeMs
    // A mean that still holds time without the load is not what it draws.
    const whole = timeMs - this.#memory.absentMs > this.#lookBackMs(windowMs)
    if (reading !== null && error !== null && whole && !recalled && this.belief.of('other') > SURE) {
      // The mean scatters less, but where power has just jumped up it is still of before.
      this.#power.relearn(modelW, instantW === null ? reading : Math.max(reading, meanW ?? 0))
      this.belief.becomeFull()
    }
    if (this.belief.of('full') < 0.5) this.#memory.lowMs = timeMs
  }

  /** A reading is of no earlier time than this, ms. */
  #lookBackMs(windowMs: number): number {
    return windowMs + TIMING_MS + this.#history.longestLagMs
  }

  /** Counters tell at once that all tenants work again, and power later: until it can be theirs, that it is low says nothing. */
  #told(error: number, timeMs: number, windowMs: number): number | null {
    const { stillMs } = this.#memory
    const back = timeMs > stillMs && timeMs - stillMs <= this.#lookBackMs(windowMs)
    return back && error < 0 ? null : error
  }

  /** Who is started after none ran, and nobody said so, may be another load: it is no surer than new tenants. */
  #watchGone(activeShare: number | null): void {
    const m = this.#memory
    if (activeShare !== null) m.counted = true
    else if (m.counted) m.gone = true
    if (m.gone && activeShare !== null && this.#works) {
      m.gone = false
      this.#power.estimate.doubtLevel()
    }
  }

  /** @returns whether a heavier load was known */
  #heavier(timeMs: number, error: number): boolean {
    const m = this.#memory
    if (timeMs - m.lowMs < RETURN_MS) m.returnExcess = Math.min(1, Math.max(m.returnExcess, error))
    return this.#power.recallHeavier()
  }

  /** Standard deviation of a reading at full load, share of the cap. */
  #noise({ capW, endMs, instantW }: Lesson, windowMs: number): number {
    const { averageNoisePercent, instantNoisePercent } = this.#tuning
    if (instantW !== null) return instantNoisePercent / 100
    return Math.hypot(averageNoisePercent / 100, this.#history.uncertainW(endMs, windowMs) / capW)
  }

  /** Where nobody counts what tenants complete, a load that stays low must do. */
  #stallNoticeMs({ activeShare = null, stallNoticeMs = 1000 }: ClockObservation): number {
    if (activeShare !== null) return stallNoticeMs
    return this.#power.estimate.measured ? this.#tuning.underloadHoldMs : FIRST_HOLD_MS
  }
}
