import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { FEATURES, feature } from './calibration-layout.js'
import { TENANT_NODES } from './correction-grid.js'
import { tenantNode, tenantNodePart, writeDeviations } from './corrections.js'
import type { NetworkParameters } from './parameters.js'

/** What the logarithms of throughput and power are uncertain by where a fit says nothing of it. */
const UNKNOWN_SD = 0.3
/** No standard deviation is believed to be smaller: equations are not exact. */
const LEAST_SD = 1e-3

/** Logarithms of the numbers of tenants. */
const logCounts = Float64Array.from({ length: MAX_MPS_CLIENTS + 1 }, (_, count) => Math.log(count))

/** Offsets within what `writeKindUncertainty` writes for each kind. */
const own = { inverseBatch: 0, logBatch: 1, logShare: 2, deviations: 3 } as const

/** Numbers that a kind of tenant takes. */
export function uncertaintyStride(memClocks: number): number {
  return own.deviations + memClocks * 2 * TENANT_NODES
}

/** What of a kind of tenant the features need: of both quantities the variance at every node of the tenants. */
export function writeKindUncertainty(
  { corrections }: NetworkParameters,
  memClocksMhz: readonly number[],
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  kind: number,
): void {
  const offset = kind * uncertaintyStride(memClocksMhz.length)
  out[offset + own.inverseBatch] = 1 / batchSize
  out[offset + own.logBatch] = Math.log(batchSize)
  out[offset + own.logShare] = Math.log(mpsPercent)
  memClocksMhz.forEach((memClockMhz, m) => {
    const found = corrections.find((entry) => entry.memClockMhz === memClockMhz)
    const at = offset + own.deviations + m * 2 * TENANT_NODES
    writeDeviations(found?.speedSd ?? [], mpsPercent, batchSize, UNKNOWN_SD, out, at)
    writeDeviations(found?.powerSd ?? [], mpsPercent, batchSize, UNKNOWN_SD, out, at + TENANT_NODES)
    for (let i = at; i < at + 2 * TENANT_NODES; i++) out[i] = Math.max(LEAST_SD, out[i]!) ** 2
  })
}

/** The features of a configuration that depend on its tenants; those of the clock are left to `withClock`. */
export class TenantFeatures {
  readonly values: Float64Array = new Float64Array(FEATURES)
  /** `feature.unknown` of throughput and of power, which share all other features. */
  unknownSpeed = 0
  unknownPower = 0

  /**
   * @param uncertainty what `writeKindUncertainty` wrote
   * @param kindStride how far apart entries of `kinds` are that belong to neighbouring kinds
   */
  read(
    uncertainty: Float64Array,
    memClocks: number,
    kinds: ArrayLike<number>,
    kindStride: number,
    count: number,
    memIndex: number,
    like: boolean,
    several: boolean,
  ): void {
    const stride = uncertaintyStride(memClocks)
    const node = own.deviations + memIndex * 2 * TENANT_NODES + tenantNode[count]!
    const part = tenantNodePart[count]!
    let inverse = 0
    let batch = 0
    let share = 0
    let speed = 0
    let power = 0
    for (let i = 0; i < count; i++) {
      const offset = (kinds[i]! / kindStride) * stride
      inverse += uncertainty[offset + own.inverseBatch]!
      batch += uncertainty[offset + own.logBatch]!
      share += uncertainty[offset + own.logShare]!
      const at = offset + node
      speed += uncertainty[at]! + part * (uncertainty[at + 1]! - uncertainty[at]!)
      const of = at + TENANT_NODES
      power += uncertainty[of]! + part * (uncertainty[of + 1]! - uncertainty[of]!)
    }
    const each = 1 / count
    const { values } = this
    values[feature.one] = 1
    values[feature.smallBatch] = inverse * each
    values[feature.batch] = batch * each
    values[feature.share] = share * each
    values[feature.tenants] = logCounts[count]!
    values[feature.unlike] = like ? 0 : 1
    values[feature.several] = several ? 1 : 0
    this.unknownSpeed = 0.5 * Math.log(speed * each)
    this.unknownPower = 0.5 * Math.log(power * each)
  }
}

/** weights . features of the tenants, among which those of the clock are 0. */
export function tenantPart(weights: Float64Array, from: number, values: Float64Array, unknown: number): number {
  let sum = weights[from + feature.unknown]! * unknown
  for (let j = 0; j < FEATURES; j++) if (j !== feature.unknown) sum += weights[from + j]! * values[j]!
  return sum
}
