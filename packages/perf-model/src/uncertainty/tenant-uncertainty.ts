import { TENANT_NODES } from '../correction-grid.js'
import { tenantNode, tenantNodePart, writeDeviations } from '../corrections.js'
import type { NetworkParameters } from '../parameters.js'
import { KIND_NUMBERS, writeKindNumbers } from './error-terms.js'

/** Standard deviation of ln(throughput) and ln(power) where the fit gives none. */
const UNKNOWN_SD = 0.3
/** Lower bound of a standard deviation: the equations are not exact. */
const MIN_SD = 1e-3

/** Numbers per kind of tenant: those of the error terms, then variances by memory clock. */
export function uncertaintyStride(memClocks: number): number {
  return KIND_NUMBERS + memClocks * 2 * TENANT_NODES
}

/**
 * Write the uncertainty numbers of a kind of tenant: those of its error terms, then the variances of speed and power at
 * every node of the tenant count.
 */
export function writeKindUncertainty(
  { corrections }: NetworkParameters,
  memClocksMhz: readonly number[],
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  kind: number,
): void {
  const offset = kind * uncertaintyStride(memClocksMhz.length)
  writeKindNumbers(mpsPercent, batchSize, out, offset)
  memClocksMhz.forEach((memClockMhz, m) => {
    const found = corrections.find((entry) => entry.memClockMhz === memClockMhz)
    const at = offset + KIND_NUMBERS + m * 2 * TENANT_NODES
    writeDeviations(found?.speedSd ?? [], mpsPercent, batchSize, UNKNOWN_SD, out, at)
    writeDeviations(found?.powerSd ?? [], mpsPercent, batchSize, UNKNOWN_SD, out, at + TENANT_NODES)
    for (let i = at; i < at + 2 * TENANT_NODES; i++) out[i] = Math.max(MIN_SD, out[i]!) ** 2
  })
}

/**
 * Standard deviations due to uncertain parameters and corrections for the tenants of a configuration, independent of
 * the clock.
 */
export class TenantUncertainty {
  speedSd = 0
  powerSd = 0

  /**
   * @param uncertainty written by `writeKindUncertainty`
   * @param kindStride difference between the entries of neighbouring kinds in `kinds`
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
    const node = KIND_NUMBERS + memIndex * 2 * TENANT_NODES + tenantNode[count]!
    const part = tenantNodePart[count]!
    let speed = 0
    let power = 0
    for (let i = 0; i < count; i++) {
      const at = (kinds[i]! / kindStride) * stride + node
      speed += uncertainty[at]! + part * (uncertainty[at + 1]! - uncertainty[at]!)
      const of = at + TENANT_NODES
      power += uncertainty[of]! + part * (uncertainty[of + 1]! - uncertainty[of]!)
    }
    const each = 1 / count
    this.speedSd = Math.sqrt(speed * each)
    this.powerSd = Math.sqrt(power * each)
  }
}
