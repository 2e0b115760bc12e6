import { factorise, quantileOfSorted, solveFactorised } from '@pctodl/numerics'
import type { CalibratedQuantity, Calibration } from '../parameters.js'
import {
  calibrationLevels,
  FEATURES,
  feature,
  LEAST_ERROR,
  NETWORK_FEATURES,
} from '../uncertainty/calibration-layout.js'

/** One held-out error beside what it may depend on. */
export interface CalibrationError {
  /** ln(measured / predicted). */
  readonly error: number
  /** As `feature` lays them out. */
  readonly features: Float64Array
}

/** Strength of the pull towards the prior weights, in rows. */
const PULL = 3
/** Degrees of freedom of the errors: tails are heavier than normal ones. */
const FREEDOM = 5
/** Mean of the logarithm of |z| of a normal variable. */
const MEAN_LOG_NORMAL = -0.635_18
/** Parts in which the weights are made for each other, from so many errors on. */
const PARTS = 5
const LEAST_TO_PART = 50
const MAX_STEPS = 12
/** Gain of a step below which it is the last one, in logarithms of the likelihood. */
const LAST_GAIN = 1e-2

/** One standard deviation holds about this share of the errors, two about that. */
const WITHIN_ONE = 0.7
const WITHIN_TWO = 0.95

/**
 * Which size of error goes with which features: the most likely weights where errors are Student's with a standard deviation of exp(weights .
 * features) (a variance function: M. Davidian and R. Carroll, JASA 82, 1987; K. Lange, R. Little and J. Taylor, JASA 84, 1989), and
 * then the scale at which one and two standard deviations hold what they should, and the quantiles of the errors in standard deviations.
 * A priori an error is as large as what the fit does not know, and rows must say otherwise.
 *
 * @param networks that the features at the end are of
 */
export function calibrate(
  quantity: CalibratedQuantity,
  errors: readonly CalibrationError[],
  networks: readonly string[] = [],
): Calibration {
  const rows = rowsOf(errors)
  const weights = mostLikely(rows)
  // Each error in standard deviations of weights that have not seen it: those that have would flatter the scale.
  const parts = errors.length >= LEAST_TO_PART ? PARTS : 1
  const signed = Array.from({ length: parts }, (_, part) => part)
    .flatMap((part) => {
      const own = rows.filter((_, i) => i % parts === part)
      const others =
        parts === 1
          ? weights
          : mostLikely(
              rows.filter((_, i) => i % parts !== part),
              weights,
            )
      return own.flatMap(({ errors: of, features }) => of.map((error) => error / Math.exp(dot(others, features))))
    })
    .sort((a, b) => a - b)
  const sizes = signed.map(Math.abs).sort((a, b) => a - b)
  // Where tails are not normal no scale is right for both.
  const scale = Math.sqrt(quantileOfSorted(sizes, WITHIN_ONE) * 0.5 * quantileOfSorted(sizes, WITHIN_TWO)) || 1
  weights[feature.one]! += Math.log(scale)
  const rounded = Array.from(weights, (weight) => Number(weight.toFixed(4)))
  const own = networks.map((name, k) => {
    const from = FEATURES + k * NETWORK_FEATURES
    return { name, weights: rounded.slice(from, from + NETWORK_FEATURES) }
  })
  return {
    quantity,
    count: errors.length,
    weights: rounded.slice(0, FEATURES),
    ...(own.length === 0 ? {} : { networks: own }),
    quantiles: calibrationLevels.map((level) => Number((conformal(signed, level) / scale).toFixed(3))),
  }
}

/** Errors that share their features: those of the tenants of a row. */
interface SharedFeatures {
  readonly features: Float64Array
  readonly errors: number[]
}

function rowsOf(errors: readonly CalibrationError[]): SharedFeatures[] {
  const rows: SharedFeatures[] = []
  for (const { features, error } of errors) {
    const last = rows.at(-1)
    if (last?.features === features) last.errors.push(error)
    else rows.push({ features, errors: [error] })
  }
  return rows
}

