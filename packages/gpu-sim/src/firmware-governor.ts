import { type GpuSpec, smClocksAt } from '@pctodl/platform'
import type { FirmwarePhysics } from './board-physics.js'

export interface ClockRange {
  readonly minMhz: number
  readonly maxMhz: number
}

/**
 * The firmware's own loop: it picks the SM clock within the locked range (or up to the boost clock), and steps it down
 * while its average of power is above the limit, below the locked range if it must. This is what a power limit relies on;
 * it reacts in tens of milliseconds, so a sudden load overshoots for a moment.
 */
export class FirmwareGovernor {
  readonly #spec: GpuSpec
  readonly #physics: FirmwarePhysics
  #states: readonly number[]
  /** Index of the present clock. */
  #index: number
  #averageW: number | null = null
  #sinceStepMs = 0
  #powerCapped = false

  constructor(spec: GpuSpec, physics: FirmwarePhysics, memClockMhz: number) {
    this.#spec = spec
    this.#physics = physics
    this.#states = smClocksAt(spec, memClockMhz)!
    this.#index = 0
  }

  get smClockMhz(): number {
    return this.#states[this.#index]!
  }

  /** Whether the power limit holds the clock below what was asked for. */
  get powerCapped(): boolean {
    return this.#powerCapped
  }

  setMemClock(memClockMhz: number): void {
    const present = this.smClockMhz
    this.#states = smClocksAt(this.#spec, memClockMhz)!
    this.#index = this.#indexOf(present)
  }

  /**
   * @param powerW that the firmware believes the board to draw
   * @param busy whether any kernel runs: an unlocked clock idles at the lowest state otherwise
   */
  tick(
    tickMs: number,
    powerW: number,
    powerLimitW: number,
    range: ClockRange | null,
    busy: boolean,
    hot: boolean,
  ): void {
    const { averageMs, periodMs, limitFactor } = this.#physics
    const weight = Math.min(1, tickMs / averageMs)
    this.#averageW = this.#averageW === null ? powerW : this.#averageW + weight * (powerW - this.#averageW)
    this.#sinceStepMs += tickMs
    const top = this.#indexOf(range ? range.maxMhz : busy ? this.#spec.boostClockMhz : this.#states[0]!)
    if (this.#sinceStepMs < periodMs) {
      if (this.#index > top) this.#index = top
      return
    }
    this.#sinceStepMs = 0
    const targetW = limitFactor * powerLimitW
    if (this.#averageW > targetW || hot) {
      const excess = this.#averageW / targetW - 1
      this.#index = Math.max(0, Math.min(top, this.#index) - Math.max(1, Math.round(40 * excess)))
      this.#powerCapped = !hot || excess > 0
    } else if (this.#index > top) {
      this.#index = top
    } else if (this.#index < top && (!this.#powerCapped || this.#averageW < 0.985 * targetW)) {
      // Far from the limit the clock rises at once; near it, state by state.
      this.#index = this.#averageW < 0.9 * targetW ? Math.min(top, this.#index + 8) : this.#index + 1
    }
    if (this.#index === top && this.#averageW <= targetW) this.#powerCapped = false
  }

  /** A clock request takes effect: jump to it (the power limit pulls it down again where it must). */
  request(range: ClockRange | null): void {
    this.#powerCapped = false
    if (range) this.#index = this.#indexOf(range.maxMhz)
  }

  #indexOf(mhz: number): number {
    let index = 0
    for (let i = 0; i < this.#states.length; i++) if (this.#states[i]! <= mhz) index = i
    return index
  }
}
