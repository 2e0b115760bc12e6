import type { PowerFit } from './power-fit.js'
import type { Work } from './service-forecast.js'

interface Spent {
  /** By the board's counter. */
  readonly joules: number
  readonly seconds: number
  readonly smClockMhz: number
  readonly work: readonly Work[]
}

/** What was drawn is split once a minute, so that the first watts are split by what was learnt since. */
const SETTLED_S = 60

/**
 * Energy of each service: its work by the fitted power, and an equal share of what the board draws idle. The parts are scaled to
 * what the board has counted, so they sum to it.
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

  /** Of each service, J; what is not settled yet is left out. */
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
