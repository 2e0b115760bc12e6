import { normalQuantileOfTail } from '@pctodl/numerics'
import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { CalibratedQuantity, Calibration, FittedProfile } from '../parameters.js'
import { calibrationLevels, feature, LEAST_ERROR } from './calibration-layout.js'
import { MULTIPLES, mixScore, scaledClock, scaledCounts, weightsOf } from './error-features.js'
import type { TenantUncertainty } from './tenant-uncertainty.js'

/** Between two levels errors are interpolated as if they were normal. */
const normalScores = calibrationLevels.map(normalScore)

/** What calibrated quantities are called here. */
const quantities: readonly CalibratedQuantity[] = ['throughput', 'tenant throughput', 'power']
const THROUGHPUT = 0
const TENANT = 1
const POWER = 2
/** In corners that no row was in, squares of features say anything: beyond a factor of e nothing is known, and no error counted as less than the least. */
const MOST_SD = 1
/** All of one kind or not, of one network or of several. */
const LIKENESSES = 4
/** Two numbers for each quantity. */
const MIX_STRIDE = 2 * quantities.length
/** No score is as large. */
const UNASKED = Number.POSITIVE_INFINITY

/**
 * The posterior of one configuration's throughput and power: logarithms around the prediction whose standard deviation is what
 * the fit says of its parameters and corrections there, scaled by what held-out rows like it have shown, and whose tails are
 * those of held-out rows (locally weighted split conformal prediction: J. Lei et al., JASA 113, 2018). What a configuration leaves
 * unknown beyond what any of the fit's own rows did, no held-out row has judged: it counts in full. Without a calibration all is NaN.
 */
export class Uncertainty {
  /** By quantity, as `weightsOf` has them. */
  readonly weights: readonly Float64Array[]
  readonly #quantiles: readonly (readonly number[])[]
  /** Scores of the tenants at hand by quantity, and what the scaled clock is multiplied by. */
  readonly #plain = new Float64Array(quantities.length)
  readonly #perClock = new Float64Array(quantities.length)
  /** The mix's part of both, by quantity, kept for each memory clock, likeness and number of tenants that came up. */
  readonly #mixes: Float64Array
  readonly #memClocks: readonly number[]
  /** Logarithms of what the fit does not know of its own rows, and variance of the tenants at hand beyond it. */
  readonly #judged: Float64Array
  readonly #beyond = new Float64Array(quantities.length)
  #clock = 0
  #late = 0

  /** @param memClocks in parts of the model's highest */
  constructor(
    calibrations: readonly Calibration[],
    networks: readonly string[],
    memClocks: readonly number[],
    { throughput, power }: FittedProfile['unknownSd'],
  ) {
    this.#memClocks = memClocks
    this.#mixes = new Float64Array(memClocks.length * LIKENESSES * (MAX_MPS_CLIENTS + 1) * MIX_STRIDE).fill(UNASKED)
    this.#judged = Float64Array.from([throughput, throughput, power], Math.log)
    const found = quantities.map(
      (quantity) => calibrations.find((entry) => entry.quantity === quantity) ?? none(quantity),
    )
    this.weights = found.map((entry) => weightsOf(entry, networks))
    this.#quantiles = found.map((entry) => entry.quantiles)
    this.#late = -this.quantile('tenant throughput', 0.01)
  }

  enterTenants(tenants: TenantUncertainty, count: number, like: boolean, several: boolean, memIndex: number): void {
    const mix = this.#mixOf(count, like, several, memIndex)
    const mixes = this.#mixes
    const { scores } = tenants
    const byTenants = scaledCounts[count]!
    for (let q = 0; q < quantities.length; q++) {
      const unknown = q === POWER ? tenants.unknownPower : tenants.unknownSpeed
      const judged = Math.min(unknown, this.#judged[q]!)
      const own = q * MULTIPLES
      const of = mix + 2 * q
      this.#plain[q] =
        mixes[of]! + scores[own]! + byTenants * scores[own + 2]! + this.weights[q]![feature.unknown]! * judged
      this.#perClock[q] = mixes[of + 1]! + scores[own + 1]!
      this.#beyond[q] = unknown > judged ? Math.exp(2 * unknown) - Math.exp(2 * judged) : 0
    }
  }

  #mixOf(count: number, like: boolean, several: boolean, memIndex: number): number {
    const likeness = (like ? 1 : 0) + (several ? 2 : 0)
    const at = ((memIndex * LIKENESSES + likeness) * (MAX_MPS_CLIENTS + 1) + count) * MIX_STRIDE
    if (this.#mixes[at] === UNASKED) {
      this.weights.forEach((weights, q) => {
        const { plain, perClock } = mixScore(weights, count, like, several, this.#memClocks[memIndex]!)
        this.#mixes[at + 2 * q] = plain
        this.#mixes[at + 2 * q + 1] = perClock
      })
    }
    return at
  }

  /** @param clock in parts of the board's highest */
  enterClock(clock: number): void {
    this.#clock = clock
  }

  /** Standard deviation of the logarithm of the total throughput. */
  throughputSd(): number {
    return this.#sd(THROUGHPUT)
  }

  /** Of the logarithm of one tenant's. */
  tenantSd(): number {
    return this.#sd(TENANT)
  }

  powerSd(): number {
    return this.#sd(POWER)
  }

  /** Factor from a tenant's mean latency to the 99th percentile of what it may be. */
  lateFactor(): number {
    return Math.exp(this.#late * this.#sd(TENANT))
  }

  #sd(q: number): number {
    const clock = this.#clock
    const weights = this.weights[q]!
    const logSd =
      this.#plain[q]! +
      scaledClock(clock) * this.#perClock[q]! +
      clock * (weights[feature.clock]! + clock * weights[feature.clockSquare]!)
    const sd = Math.min(MOST_SD, Math.max(LEAST_ERROR, Math.exp(logSd)))
    const beyond = this.#beyond[q]!
    return beyond > 0 ? Math.sqrt(sd * sd + beyond) : sd
  }

  /** How many standard deviations above the prediction's logarithm the error of a quantity lies with a given probability. */
  quantile(quantity: CalibratedQuantity, probability: number): number {
    return quantileSds(this.#quantiles[quantities.indexOf(quantity)]!, probability)
  }
}

/** A quantity that no calibration is of: nothing is known of its errors. */
function none(quantity: CalibratedQuantity): Calibration {
  return { quantity, count: 0, weights: [Number.NaN], quantiles: [] }
}

/**
 * Interpolated in the normal score; beyond the levels that were counted the tail goes on as a normal one around 0, or around the median
 * where all errors were to one side: the former would then go inward.
 */
export function quantileSds(quantiles: readonly number[], probability: number): number {
  if (quantiles.length === 0) return Number.NaN
  const score = normalScore(probability)
  const last = normalScores.length - 1
  let i = 0
  while (i < last - 1 && score > normalScores[i + 1]!) i++
  const low = normalScores[i]!
  const high = normalScores[i + 1]!
  if (score < low || score > high) {
    const end = score < low ? low : high
    const of = quantiles[score < low ? 0 : last]!
    const slope = of / end > 0 ? of / end : (of - quantiles[last / 2]!) / end
    return of + slope * (score - end)
  }
  return quantiles[i]! + ((quantiles[i + 1]! - quantiles[i]!) * (score - low)) / (high - low)
}

function normalScore(probability: number): number {
  return probability < 0.5 ? -normalQuantileOfTail(probability) : normalQuantileOfTail(1 - probability)
}
