import { type GpuSpec, smClocksAt } from '@pctodl/platform'
import type { FirmwarePhysics } from './board-physics.js'

export interface ClockRange {
  readonly minMhz: number
  readonly maxMhz: number
}

/** Power to which the firmware regulates under a power limit, W. */
export function regulatedLimitW(firmware: FirmwarePhysics, powerLimitW: number): number {
  const { margin, marginW, plateauW, plateauUpToW } = firmware
  const bound = plateauW !== null && powerLimitW <= plateauUpToW ? plateauW : Number.POSITIVE_INFINITY
  return (1 - margin) * Math.min(powerLimitW, bound) - marginW
}

/** Gain of the integral law: clock states per period for a relative excess of 1 over the target power. */
const INTEGRAL_GAIN = 6
/**
 * Relative excess of power over the target above which the clock drops at once, by a number of states proportional to
 * the excess.
 */
const FAR = 0.04

/**
 * The firmware's control loop, which enforces power limits. It picks the SM clock within the locked range or, without a
 * lock, up to the boost clock. While its average of power exceeds the limit it lowers the clock, even below the locked
 * range. It reacts within tens of milliseconds, so a sudden load exceeds the limit for a short time.
 */
export class FirmwareGovernor {
  readonly #spec: GpuSpec
  readonly #physics: FirmwarePhysics
  #states: readonly number[]
  /** Index of the present clock in the clock table. */
  #index: number
  /** Clock index, with a fraction, that the integral law requests as the mean over time. */
  #level: number
  /**
   * Accumulated fractions of `#level`, 0..1. When their sum reaches 1, the clock runs the upper of two states for a
   * period.
   */
  #owed = 0
  #averageW: number | null = null
  #sinceStepMs = 0
  /** Whether the power limit keeps the clock below the requested one. */
  powerCapped = false

  constructor(spec: GpuSpec, physics: FirmwarePhysics, memClockMhz: number) {
    this.#spec = spec
    this.#physics = physics
    this.#states = smClocksAt(spec, memClockMhz)!
    this.#index = 0
    this.#level = 0
  }

  get smClockMhz(): number {
    return this.#states[this.#index]!
  }

  setMemClock(memClockMhz: number): void {
    const present = this.smClockMhz
    this.#states = smClocksAt(this.#spec, memClockMhz)!
    this.#settleAt(this.#indexOf(present))
  }

  /**
   * Advances by one tick.
   *
   * @param powerW power that the firmware measures, W
   * @param busy whether any kernel runs; if not, an unlocked clock falls to the lowest state
   */
  tick(
    tickMs: number,
    powerW: number,
    powerLimitW: number,
    range: ClockRange | null,
    busy: boolean,
    hot: boolean,
  ): void {
    const { averageMs, periodMs, law } = this.#physics
    const weight = Math.min(1, tickMs / averageMs)
    this.#averageW = this.#averageW === null ? powerW : this.#averageW + weight * (powerW - this.#averageW)
    this.#sinceStepMs += tickMs
    const top = this.#indexOf(range ? range.maxMhz : busy ? this.#spec.boostClockMhz : this.#states[0]!)
    if (this.#sinceStepMs < periodMs) {
      if (this.#index > top) this.#settleAt(top)
      return
    }
    this.#sinceStepMs = 0
    const targetW = regulatedLimitW(this.#physics, powerLimitW)
    if (hot) {
      this.powerCapped = this.#averageW > targetW
      this.#settleAt(Math.max(0, Math.min(top, this.#index) - 1))
    } else if (law === 'integral') this.#integrate(this.#averageW / targetW - 1, top)
    else this.#step(this.#averageW, targetW, top)
  }

  /**
   * Regulates mean power. If the wanted clock lies between two states, the clock alternates between them in proportion.
   */
  #integrate(excess: number, top: number): void {
    if (this.#index > top || this.#level > top) this.#settleAt(top)
    if (excess > FAR) {
      this.#settleAt(Math.max(0, this.#index - Math.max(1, Math.round(30 * excess))))
      this.powerCapped = true
      return
    }
    const rise = excess < -0.1 ? 8 : -INTEGRAL_GAIN * excess
    this.#level = Math.max(0, Math.min(top, this.#level + rise))
    const whole = Math.floor(this.#level)
    this.#owed += this.#level - whole
    const extra = this.#owed >= 1 ? 1 : 0
    this.#owed -= extra
    this.#index = Math.min(top, whole + extra)
    this.powerCapped = this.#level < top
  }

  #step(averageW: number, targetW: number, top: number): void {
    if (averageW > targetW) {
      const excess = averageW / targetW - 1
      this.#settleAt(Math.max(0, Math.min(top, this.#index) - Math.max(1, Math.round(40 * excess))))
      this.powerCapped = true
    } else if (this.#index > top) {
      this.#settleAt(top)
    } else if (this.#index < top && (!this.powerCapped || averageW < this.#physics.hysteresis * targetW)) {
      // Below 90 % of the target the clock rises by up to eight states at once; closer to the target, by one state.
      this.#settleAt(averageW < 0.9 * targetW ? Math.min(top, this.#index + 8) : this.#index + 1)
    }
    if (this.#index === top && averageW <= targetW) this.powerCapped = false
  }

  #settleAt(index: number): void {
    this.#index = index
    this.#level = index
    this.#owed = 0
  }

  /**
   * Makes a requested clock range take effect. The clock jumps into the range; the power limit lowers it again if
   * necessary.
   */
  request(range: ClockRange | null): void {
    this.powerCapped = false
    if (range) this.#settleAt(this.#indexOf(range.maxMhz))
  }

  #indexOf(mhz: number): number {
    let index = this.#states.length - 1
    while (index > 0 && this.#states[index]! > mhz) index--
    return index
  }
}
