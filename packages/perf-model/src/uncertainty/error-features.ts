import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { Calibration } from '../parameters.js'
import { MAX_BATCH_SIZE } from '../tenant-coefficients.js'
import { FEATURES, feature, NETWORK_FEATURES } from './calibration-layout.js'

/** Terms of a kind of tenant: 1 / batch, the scaled logarithms x of the batch and y of the share, x^2, y^2 and xy. */
const TERMS = 6
/** Those of them that a network has of its own: 1, 1 / batch, x, x^2 and y. */
const OWN_TERMS = 5
/** What a kind's terms are multiplied by: 1, the scaled clock, the scaled logarithm of the number of tenants. */
export const MULTIPLES = 3
/** About the largest number of tenants that is measured. */
const MANY_TENANTS = 20

/** -1 for the least and 1 for the most, so that a pull towards 0 means the same for all weights. */
export const scaledClock = (clock: number): number => 2 * clock - 1
/** By number of tenants. */
export const scaledCounts: Float64Array = Float64Array.from({ length: MAX_MPS_CLIENTS + 1 }, (_, count) => {
  return (2 * Math.log(count)) / Math.log(MANY_TENANTS) - 1
})

/** What of a configuration decides how large its errors are, beside what the fit does not know. */
export interface ErrorSetting {
  readonly tenants: readonly { readonly network: number; readonly mpsPercent: number; readonly batchSize: number }[]
  /** All of one kind. */
  readonly like: boolean
  readonly several: boolean
  /** In parts of the board's highest. */
  readonly clock: number
  /** In parts of the model's highest. */
  readonly memClock: number
}

/** All features, `unknown` left at 0, those of the networks (as many as are said) at the end. */
export function errorFeatures(
  { tenants, like, several, clock, memClock }: ErrorSetting,
  networks: number,
): Float64Array {
  const values = new Float64Array(FEATURES + networks * NETWORK_FEATURES)
  const count = tenants.length
  const each = 1 / count
  const multiples = [1, scaledClock(clock), scaledCounts[count]!]
  const terms = new Float64Array(TERMS)
  for (const { network, mpsPercent, batchSize } of tenants) {
    writeTerms(mpsPercent, batchSize, terms)
    values[feature.batch]! += each * Math.log(batchSize)
    values[feature.share]! += each * Math.log(mpsPercent)
    values[feature.smallBatch]! += each * terms[0]!
    for (let t = 3; t < TERMS; t++) values[feature.products + t - 3]! += each * terms[t]!
    for (let t = 0; t < TERMS; t++) {
      values[feature.byClock + t]! += each * multiples[1]! * terms[t]!
      values[feature.byTenants + t]! += each * multiples[2]! * terms[t]!
    }
    const own = ownTerms(terms)
    for (let m = 0; m < MULTIPLES; m++) {
      const from = FEATURES + network * NETWORK_FEATURES + m * OWN_TERMS
      own.forEach((term, t) => {
        values[from + t]! += each * multiples[m]! * term
      })
    }
  }
  writeMix(values, count, like, several, memClock)
  const [, c, l] = multiples as [number, number, number]
  values[feature.clock] = clock
  values[feature.clockSquare] = clock * clock
  values[feature.clockTenants] = c * l
  values[feature.memoryClock] = (1 - memClock) * c
  return values
}

/** The weights of a calibration in the order of `errorFeatures`; a network that it does not have gets none. */
export function weightsOf({ weights, networks = [] }: Calibration, names: readonly string[]): Float64Array {
  const all = new Float64Array(FEATURES + names.length * NETWORK_FEATURES)
  all.set(weights)
  names.forEach((name, network) => {
    const own = networks.find((entry) => entry.name === name)
    if (own !== undefined) all.set(own.weights, FEATURES + network * NETWORK_FEATURES)
  })
  return all
}

/** weights . features of one kind of tenant, by what it is to be multiplied by: `MULTIPLES` numbers. */
export function writeKindScores(
  weights: Float64Array,
  network: number,
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  offset: number,
): void {
  const terms = new Float64Array(TERMS)
  writeTerms(mpsPercent, batchSize, terms)
  const own = ownTerms(terms)
  const w = (index: number) => weights[index]!
  out[offset] =
    w(feature.smallBatch) * terms[0]! + w(feature.batch) * Math.log(batchSize) + w(feature.share) * Math.log(mpsPercent)
  for (let t = 3; t < TERMS; t++) out[offset]! += w(feature.products + t - 3) * terms[t]!
  out[offset + 1] = 0
  out[offset + 2] = 0
  for (let t = 0; t < TERMS; t++) {
    out[offset + 1]! += w(feature.byClock + t) * terms[t]!
    out[offset + 2]! += w(feature.byTenants + t) * terms[t]!
  }
  for (let m = 0; m < MULTIPLES; m++) {
    const from = FEATURES + network * NETWORK_FEATURES + m * OWN_TERMS
    for (let t = 0; t < OWN_TERMS; t++) out[offset + m]! += w(from + t) * own[t]!
  }
}

/** weights . features of what a mix is beside its kinds, the clock left out: what is to be added, and what the scaled clock is multiplied by. */
export function mixScore(
  weights: Float64Array,
  count: number,
  like: boolean,
  several: boolean,
  memClock: number,
): { readonly plain: number; readonly perClock: number } {
  const values = new Float64Array(FEATURES)
  writeMix(values, count, like, several, memClock)
  let plain = 0
  for (const j of mixFeatures) plain += weights[j]! * values[j]!
  const perClock =
    weights[feature.clockTenants]! * scaledCounts[count]! + weights[feature.memoryClock]! * (1 - memClock)
  return { plain, perClock }
}

/** Features of the mix alone. */
const mixFeatures: readonly number[] = [
  feature.one,
  feature.tenants,
  feature.unlike,
  feature.several,
  feature.tenantsSquare,
  feature.memory,
  feature.memoryTenants,
  feature.alone,
]

function writeMix(values: Float64Array, count: number, like: boolean, several: boolean, memClock: number): void {
  const l = scaledCounts[count]!
  values[feature.one] = 1
  values[feature.tenants] = Math.log(count)
  values[feature.unlike] = like ? 0 : 1
  values[feature.several] = several ? 1 : 0
  values[feature.tenantsSquare] = l * l
  values[feature.memory] = 1 - memClock
  values[feature.memoryTenants] = (1 - memClock) * l
  values[feature.alone] = count === 1 ? 1 : 0
}

function writeTerms(mpsPercent: number, batchSize: number, out: Float64Array): void {
  const x = (2 * Math.log(batchSize)) / Math.log(MAX_BATCH_SIZE) - 1
  const y = (2 * Math.log(mpsPercent)) / Math.log(100) - 1
  out.set([1 / batchSize, x, y, x * x, y * y, x * y])
}

function ownTerms(terms: Float64Array): readonly number[] {
  return [1, terms[0]!, terms[1]!, terms[3]!, terms[2]!]
}
