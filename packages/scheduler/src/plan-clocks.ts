import { MAX_BATCH_SIZE, type Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'

/** Clocks to lock, MHz. */
export interface ClockPlan {
  readonly memClockMhz: number
  readonly smClockMhz: number
}

/**
 * Returns the memory clock and SM clock at which given tenants have the highest predicted throughput under a cap.
 * Returns the lowest clocks if no pair holds the cap.
 *
 * @param anyTenants the tenants. Batches above the predictor's maximum are treated as the maximum, because power no
 *   longer depends on the batch size there
 * @param powerCapW power cap, W
 * @param memClocksMhz memory clocks to choose from. Default: all that the predictor knows
 * @param exceedanceProbability if given, the highest probability with which power may exceed the cap
 */
export function planClocks(
  predictor: Predictor,
  anyTenants: readonly Tenant[],
  powerCapW: number,
  memClocksMhz: readonly number[] = predictor.memClocksMhz,
  exceedanceProbability?: number,
): ClockPlan {
  const tenants = anyTenants.map((tenant) => ({ ...tenant, batchSize: Math.min(MAX_BATCH_SIZE, tenant.batchSize) }))
  let best: (ClockPlan & { readonly throughput: number }) | undefined
  for (const memClockMhz of memClocksMhz) {
    const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, powerCapW, exceedanceProbability)
    if (smClockMhz === undefined) continue
    const { throughput } = predictor.predict({ tenants, smClockMhz, memClockMhz })
    if (best === undefined || throughput > best.throughput) best = { memClockMhz, smClockMhz, throughput }
  }
  if (best) return { memClockMhz: best.memClockMhz, smClockMhz: best.smClockMhz }
  const lowest = Math.min(...memClocksMhz)
  return { memClockMhz: lowest, smClockMhz: Math.min(...smClocksAt(predictor.spec, lowest)!) }
}
