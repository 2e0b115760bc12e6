import { factorise, inverseFromFactor, solveFactorised } from '@pctodl/numerics'
import type { ErrorState } from '../parameters.js'
import type { ErrorTerms } from './error-terms.js'
import { MIX_TERMS, NETWORK_TERMS } from './term-counts.js'

/** What a prior says of boards of one kind counts as so many rows, when it is judged how wide it has to be. */
const PRIOR_ROWS = 30
/** Errors below this are as good as none. */
const LEAST_SD = 5e-4
/** In corners that no row was in, terms say anything. */
const MOST_SD = 1

/** One row: the terms of its prediction and ln(measured / predicted), the prediction being that of the equations. */
export interface ErrorRow {
  readonly phi: Float64Array
  readonly residual: Float64Array
  readonly error: number
}

/**
 * ln(measured / predicted) = phi . beta + residual: beta is normal around 0 with the variances by which boards of one kind differ, and rows of a board
 * move it by the closed-form update of Bayesian linear regression (C. Rasmussen and C. Williams, Gaussian Processes for Machine
 * Learning, 2006, section 2.1), whose one scale is learnt too: a board that surprises is less certain from then on.
 */
export class ErrorModel {
  readonly state: ErrorState
  readonly #residual: readonly number[]
  readonly #mean: Float64Array | undefined
  readonly #covariance: Float64Array | undefined
  readonly #variance: Float64Array
  readonly #names: readonly string[]

  /** @param names of the networks in the order of the terms: others of the state are left out, and new ones are as unknown as any */
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
    /** Of each term of the state: its place here, -1 for none. */
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

  /** What rows of the board say of ln(measured / predicted); 0 without any. */
  shift({ phi }: ErrorTerms): number {
    const mean = this.#mean
    if (mean === undefined) return 0
    let sum = 0
    for (let a = 0; a < phi.length; a++) sum += phi[a]! * mean[a]!
    return sum
  }

  /** @param beyondVariance of what no row of the fit is as unknown as */
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
    return Math.min(MOST_SD, Math.max(LEAST_SD, Math.sqrt(this.state.scale * variance + beyondVariance)))
  }

  #restOf(residual: Float64Array): number {
    let variance = 0
    for (let i = 0; i < residual.length; i++) variance += residual[i]! * this.#residual[i]!
    return variance
  }

  /** What is known after rows of the board. */
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

/** A board that differs from its equations as boards of one kind do among each other, but for the scale, which errors of some rows tell. */
export function scaledTo(kind: ErrorState, names: readonly string[], rows: readonly ErrorRow[]): ErrorState {
  const wide = { ...kind, networks: [], rows: 0, scale: 1, mean: [], covariance: [] }
  const model = new ErrorModel(wide, names)
  const squares = rows.reduce((sum, row) => sum + (row.error / model.sd(row, 0)) ** 2, 0)
  return { ...wide, scale: digits((PRIOR_ROWS + squares) / (PRIOR_ROWS + rows.length)) }
}

/** Kept in parameter files: more digits than any update knows. */
function digits(value: number): number {
  return Number(value.toPrecision(10))
}