/** Newton's method on the likelihood, which has one maximum only. A belief that errors are what the fit does not know goes in as a pull. */
function mostLikely(rows: readonly SharedFeatures[], start?: Float64Array): Float64Array {
  const n = rows[0]?.features.length ?? FEATURES
  let weights = start === undefined ? typicalSize(rows, n) : Float64Array.from(start)
  let cost = costOf(rows, weights)
  for (let step = 0; step < MAX_STEPS; step++) {
    const matrix = new Float64Array(n * n)
    const move = new Float64Array(n)
    for (const { features, errors } of rows) {
      const perSd = Math.exp(-dot(weights, features))
      let slope = 0
      let bend = 0
      for (const error of errors) {
        const square = (sizeOf(error) * perSd) ** 2
        slope += ((FREEDOM + 1) * square) / (FREEDOM + square) - 1
        bend += (2 * (FREEDOM + 1) * FREEDOM * square) / (FREEDOM + square) ** 2
      }
      addTo(matrix, move, n, features, bend, slope)
    }
    for (let a = 0; a < n; a++) {
      matrix[a * n + a]! += pullOf(a)
      move[a]! -= pullOf(a) * (weights[a]! - priorOf(a))
    }
    factorise(matrix, n)
    solveFactorised(matrix, n, move)
    let part = 1
    let next = weights.map((weight, a) => weight + move[a]!)
    let found = costOf(rows, next)
    for (; !(found < cost) && part > 1e-3; part *= 0.5) {
      next = weights.map((weight, a) => weight + 0.5 * part * move[a]!)
      found = costOf(rows, next)
    }
    if (!(found < cost)) break
    const gain = cost - found
    weights = next
    cost = found
    if (gain < LAST_GAIN) break
  }
  return weights
}

/** Where to start: the constant that makes the logarithms of the errors right on average. */
function typicalSize(rows: readonly SharedFeatures[], n: number): Float64Array {
  const weights = new Float64Array(n)
  weights[feature.unknown] = 1
  let sum = 0
  let count = 0
  for (const { features, errors } of rows) {
    for (const error of errors) sum += Math.log(sizeOf(error)) - MEAN_LOG_NORMAL - features[feature.unknown]!
    count += errors.length
  }
  if (count > 0) weights[feature.one] = sum / count
  return weights
}

/** Less the logarithm of the likelihood, and of the belief. */
function costOf(rows: readonly SharedFeatures[], weights: Float64Array): number {
  let cost = 0
  for (const { features, errors } of rows) {
    const logSd = dot(weights, features)
    const perSd = Math.exp(-logSd)
    for (const error of errors) {
      cost += logSd + 0.5 * (FREEDOM + 1) * Math.log1p((sizeOf(error) * perSd) ** 2 / FREEDOM)
    }
  }
  weights.forEach((weight, a) => {
    cost += 0.5 * pullOf(a) * (weight - priorOf(a)) ** 2
  })
  return cost
}

function addTo(matrix: Float64Array, vector: Float64Array, n: number, x: Float64Array, bend: number, slope: number) {
  for (let a = 0; a < n; a++) {
    const value = x[a]!
    // Of the networks most are not in a row.
    if (value === 0) continue
    vector[a]! += slope * value
    const scaled = bend * value
    for (let b = 0; b <= a; b++) matrix[a * n + b]! += scaled * x[b]!
  }
}

const pullOf = (index: number): number => (index === feature.one ? 1e-6 : PULL)
const priorOf = (index: number): number => (index === feature.unknown ? 1 : 0)
const sizeOf = (error: number): number => Math.max(LEAST_ERROR, Math.abs(error))

function dot(weights: Float64Array, features: Float64Array): number {
  let sum = 0
  for (let j = 0; j < features.length; j++) sum += weights[j]! * features[j]!
  return sum
}

/** The order statistic beyond which a further error lies with a probability of at most that asked for, in either tail. */
function conformal(ascending: readonly number[], level: number): number {
  const count = ascending.length
  const outward = level > 0.5 ? Math.ceil(level * (count + 1)) : Math.floor(level * (count + 1))
  return ascending[Math.min(count - 1, Math.max(0, outward - 1))]!
}
