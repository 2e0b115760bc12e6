import { TENANT_NODES } from '../correction-grid.js'
import { tenantNode, tenantNodePart, writeDeviations } from '../corrections.js'
import type { NetworkParameters } from '../parameters.js'
import { MULTIPLES, writeKindScores } from './error-features.js'

/** What the logarithms of throughput and power are uncertain by where a fit says nothing of it. */
const UNKNOWN_SD = 0.3
/** No standard deviation is believed to be smaller: equations are not exact. */
const LEAST_SD = 1e-3

/** Quantities that have a calibration. */
export const QUANTITIES = 3
/** Scores of each quantity come first, then variances by memory clock. */
export const SCORES: number = QUANTITIES * MULTIPLES

/** Numbers that a kind of tenant takes. */
export function uncertaintyStride(memClocks: number): number {
  return SCORES + memClocks * 2 * TENANT_NODES
}

/**
 * What of a kind of tenant a posterior needs: its part of the score of each quantity's errors, and of both speed and power the
 * variance at every node of the tenants.
 *
 * @param weights of each quantity's calibration, as `weightsOf` has them; none where scores are not asked for
 */
export function writeKindUncertainty(
  { corrections }: NetworkParameters,
  network: number,
  weights: readonly Float64Array[],
  memClocksMhz: readonly number[],
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  kind: number,
): void {
  const offset = kind * uncertaintyStride(memClocksMhz.length)
  weights.forEach((own, q) => {
    writeKindScores(own, network, mpsPercent, batchSize, out, offset + q * MULTIPLES)
  })
  memClocksMhz.forEach((memClockMhz, m) => {
    const found = corrections.find((entry) => entry.memClockMhz === memClockMhz)
    const at = offset + SCORES + m * 2 * TENANT_NODES
    writeDeviations(found?.speedSd ?? [], mpsPercent, batchSize, UNKNOWN_SD, out, at)
    writeDeviations(found?.powerSd ?? [], mpsPercent, batchSize, UNKNOWN_SD, out, at + TENANT_NODES)
    for (let i = at; i < at + 2 * TENANT_NODES; i++) out[i] = Math.max(LEAST_SD, out[i]!) ** 2
  })
}

/** What the tenants of a configuration add to its posterior, whatever its clock. */
export class TenantUncertainty {
  /** Means over the tenants of the scores of their kinds. */
  readonly scores: Float64Array = new Float64Array(SCORES)
  /** Logarithms of the standard deviation of parameters and corrections, over all tenants. */
  unknownSpeed = 0
  unknownPower = 0
  /** The same as they are. */
  speedSd = 0
  powerSd = 0

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
  ): void {
    const stride = uncertaintyStride(memClocks)
    const node = SCORES + memIndex * 2 * TENANT_NODES + tenantNode[count]!
    const part = tenantNodePart[count]!
    const each = 1 / count
    // Written out: a loop over nine numbers for each tenant took a tenth of a prediction.
    let s0 = 0
    let s1 = 0
    let s2 = 0
    let s3 = 0
    let s4 = 0
    let s5 = 0
    let s6 = 0
    let s7 = 0
    let s8 = 0
    let speed = 0
    let power = 0
    for (let i = 0; i < count; i++) {
      const offset = (kinds[i]! / kindStride) * stride
      s0 += uncertainty[offset]!
      s1 += uncertainty[offset + 1]!
      s2 += uncertainty[offset + 2]!
      s3 += uncertainty[offset + 3]!
      s4 += uncertainty[offset + 4]!
      s5 += uncertainty[offset + 5]!
      s6 += uncertainty[offset + 6]!
      s7 += uncertainty[offset + 7]!
      s8 += uncertainty[offset + 8]!
      const at = offset + node
      speed += uncertainty[at]! + part * (uncertainty[at + 1]! - uncertainty[at]!)
      const of = at + TENANT_NODES
      power += uncertainty[of]! + part * (uncertainty[of + 1]! - uncertainty[of]!)
    }
    const { scores } = this
    scores[0] = each * s0
    scores[1] = each * s1
    scores[2] = each * s2
    scores[3] = each * s3
    scores[4] = each * s4
    scores[5] = each * s5
    scores[6] = each * s6
    scores[7] = each * s7
    scores[8] = each * s8
    this.speedSd = Math.sqrt(speed * each)
    this.powerSd = Math.sqrt(power * each)
    this.unknownSpeed = Math.log(this.speedSd)
    this.unknownPower = Math.log(this.powerSd)
  }
}
