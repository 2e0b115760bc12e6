import { factorise, inverseFromFactor, mean, median, solveFactorised } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { type ErrorState, FACTORS } from '../parameters.js'
import { type ErrorTerms, MIX_TERMS, NETWORK_TERMS } from './error-terms.js'

/** Weight of the prior, in rows, when the scale of the variances is estimated. */
const PRIOR_ROWS = 30
/**
 * Number of rows that carry as much information as one independent row, because the equations make similar errors on
 * similar configurations.
 */
const ROWS_PER_NEWS = 2
/**
 * A row whose distance from the fit exceeds this multiple of the median distance of its networks' rows gets less
 * weight, so that one wrong row does not decide what is learnt. A board or a network that differs everywhere raises the
 * median with its rows.
 */
const USUAL_DISTANCES = 5
/** Lower bound of the median distance, in standard deviations of the residual. */
const MEDIAN_DISTANCE = 0.67
/** Number of fits. Before each, the rows are weighted by their distance from the one before. */
const FITS = 5
/** Lower bound of a standard deviation. */
const MIN_SD = 5e-4
/** Upper bound of a standard deviation, for extrapolations far from any row. */
const MAX_SD = 1

/** Terms of the error model for one row, and ln(measured / predicted), where the equations alone give the prediction. */
export interface ErrorRow extends Pick<ErrorTerms, 'phi' | 'residual'> {
  readonly error: number
}

/**
 * Model of the error ln(measured / predicted) of the equations. Boards of one kind differ from the equations, and from
 * each other, in few ways: error = phi . (mean + the sum of a_k factor_k) + residual. Among boards, each coefficient a_k
 * is standard normal. Each network has one more coefficient, which applies to that network only. Rows of a board update
 * the coefficients in closed form (C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, section
 * 2.1) and a common scale of all variances, which grows if a board deviates more than expected.
 */
export class ErrorModel {
  readonly state: ErrorState
  readonly #names: readonly string[]
  /** Weights of the terms phi in the mean over boards, and in each factor. */
  readonly #mean: Float64Array
  readonly #factorWeights: readonly Float64Array[]
  /** The same weights of the factors, term by term. In this order, the sums of all factors are computed in parallel. */
  readonly #weights: Float64Array
  /** Weights of the terms phi in the posterior mean. */
  readonly #centreWeights: Float64Array
  /** Weights of the terms of the residual's variance. */
  readonly #residual: Float64Array
  readonly #learnt: Float64Array
  /** Covariance of the coefficients. Before the first row, they are independent, with variance 1. */
  readonly #covariance: Float64Array
  /** Values of the factors for the terms that were entered last. */
  readonly #factors: Float64Array

