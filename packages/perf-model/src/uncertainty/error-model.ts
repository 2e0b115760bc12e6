import { factorise, inverseFromFactor, solveFactorised } from '@pctodl/numerics'
import type { ErrorState } from '../parameters.js'
import type { ErrorTerms } from './error-terms.js'
import { MIX_TERMS, NETWORK_TERMS } from './term-counts.js'

/** Weight of the prior in rows when the scale of the variances is estimated. */
const PRIOR_ROWS = 30
/** Lower bound of a standard deviation. */
const MIN_SD = 5e-4
/** Upper bound of a standard deviation, for extrapolations far from any row. */
const MAX_SD = 1

/** One row: the terms of its prediction and ln(measured / predicted), with the prediction of the equations. */
export interface ErrorRow {
  readonly phi: Float64Array
  readonly residual: Float64Array
  readonly error: number
}

/**
 * Bayesian linear regression ln(measured / predicted) = phi . beta + residual. The prior of beta is normal with the
 * mean 0 and the variances among boards of one kind; rows of a board update it in closed form (C. Rasmussen and C.
 * Williams, Gaussian Processes for Machine Learning, 2006, section 2.1). One scale of all variances is learnt too: it
 * grows if a board deviates more than expected.
 */
export class ErrorModel {
  readonly state: ErrorState
  readonly #residual: readonly number[]
  readonly #mean: Float64Array | undefined
  readonly #covariance: Float64Array | undefined
  readonly #variance: Float64Array
  readonly #names: readonly string[]

  /** @param names networks in the order of the terms; others in the state are dropped, and new ones get the prior */
  constructor(state: ErrorState, names: readonly string[]) {
    this.state = state
    this.#names = names
    this.#residual = state.residual
    const n = MIX_TERMS + names.length * NETWORK_TERMS
    this.#variance = Float64Array.from(
      { length: n },
      (_, i) => state.mix[i] ?? state.network[(i - MIX_TERMS) % NETWORK_TERMS]!,
    )
    if (state.mean.length === 0) return
    /** Index of each term of the state here; -1 if dropped. */
    const place = state.mean.map((_, i) => {
      const network = i < MIX_TERMS ? -1 : names.indexOf(state.networks[Math.floor((i - MIX_TERMS) / NETWORK_TERMS)]!)
      if (i < MIX_TERMS) return i
      return network < 0 ? -1 : MIX_TERMS + network * NETWORK_TERMS + ((i - MIX_TERMS) % NETWORK_TERMS)
    })
    const mean = new Float64Array(n)
    place.forEach((at, i) => {
      if (at >= 0) mean[at] = state.mean[i]!
    })
    this.#mean = mean
    if (state.covariance.length === 0) return
    const covariance = new Float64Array(n * n)
    for (let a = 0; a < n; a++) if (!place.includes(a)) covariance[a * n + a] = this.#variance[a]!
    let next = 0
    place.forEach((a, i) => {
      for (let j = 0; j <= i; j++) {
        const value = state.covariance[next++]!
        const b = place[j]!
        if (a < 0 || b < 0) continue
        covariance[a * n + b] = value
        covariance[b * n + a] = value
      }
    })
    this.#covariance = covariance
  }

  /** Posterior mean of ln(measured / predicted); 0 without rows. */
  shift({ phi }: ErrorTerms): number {
    const mean = this.#mean
    if (mean === undefined) return 0
    let sum = 0
    for (let a = 0; a < phi.length; a++) sum += phi[a]! * mean[a]!
    return sum
  }

  /** @param beyondVariance extra variance of a configuration less certain than the fit's rows */
  sd({ phi, residual }: Pick<ErrorTerms, 'phi' | 'residual'>, beyondVariance: number): number {
    const n = phi.length
    const covariance = this.#covariance
    let variance = this.#restOf(residual)
    for (let a = 0; a < n; a++) {
      const term = phi[a]!
      if (term === 0) continue
      if (covariance === undefined) {
        variance += term * term * this.#variance[a]!
        continue
      }
      let sum = 0.5 * covariance[a * n + a]! * term
      for (let b = 0; b < a; b++) sum += covariance[a * n + b]! * phi[b]!
      variance += 2 * term * sum
    }
    return Math.min(MAX_SD, Math.max(MIN_SD, Math.sqrt(this.state.scale * variance + beyondVariance)))
  }

  #restOf(residual: Float64Array): number {
    let variance = 0
    for (let i = 0; i < residual.length; i++) variance += residual[i]! * this.#residual[i]!
    return variance
  }

  /** Posterior state after more rows of the board. */
  updated(rows: readonly ErrorRow[]): ErrorState {
    const n = this.#variance.length
    const mean = this.#mean ?? new Float64Array(n)
    const precision = this.#precision()
    const moved = new Float64Array(n)
    for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) moved[a]! += precision[a * n + b]! * mean[b]!
    let squares = moved.reduce((sum, value, a) => sum + value * mean[a]!, 0)
    for (const { phi, residual, error } of rows) {
      const per = 1 / this.#restOf(residual)
      squares += per * error * error
      for (let a = 0; a < n; a++) {
        const term = per * phi[a]!
        if (term === 0) continue
        moved[a]! += term * error
        for (let b = 0; b < n; b++) precision[a * n + b]! += term * phi[b]!
      }
    }
    const after = Float64Array.from(moved)
    factorise(precision, n)
    solveFactorised(precision, n, after)
    squares -= after.reduce((sum, value, a) => sum + value * moved[a]!, 0)
    const covariance = inverseFromFactor(precision, n)
    const before = PRIOR_ROWS + this.state.rows
    const kept = this.state.scale * before
    return {
      ...this.state,
      networks: [...this.#names],
      rows: this.state.rows + rows.length,
      scale: Math.max(this.state.scale, digits((kept + squares) / (before + rows.length))),
      mean: Array.from(after, digits),
      covariance: Array.from({ length: n }, (_, a) =>
        Array.from(covariance.subarray(a * n, a * n + a + 1), digits),
      ).flat(),
    }
  }

  #precision(): Float64Array {
    const n = this.#variance.length
    if (this.#covariance !== undefined) {
      const factor = Float64Array.from(this.#covariance)
      factorise(factor, n)
      return inverseFromFactor(factor, n)
    }
    const precision = new Float64Array(n * n)
    for (let a = 0; a < n; a++) precision[a * n + a] = 1 / this.#variance[a]!
    return precision
  }
}

/** The error state among boards of one kind, with its scale estimated from the errors of some rows. */
export function scaledTo(kind: ErrorState, names: readonly string[], rows: readonly ErrorRow[]): ErrorState {
  const wide = { ...kind, networks: [], rows: 0, scale: 1, mean: [], covariance: [] }
  const model = new ErrorModel(wide, names)
  const squares = rows.reduce((sum, row) => sum + (row.error / model.sd(row, 0)) ** 2, 0)
  return { ...wide, scale: digits((PRIOR_ROWS + squares) / (PRIOR_ROWS + rows.length)) }
}

/** Rounded for parameter files, with more digits than an update needs. */
function digits(value: number): number {
  return Number(value.toPrecision(10))
}
