import { sum } from '@pctodl/numerics'
import type { GpuSpec } from '@pctodl/platform'
import { NonNegativeFit, type Reading } from './non-negative-fit.js'

/**
 * Work of a service per second. `full`: the time that the requests would take in full batches at the highest clock; its
 * energy does not depend on the clock. `busy`: the time in which batches run; its power depends on the clock.
 */
export interface Work {
  readonly full: number
  readonly busy: number
}

/** Below this share of the boost clock, the core voltage is constant: `VOLTAGE_FLOOR` of the voltage at boost. */
const KNEE = 0.7
const VOLTAGE_FLOOR = 0.72
/** Factor on the weight of old readings with each new one. */
const KEPT = 0.9995
/** Prior of the board's terms and of a service's terms: its weight, and its power as a share of the board's limit. */
const PRIOR = { board: { weight: 0.1, share: 0.12 }, service: { weight: 0.005, share: 0.25 } }

/**
 * Models the board's power as P = a + b x v^2 + sum over services of (c full + d busy x) v^2. x is the clock and v the
 * voltage, both relative to boost. Each service gets the energy of its own part and an equal share of the first two
 * terms, scaled so that all sum to the board's energy counter.
 */
export class BoardPower {
  /** Clock above which a unit of work takes more energy, because the voltage rises, MHz. */
  readonly kneeMhz: number
  readonly joules: number[]
  readonly #boostMhz: number
  readonly #fit: NonNegativeFit
  readonly #prior: readonly Reading[]

  constructor(spec: GpuSpec, services: number) {
    this.#boostMhz = spec.boostClockMhz
    this.kneeMhz = KNEE * spec.boostClockMhz
    this.joules = Array.from({ length: services }, () => 0)
    const size = 2 + 2 * services
    this.#fit = new NonNegativeFit(size, KEPT)
    this.#prior = this.#fit.coefficients.map((_, i, all) => {
      const { weight, share } = i < 2 ? PRIOR.board : PRIOR.service
      return { terms: all.map((_, j) => (i === j ? 1 : 0)), value: share * spec.powerLimitW.default, weight }
    })
    this.#fit.update([], this.#prior)
  }

  /** Learns from an interval, and divides its energy, `joules`, among the services. */
  observe(joules: number, seconds: number, smClockMhz: number, work: readonly Work[]): void {
    const terms = this.#termsOf(smClockMhz, work)
    this.#fit.update([{ terms, value: joules / seconds, weight: seconds }], this.#prior)
    const [idle = 0, clock = 0, ...own] = this.#parts(smClockMhz, work)
    const total = idle + clock + sum(own)
    work.forEach((_, i) => {
      const part = own[2 * i]! + own[2 * i + 1]! + (idle + clock) / work.length
      this.joules[i]! += total > 0 ? (joules * part) / total : joules / work.length
    })
  }

  predict(smClockMhz: number, work: readonly Work[]): number {
    return sum(this.#parts(smClockMhz, work))
  }

  /** The terms of the power, W: idle, clock, then two for each service. */
  #parts(smClockMhz: number, work: readonly Work[]): number[] {
    return this.#termsOf(smClockMhz, work).map((term, i) => term * this.#fit.coefficients[i]!)
  }

  #termsOf(smClockMhz: number, work: readonly Work[]): number[] {
    const clock = smClockMhz / this.#boostMhz
    const slope = (1 - VOLTAGE_FLOOR) / (1 - KNEE)
    const squared = Math.max(VOLTAGE_FLOOR, 1 - slope * (1 - clock)) ** 2
    return [1, clock * squared, ...work.flatMap(({ full, busy }) => [full * squared, busy * clock * squared])]
  }
}
