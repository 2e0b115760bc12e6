import { InvalidInputError } from '@pctodl/platform'

export interface PublishedPidGains {
  readonly kp: number
  readonly ki: number
  readonly kd: number
  /**
   * Lower edge of the dead band as a fraction of the cap, 0..1. The clock stays unchanged while power is between
   * `alpha` times the cap and 2 % below the cap.
   */
  readonly alpha: number
}

/** Gains in the Python code's main program. That program never reaches its PID loop. */
export const publishedPidGains: PublishedPidGains = { kp: 7e-4, ki: 4e-5, kd: 5e-6, alpha: 0.97 }

/**
 * Gain schedule by the error, in percent of the cap. Above each threshold, `gain` multiplies the proportional gain. If
 * `integralPart` is a number, this part of the current error replaces the integral, and the integral gain is 0.
 */
const zones: readonly { readonly above: number; readonly gain: number; readonly integralPart: number | null }[] = [
  { above: 50, gain: 10, integralPart: 1 / 4 },
  { above: 30, gain: 10, integralPart: 1 / 3 },
  { above: 20, gain: 5, integralPart: 1 / 2 },
  { above: 10, gain: 10, integralPart: null },
]

/**
 * The published PID controller, which moves an index in the clock table. The step-response experiment of PctoDL's
 * Python code still uses it. Two defects are kept. It does not note a new cap while power is in the dead band, and it
 * uses a second difference instead of a derivative. For comparison only.
 */
export class PublishedPid {
  readonly #gains: PublishedPidGains
  readonly #clocksMhz: readonly number[]
  #powerCapW: number | undefined
  #repeats = 0
  #integral = 0
  #lastErrors: [number, number] = [0, 0]

  /** @param smClocksMhz supported clocks, ascending */
  constructor(smClocksMhz: readonly number[], gains: PublishedPidGains = publishedPidGains) {
    if (smClocksMhz.length === 0) throw new InvalidInputError('smClocksMhz', [], 'at least one clock')
    this.#clocksMhz = smClocksMhz
    this.#gains = gains
  }

  /**
   * @param smClockMhz the current clock, one of the supported ones
   * @returns the next clock, MHz
   */
  step(smClockMhz: number, powerW: number, powerCapW: number): number {
    const index = this.#clocksMhz.indexOf(smClockMhz)
    if (index < 0) throw new InvalidInputError('smClockMhz', smClockMhz, 'one of the clocks given to the constructor')
    if (!(powerW > 0)) throw new InvalidInputError('powerW', powerW, 'a positive number of watts')
    const { kp, kd, alpha } = this.#gains
    const error = powerCapW - powerW
    const percent = (100 * error) / powerCapW
    if (this.#powerCapW !== undefined && this.#powerCapW !== powerCapW) this.#forget()
    if (percent > 2 && percent <= 100 * (1 - alpha)) {
      this.#repeats = 0
      this.#integral = 0
      return smClockMhz
    }
    this.#powerCapW = powerCapW
    this.#integral += error
    const [last, beforeLast] = this.#lastErrors
    const difference = error - 2 * last + beforeLast
    let ki = this.#gains.ki
    if (error * last < 0) {
      this.#integral = 0
      ki = 0
    } else if (this.#repeats > 0) ki *= 100 ** this.#repeats
    const zone = zones.find(({ above }) => Math.abs(percent) > above)
    if (zone !== undefined && zone.integralPart !== null) {
      this.#integral = error * zone.integralPart
      ki = 0
    }
    const delta = kp * (zone?.gain ?? 1) * error + ki * this.#integral + kd * difference
    this.#lastErrors = [error, last]
    return this.#clocksMhz[this.#moved(index, delta, error, percent)]!
  }

  #moved(index: number, delta: number, error: number, percent: number): number {
    let next = index <= 1 ? Math.ceil((index + 1) * (1 + delta)) - 1 : Math.floor(index * (1 + delta))
    if (next === index && error > 0) next = index + 1
    next = Math.min(this.#clocksMhz.length - 1, Math.max(0, next))
    this.#repeats = next === index && Math.abs(percent) > 5 ? this.#repeats + 1 : 0
    return next
  }

  #forget(): void {
    this.#repeats = 0
    this.#integral = 0
    this.#lastErrors = [0, 0]
  }
}
