import type { Predictor } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'

/** Keep shed load this far below the cap, share of the cap: the ratio that it is judged by was measured with more tenants. */
const SHED_TARGET = 0.97

/**
 * The tenants to keep where a board draws too much and its clock cannot be changed: the most throughput whose predicted
 * power, scaled by what was measured, keeps the cap. At least one tenant stays.
 *
 * @param clocks what the board runs at
 * @param measuredW with all of `tenants`
 */
export function tenantsWithinCap(
  predictor: Predictor,
  tenants: readonly Tenant[],
  clocks: { readonly smClockMhz: number; readonly memClockMhz: number },
  measuredW: number,
  powerCapW: number,
): readonly Tenant[] {
  const ratio = measuredW / predictor.predict({ tenants, ...clocks }).powerW
  let kept = tenants
  while (kept.length > 1) {
    if (predictor.predict({ tenants: kept, ...clocks }).powerW * ratio <= SHED_TARGET * powerCapW) return kept
    // The one whose loss costs least of the others' throughput for the power it frees: the smallest leave first.
    const smallest = kept.reduce((best, { mpsPercent }, i) => (mpsPercent < kept[best]!.mpsPercent ? i : best), 0)
    kept = kept.filter((_, i) => i !== smallest)
  }
  return kept
}
