import { factorise, solveFactorised } from '@pctodl/numerics'
import type { GpuSpec } from '@pctodl/platform'
import type { Work } from './service-forecast.js'

/** Share of the boost clock below which the core voltage is constant, and that voltage over the one at boost. */
const KNEE = 0.7
const VOLTAGE_FLOOR = 0.72
/** Factor on the weight of old readings with each new one. */
const KEPT = 0.9995
/** Weights of the prior: for the board's terms, and for a service's terms. */
const PRIOR = 0.5
const SERVICE_PRIOR = 0.02
/** Time over which power readings are averaged, s. */
const GATHERED_S = 0.99
/**
 * Models the board's power as P = a + b x v^2 + sum over services of (c full + d busy x) v^2. x is the clock and v the
 * voltage, both relative to boost; `full` and `busy` are a service's work. The terms are idle power, a part that
 * depends on the clock, and a part for each service. Ridge regression fits the coefficients.
 */
export class PowerFit {
  /** Clock above which a unit of work takes more energy, because the voltage rises, MHz. */
  readonly kneeMhz: number
  readonly #boostMhz: number
  readonly #size: number
  readonly #normal: Float64Array
  readonly #target: Float64Array
  #weights: Float64Array
  /** Sums over the readings of the present average. */
  #clockMhz = 0
  #seconds = 0
  #joules = 0
  #row: readonly number[] = []

  constructor(spec: GpuSpec, services: number) {
    this.#boostMhz = spec.boostClockMhz
    this.kneeMhz = KNEE * spec.boostClockMhz
    const size = 2 + 2 * services
    this.#size = size
    this.#weights = Float64Array.from({ length: size }, (_, i) => (i < 2 ? 0.12 : 0.25) * spec.powerLimitW.default)
    this.#normal = new Float64Array(size * size)
    const prior = (i: number) => (i < 2 ? PRIOR : SERVICE_PRIOR)
    this.#target = this.#weights.map((weight, i) => prior(i) * weight)
    for (let i = 0; i < size; i++) this.#normal[i * size + i] = prior(i)
  }

  /**
   * Adds a reading to the average over a second. Averaging reduces the error from batches that are cut by an interval's
   * end.
   */
  observe(smClockMhz: number, seconds: number, work: readonly Work[], powerW: number): void {
    if (this.#seconds === 0 || this.#clockMhz !== smClockMhz) {
      this.#clockMhz = smClockMhz
      this.#seconds = this.#joules = 0
      this.#row = []
    }
    this.#seconds += seconds
    this.#joules += seconds * powerW
    this.#row = this.#rowOf(smClockMhz, work).map((value, i) => (this.#row[i] ?? 0) + seconds * value)
    if (this.#seconds < GATHERED_S) return
    this.#fit(
      this.#row.map((sum) => sum / this.#seconds),
      this.#joules / this.#seconds,
    )
    this.#seconds = 0
  }

  predict(smClockMhz: number, work: readonly Work[]): number {
    return this.#parts(smClockMhz, work).reduce((sum, part) => sum + part, 0)
  }

  /** Dynamic power of each service's work, W. */
  split(smClockMhz: number, work: readonly Work[]): number[] {
    const parts = this.#parts(smClockMhz, work)
    return work.map((_, i) => parts[2 + 2 * i]! + parts[3 + 2 * i]!)
  }

  /** The terms of the power, W: idle, clock, then two for each service. */
  #parts(smClockMhz: number, work: readonly Work[]): number[] {
    return this.#rowOf(smClockMhz, work).map((value, i) => value * this.#weights[i]!)
  }

  #fit(row: readonly number[], powerW: number): void {
    const n = this.#size
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) this.#normal[i * n + j] = KEPT * this.#normal[i * n + j]! + row[i]! * row[j]!
      this.#target[i] = KEPT * this.#target[i]! + row[i]! * powerW
    }
    const factor = this.#normal.slice()
    const weights = this.#target.slice()
    factorise(factor, n, new Float64Array(n).fill(1e-9))
    solveFactorised(factor, n, weights)
    this.#weights = weights.map((weight) => Math.max(0, weight))
  }

  #rowOf(smClockMhz: number, work: readonly Work[]): number[] {
    const clock = smClockMhz / this.#boostMhz
    const slope = (1 - VOLTAGE_FLOOR) / (1 - KNEE)
    const squared = Math.max(VOLTAGE_FLOOR, 1 - slope * (1 - clock)) ** 2
    return [1, clock * squared, ...work.flatMap(({ full, busy }) => [full * squared, busy * clock * squared])]
  }
}
