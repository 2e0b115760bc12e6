import { factorise, inverseFromFactor, mean, solveFactorised } from '@pctodl/numerics'
import { type ErrorState, FACTORS } from '../parameters.js'
import { type ErrorTerms, MIX_TERMS, NETWORK_TERMS } from './error-terms.js'

/** Columns of the weights: the mean and the factors. A CPU overlaps their eight sums. */
const COLUMNS = 1 + FACTORS
/** Weight of the prior, in rows, when the scale of the variances is estimated. */
const PRIOR_ROWS = 30
/**
 * Number of rows that carry as much information as one independent row. The equations err alike on similar
 * configurations.
 */
const ROWS_PER_NEWS = 2
/** Lower bound of a standard deviation. */
const MIN_SD = 5e-4
/** Upper bound of a standard deviation, for extrapolations far from any row. */
const MAX_SD = 1

/** Terms of one row's prediction, and its error ln(measured / predicted), where the equations alone predict. */
export interface ErrorRow extends Pick<ErrorTerms, 'phi' | 'residual'> {
  readonly error: number
}

/**
 * Model of the error ln(measured / predicted) of the equations. Boards of one kind differ from the equations, and from
 * each other, in few ways: error = phi . (mean + the sum of a_k factor_k) + residual. Each a_k is standard normal among
 * boards. One more such position per network moves that network alone. Rows of a board update the positions in closed
 * form (C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, section 2.1). A common scale of
 * all variances is learnt too; it grows if a board deviates more than expected.
 */
export class ErrorModel {
  readonly state: ErrorState
  readonly #names: readonly string[]
  /** Weights of each term of phi: first the weight of the mean, then the weight of each factor. */
  readonly #weights: Float64Array
  readonly #learnt: Float64Array
  /**
   * Covariance of the learnt positions. Undefined before the first row: the positions are then independent, with
   * variance 1.
   */
  readonly #covariance: Float64Array | undefined
  /** Values of the factors for the terms that were entered last. */
  readonly #factors: Float64Array
  /** Result of `evaluate`: posterior mean of ln(measured / predicted). */
  centre = 0
  /** Result of `evaluate`: standard deviation of ln(measured / predicted). */
  sd = 0

  /**
   * @param names networks in the order of the terms. Other networks in the state are dropped. A network that the state
   * lacks gets the average of the state's networks.
   */
  constructor(state: ErrorState, names: readonly string[]) {
    this.state = state
    this.#names = names
    const count = FACTORS + names.length
    this.#factors = new Float64Array(count)
    this.#weights = new Float64Array((MIX_TERMS + names.length * NETWORK_TERMS) * COLUMNS)
    ;[state.mean, ...state.factors].forEach((list, k) => {
      inOrderOf(names, state.networks, list).forEach((weight, i) => {
        this.#weights[i * COLUMNS + k] = weight
      })
    })
    this.#learnt = new Float64Array(count)
    if (state.learnt.length === 0) return
    const places = [...Array(FACTORS).keys(), ...state.networks.map((name) => this.#placeOf(name))]
    places.forEach((to, from) => {
      if (to >= 0) this.#learnt[to] = state.learnt[from]!
    })
    if (state.covariance.length === 0) return
    const covariance = identity(count)
    let next = 0
    places.forEach((a, i) => {
      for (let j = 0; j <= i; j++) {
        const value = state.covariance[next++]!
        const b = places[j]!
        if (a < 0 || b < 0) continue
        covariance[a * count + b] = value
        covariance[b * count + a] = value
      }
    })
    this.#covariance = covariance
  }

  #placeOf(network: string): number {
    const index = this.#names.indexOf(network)
    return index < 0 ? -1 : FACTORS + index
  }

  /**
   * Compute `centre` and `sd` for the terms of a prediction.
   *
   * @param beyondVariance extra variance of a configuration that is less certain than the fit's rows
   */
  evaluate(terms: Pick<ErrorTerms, 'phi' | 'residual'>, beyondVariance: number): void {
    let centre = this.#enter(terms.phi)
    let variance = this.#residualVariance(terms.residual)
    const factors = this.#factors
    const learnt = this.#learnt
    const covariance = this.#covariance
    const n = factors.length
    for (let a = 0; a < n; a++) {
      const factor = factors[a]!
      if (factor === 0) continue
      centre += factor * learnt[a]!
      if (covariance === undefined) {
        variance += factor * factor
        continue
      }
      let sum = 0.5 * covariance[a * n + a]! * factor
      for (let b = 0; b < a; b++) sum += covariance[a * n + b]! * factors[b]!
      variance += 2 * factor * sum
    }
    this.centre = centre
    this.sd = Math.min(MAX_SD, Math.max(MIN_SD, Math.sqrt(this.state.scale * variance + beyondVariance)))
  }

  /**
   * Compute the values of the factors. The sums are unrolled, because a loop over the factors takes three times as
   * long.
   *
   * @returns the value of the mean
   */
  #enter(phi: Float64Array): number {
    const factors = this.#factors
    const weights = this.#weights
    let average = 0
    let f0 = 0
    let f1 = 0
    let f2 = 0
    let f3 = 0
    let f4 = 0
    let f5 = 0
    let f6 = 0
    for (let i = 0, at = 0; i < phi.length; i++, at += COLUMNS) {
      const term = phi[i]!
      if (term === 0) continue
      average += term * weights[at]!
      f0 += term * weights[at + 1]!
      f1 += term * weights[at + 2]!
      f2 += term * weights[at + 3]!
      f3 += term * weights[at + 4]!
      f4 += term * weights[at + 5]!
      f5 += term * weights[at + 6]!
      f6 += term * weights[at + 7]!
    }
    factors[0] = f0
    factors[1] = f1
    factors[2] = f2
    factors[3] = f3
    factors[4] = f4
    factors[5] = f5
    factors[6] = f6
    for (let i = 0; i < this.#names.length; i++) {
      factors[FACTORS + i] = this.state.networkSd * phi[MIX_TERMS + i * NETWORK_TERMS]!
    }
    return average
  }

