import type { PowerFit } from './power-fit.js'
import type { Work } from './service-forecast.js'

interface Spent {
  /** Energy of the interval by the board's counter, J. */
  readonly joules: number
  readonly seconds: number
  readonly smClockMhz: number
  readonly work: readonly Work[]
}

/**
 * Energy is attributed at this interval, s. Early samples then profit from the power model that was fitted in the
 * meantime.
 */
const SETTLED_S = 60

/**
 * Attributes energy to services: the dynamic energy that the fitted power model assigns to a service's work, plus an
 * equal share of the idle energy. The parts are scaled so that they sum to the board's energy counter.
 */
export class EnergyLedger {
  readonly #power: PowerFit
  readonly #joules: Float64Array
  #pending: Spent[] = []
  #pendingS = 0

  constructor(power: PowerFit, services: number) {
    this.#power = power
    this.#joules = new Float64Array(services)
  }

  /** Energy of each service so far, J; the energy of the current minute is not yet included. */
  get joules(): readonly number[] {
    return [...this.#joules]
  }

  add(spent: Spent): void {
    this.#pending.push(spent)
    this.#pendingS += spent.seconds
    if (this.#pendingS >= SETTLED_S) this.settle()
  }

  settle(): void {
    const services = this.#joules.length
    for (const { joules, smClockMhz, work } of this.#pending) {
      const parts = this.#power.split(smClockMhz, work)
      const total = this.#power.predict(smClockMhz, work)
      const idle = total - parts.reduce((sum, part) => sum + part, 0)
      parts.forEach((part, i) => {
        this.#joules[i]! += total > 0 ? (joules * (part + idle / services)) / total : joules / services
      })
    }
    this.#pending = []
    this.#pendingS = 0
  }
}
