import { factorise, solveFactorised } from '@pctodl/numerics'
import type { GpuSpec } from '@pctodl/platform'
import type { Work } from './service-forecast.js'

/**
 * Candidates for the knee, the share of the boost clock below which the core voltage is constant. `VOLTAGE_FLOOR` is
 * that voltage divided by the voltage at the boost clock.
 */
const KNEES = [0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85]
const FIRST_KNEE = 0.7
const VOLTAGE_FLOOR = 0.72
/** Factor on the weight of old readings with each new one. */
const KEPT = 0.9995
/** Weights of the prior: for the board's terms, and for a service's terms. */
const PRIOR = 0.5
const SERVICE_PRIOR = 0.02
/** Time over which power readings are averaged, s. */
const GATHERED_S = 0.99
/** Another knee is adopted if its squared error is smaller by this many error variances. */
const EVIDENCE = 9

/**
 * Models the board's power as P = a + b x v^2 + sum over services of (c full + d busy x) v^2. x is the clock and v the
 * voltage, both relative to boost; `full` and `busy` are a service's work. The terms are idle power, a part that
 * depends on the clock, and a part for each service. Ridge regression fits the coefficients for several voltage curves;
 * the curve that predicts best is used.
 */
export class PowerFit {
  readonly #boostMhz: number
  readonly #curves: readonly Curve[]
  #best: Curve
  /** Sums over the readings of the present average. */
  #clockMhz = 0
  #seconds = 0
  #joules = 0
  #work: number[][] = []

  constructor(spec: GpuSpec, services: number) {
    this.#boostMhz = spec.boostClockMhz
    this.#curves = KNEES.map((knee) => new Curve(knee, services, spec.powerLimitW.default))
    this.#best = this.#curves[KNEES.indexOf(FIRST_KNEE)]!
  }

  /** Clock above which a unit of work takes more energy, because the voltage rises, MHz. */
  get kneeMhz(): number {
    return this.#best.knee * this.#boostMhz
  }

  /**
   * Adds a reading to the average over a second. Averaging reduces the error from batches that are cut by an interval's
   * end.
   */
  observe(smClockMhz: number, seconds: number, work: readonly Work[], powerW: number): void {
    if (this.#seconds === 0 || this.#clockMhz !== smClockMhz) {
      this.#clockMhz = smClockMhz
      this.#seconds = this.#joules = 0
      this.#work = work.map(() => [0, 0])
    }
    this.#seconds += seconds
    this.#joules += seconds * powerW
    work.forEach(({ full, busy }, i) => {
      this.#work[i]![0]! += seconds * full
      this.#work[i]![1]! += seconds * busy
    })
    if (this.#seconds < GATHERED_S) return
    const means = this.#work.map(([full, busy]) => ({ full: full! / this.#seconds, busy: busy! / this.#seconds }))
    this.#fit(smClockMhz, means, this.#joules / this.#seconds)
    this.#seconds = 0
  }

  #fit(smClockMhz: number, work: readonly Work[], powerW: number): void {
    for (const curve of this.#curves) curve.observe(smClockMhz / this.#boostMhz, work, powerW)
    const lowest = this.#curves.reduce((a, b) => (b.loss < a.loss ? b : a))
    const noise = Math.max(1, lowest.loss / lowest.weight)
    if (this.#best.loss - lowest.loss > EVIDENCE * noise) this.#best = lowest
  }

  predict(smClockMhz: number, work: readonly Work[]): number {
    return this.#best.parts(smClockMhz / this.#boostMhz, work).reduce((sum, part) => sum + part, 0)
  }

  /** Dynamic power of each service's work, W. */
  split(smClockMhz: number, work: readonly Work[]): number[] {
    const parts = this.#best.parts(smClockMhz / this.#boostMhz, work)
    return work.map((_, i) => parts[2 + 2 * i]! + parts[3 + 2 * i]!)
  }
}

/** The regression for one voltage curve. */
class Curve {
  readonly knee: number
  /** Sum of squared prediction errors, and the number of errors; both with exponential decay. */
  loss = 0
  weight = 1
  readonly #size: number
  readonly #normal: Float64Array
  readonly #target: Float64Array
  #weights: Float64Array

  constructor(knee: number, services: number, limitW: number) {
    this.knee = knee
    const size = 2 + 2 * services
    this.#size = size
    this.#weights = Float64Array.from({ length: size }, (_, i) => (i < 2 ? 0.12 : 0.25) * limitW)
    this.#normal = new Float64Array(size * size)
    const prior = (i: number) => (i < 2 ? PRIOR : SERVICE_PRIOR)
    this.#target = this.#weights.map((weight, i) => prior(i) * weight)
    for (let i = 0; i < size; i++) this.#normal[i * size + i] = prior(i)
  }

  /** The terms of the power, W: idle, clock, then two for each service. */
  parts(clock: number, work: readonly Work[]): number[] {
    return this.#row(clock, work).map((value, i) => value * this.#weights[i]!)
  }

  observe(clock: number, work: readonly Work[], powerW: number): void {
    const row = this.#row(clock, work)
    const n = this.#size
    const error = powerW - row.reduce((sum, value, i) => sum + value * this.#weights[i]!, 0)
    this.loss = KEPT * this.loss + error * error
    this.weight = KEPT * this.weight + 1
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

  #row(clock: number, work: readonly Work[]): number[] {
    const slope = (1 - VOLTAGE_FLOOR) / (1 - this.knee)
    const squared = Math.max(VOLTAGE_FLOOR, 1 - slope * (1 - clock)) ** 2
    return [1, clock * squared, ...work.flatMap(({ full, busy }) => [full * squared, busy * clock * squared])]
  }
}