  #residualVariance(terms: Float64Array): number {
    let sum = 0
    for (let i = 0; i < terms.length; i++) sum += terms[i]! * this.state.residual[i]!
    return sum
  }

  /** Posterior state after learning more rows of the board. */
  updated(rows: readonly ErrorRow[]): ErrorState {
    const learnt = this.#learnt
    const n = learnt.length
    const precision = Float64Array.from(this.#covariance ?? identity(n))
    if (this.#covariance !== undefined) {
      factorise(precision, n)
      precision.set(inverseFromFactor(precision, n))
    }
    const moved = new Float64Array(n)
    for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) moved[a]! += precision[a * n + b]! * learnt[b]!
    let squares = moved.reduce((sum, value, a) => sum + value * learnt[a]!, 0)
    for (const row of rows) {
      const error = row.error - this.#enter(row.phi)
      const per = 1 / (ROWS_PER_NEWS * this.#residualVariance(row.residual))
      squares += per * error * error
      for (let a = 0; a < n; a++) {
        const weighted = per * this.#factors[a]!
        moved[a]! += weighted * error
        for (let b = 0; b < n; b++) precision[a * n + b]! += weighted * this.#factors[b]!
      }
    }
    const after = Float64Array.from(moved)
    factorise(precision, n)
    solveFactorised(precision, n, after)
    squares -= after.reduce((sum, value, a) => sum + value * moved[a]!, 0)
    const covariance = inverseFromFactor(precision, n)
    const column = (k: number) => Array.from(this.#weights.filter((_, i) => i % COLUMNS === k))
    const before = PRIOR_ROWS + this.state.rows
    const scale = (this.state.scale * before + ROWS_PER_NEWS * squares) / (before + rows.length)
    return {
      ...this.state,
      networks: [...this.#names],
      mean: column(0),
      factors: this.state.factors.map((_, k) => column(k + 1)),
      rows: this.state.rows + rows.length,
      scale: Math.max(this.state.scale, digits(scale)),
      learnt: Array.from(after, digits),
      covariance: Array.from({ length: n }, (_, a) =>
        Array.from(covariance.subarray(a * n, a * n + a + 1), digits),
      ).flat(),
    }
  }
}

/** Error state of boards of one kind, with the scale of its variances estimated from the errors of some rows. */
export function scaledTo(kind: ErrorState, names: readonly string[], rows: readonly ErrorRow[]): ErrorState {
  const wide = { ...kind, rows: 0, scale: 1, mean: [], learnt: [], covariance: [] }
  const model = new ErrorModel(wide, names)
  const squares = rows.reduce((sum, row) => {
    model.evaluate(row, 0)
    return sum + (row.error / model.sd) ** 2
  }, 0)
  return { ...wide, scale: digits((PRIOR_ROWS + squares) / (PRIOR_ROWS + rows.length)) }
}

/** Weights rearranged to the order of `names`. A network without weights gets the average of the others' weights. */
function inOrderOf(names: readonly string[], networks: readonly string[], list: readonly number[]): Float64Array {
  const out = new Float64Array(MIX_TERMS + names.length * NETWORK_TERMS)
  if (list.length === 0) return out
  out.set(list.slice(0, MIX_TERMS))
  const ownOf = (network: number) => list.slice(MIX_TERMS + network * NETWORK_TERMS).slice(0, NETWORK_TERMS)
  const each = networks.map((_, network) => ownOf(network))
  const average = Array.from({ length: NETWORK_TERMS }, (_, i) => mean(each.map((own) => own[i]!)))
  names.forEach((name, i) => {
    out.set(each[networks.indexOf(name)] ?? average, MIX_TERMS + i * NETWORK_TERMS)
  })
  return out
}

function identity(n: number): Float64Array {
  const matrix = new Float64Array(n * n)
  for (let a = 0; a < n; a++) matrix[a * n + a] = 1
  return matrix
}

/** Round a value for parameter files, with more digits than an update needs. */
function digits(value: number): number {
  return Number(value.toPrecision(10))
}