  /**
   * @param names networks in the order of the terms. Other networks in the state are dropped. A network that the state
   * lacks gets the average of the state's networks.
   */
  constructor(state: ErrorState, names: readonly string[]) {
    assertLengths(state)
    this.state = state
    this.#names = names
    this.#mean = inOrderOf(names, state.networks, state.mean)
    this.#factorWeights = state.factors.map((list) => inOrderOf(names, state.networks, list))
    this.#weights = new Float64Array(this.#mean.length * FACTORS)
    this.#factorWeights.forEach((list, k) => {
      list.forEach((weight, i) => {
        this.#weights[i * FACTORS + k] = weight
      })
    })
    this.#residual = Float64Array.from(state.residual)
    const count = FACTORS + names.length
    this.#factors = new Float64Array(count)
    this.#learnt = new Float64Array(count)
    const owners = [...Array(FACTORS).keys(), ...names]
    const places = [...Array(FACTORS).keys(), ...state.networks].map((owner) => owners.indexOf(owner))
    state.learnt.forEach((value, from) => {
      if (places[from]! >= 0) this.#learnt[places[from]!] = value
    })
    this.#centreWeights = this.#mean.map((weight, i) =>
      this.#factorWeights.reduce((sum, list, k) => sum + this.#learnt[k]! * list[i]!, weight),
    )
    names.forEach((_, i) => {
      this.#centreWeights[MIX_TERMS + i * NETWORK_TERMS]! += state.networkSd * this.#learnt[FACTORS + i]!
    })
    const covariance = Float64Array.from({ length: count ** 2 }, (_, i) => (i % (count + 1) ? 0 : 1))
    this.#covariance = covariance
    if (state.covariance.length === 0) return
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
  }

  /** Posterior mean of ln(measured / predicted) for the terms of a prediction. */
  centre({ phi }: Pick<ErrorTerms, 'phi'>): number {
    return dot(phi, this.#centreWeights)
  }

  /**
   * Standard deviation of ln(measured / predicted) for the terms of a prediction.
   *
   * @param beyondVariance extra variance of a configuration that is less certain than the fit's rows
   */
  sd(terms: Pick<ErrorTerms, 'phi' | 'residual'>, beyondVariance: number): number {
    this.#enter(terms.phi)
    let variance = dot(terms.residual, this.#residual)
    const factors = this.#factors
    const covariance = this.#covariance
    const n = factors.length
    for (let a = 0; a < n; a++) {
      const factor = factors[a]!
      if (factor === 0) continue
      let sum = 0.5 * covariance[a * n + a]! * factor
      for (let b = 0; b < a; b++) sum += covariance[a * n + b]! * factors[b]!
      variance += 2 * factor * sum
    }
    return Math.min(MAX_SD, Math.max(MIN_SD, Math.sqrt(this.state.scale * variance + beyondVariance)))
  }

  /**
   * Compute the values of the factors. The sums are unrolled, because a loop over the factors takes three times as
   * long.
   */
  #enter(phi: Float64Array): void {
    const factors = this.#factors
    const weights = this.#weights
    let f0 = 0
    let f1 = 0
    let f2 = 0
    let f3 = 0
    let f4 = 0
    let f5 = 0
    let f6 = 0
    for (let i = 0, at = 0; i < phi.length; i++, at += FACTORS) {
      const term = phi[i]!
      if (term === 0) continue
      f0 += term * weights[at]!
      f1 += term * weights[at + 1]!
      f2 += term * weights[at + 2]!
      f3 += term * weights[at + 3]!
      f4 += term * weights[at + 4]!
      f5 += term * weights[at + 5]!
      f6 += term * weights[at + 6]!
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
  }

  /** Posterior state after learning more rows of the board. */
  updated(rows: readonly ErrorRow[]): ErrorState {
    const n = this.#learnt.length
    const even = rows.map(({ residual }) => 1 / (ROWS_PER_NEWS * dot(residual, this.#residual)))
    // Before the first fit, distances are from what is known, which no wrong row has moved.
    let learnt = this.#learntFrom([], [])
    for (let fits = 0; fits < FITS; fits++) {
      const distances = rows.map(({ phi, error }, i) => {
        this.#enter(phi)
        return Math.abs(error - dot(phi, this.#mean) - dot(this.#factors, learnt.mean)) * Math.sqrt(even[i]!)
      })
      const isIn = (i: number, network: number) => rows[i]!.phi[MIX_TERMS + network * NETWORK_TERMS]! > 0
      const medians = this.#names.map((_, network) => median(distances.filter((_, i) => isIn(i, network))))
      const weights = even.map((weight, i) => {
        const usual = USUAL_DISTANCES * Math.max(MEDIAN_DISTANCE, ...medians.filter((_, network) => isIn(i, network)))
        return weight * Math.min(1, usual / distances[i]!) ** 2
      })
      learnt = this.#learntFrom(rows, weights)
    }
    const before = PRIOR_ROWS + this.state.rows
    const scale = (this.state.scale * before + ROWS_PER_NEWS * learnt.squares) / (before + rows.length)
    return {
      ...this.state,
      networks: [...this.#names],
      mean: Array.from(this.#mean),
      factors: this.#factorWeights.map((list) => Array.from(list)),
      rows: this.state.rows + rows.length,
      // Rows of few mixes share residuals, so their squares do not show that all variances may shrink.
      scale: Math.max(this.state.scale, digits(scale)),
      learnt: Array.from(learnt.mean, digits),
      covariance: Array.from({ length: n }, (_, a) =>
        Array.from(learnt.covariance.subarray(a * n, a * n + a + 1), digits),
      ).flat(),
    }
  }

  /** Posterior of the coefficients after rows with weights (inverse variances), and what the squared errors exceed it by. */
  #learntFrom(rows: readonly ErrorRow[], weights: readonly number[]) {
    const n = this.#learnt.length
    const precision = Float64Array.from(this.#covariance)
    factorise(precision, n)
    precision.set(inverseFromFactor(precision, n))
    const moved = new Float64Array(n)
    for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) moved[a]! += precision[a * n + b]! * this.#learnt[b]!
    let squares = dot(moved, this.#learnt)
    rows.forEach(({ phi, ...row }, i) => {
      this.#enter(phi)
      const error = row.error - dot(phi, this.#mean)
      squares += weights[i]! * error * error
      for (let a = 0; a < n; a++) {
        const weighted = weights[i]! * this.#factors[a]!
        moved[a]! += weighted * error
        for (let b = 0; b < n; b++) precision[a * n + b]! += weighted * this.#factors[b]!
      }
    })
    const mean = Float64Array.from(moved)
    factorise(precision, n)
    solveFactorised(precision, n, mean)
    return { mean, covariance: inverseFromFactor(precision, n), squares: squares - dot(mean, moved) }
  }
}

/** Error state of boards of one kind, with the scale of its variances estimated from the errors of some rows. */
export function scaledTo(kind: ErrorState, names: readonly string[], rows: readonly ErrorRow[]): ErrorState {
  const wide = { ...kind, rows: 0, scale: 1, mean: [], learnt: [], covariance: [] }
  const model = new ErrorModel(wide, names)
  const squares = rows.reduce((sum, row) => sum + (row.error / model.sd(row, 0)) ** 2, 0)
  return { ...wide, scale: digits((PRIOR_ROWS + squares) / (PRIOR_ROWS + rows.length)) }
}

/** @throws InvalidInputError for a list whose length does not fit the number of networks */
function assertLengths({ quantity, networks, mean: means, factors, learnt, covariance }: ErrorState): void {
  const terms = MIX_TERMS + networks.length * NETWORK_TERMS
  const count = FACTORS + networks.length
  const assert = (field: string, { length }: readonly number[], wanted: number) => {
    if (length !== 0 && length !== wanted) {
      throw new InvalidInputError(`parameters.errors (${quantity}).${field}.length`, length, `0 or ${wanted}`)
    }
  }
  for (const list of [means, ...factors]) assert('mean or factors', list, terms)
  assert('learnt', learnt, count)
  assert('covariance', covariance, (count * (count + 1)) / 2)
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

function dot(terms: Float64Array, weights: Float64Array): number {
  let sum = 0
  for (let i = 0; i < terms.length; i++) sum += terms[i]! * weights[i]!
  return sum
}

/** Round a value for parameter files, with more digits than an update needs. */
function digits(value: number): number {
  return Number(value.toPrecision(10))
}
