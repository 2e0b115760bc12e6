import { MAX_BATCH_SIZE, type Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'

/** Clocks to lock, MHz. */
export interface ClockPlan {
  readonly memClockMhz: number
  readonly smClockMhz: number
}

/**
 * The clocks at which given tenants have the highest predicted throughput under a cap: the best pair of a memory clock
 * and the highest SM clock there that holds the cap. If no pair holds it, the lowest of both.
 *
 * @param anyTenants a batch larger than predictors know counts as the largest that they do: power has long levelled off there
 * @param powerCapW W
 * @param memClocksMhz to choose from. Default: all that the predictor knows
 */
export function planClocks(
  predictor: Predictor,
  anyTenants: readonly Tenant[],
  powerCapW: number,
  memClocksMhz: readonly number[] = predictor.memClocksMhz,
): ClockPlan {
  const tenants = anyTenants.map((tenant) => ({ ...tenant, batchSize: Math.min(MAX_BATCH_SIZE, tenant.batchSize) }))
  let best: (ClockPlan & { readonly throughput: number }) | undefined
  for (const memClockMhz of memClocksMhz) {
    const smClockMhz = predictor.solveSmClock(tenants, memClockMhz, powerCapW)
    if (smClockMhz === undefined) continue
    const { throughput } = predictor.predict({ tenants, smClockMhz, memClockMhz })
    if (best === undefined || throughput > best.throughput) best = { memClockMhz, smClockMhz, throughput }
  }
  if (best) return { memClockMhz: best.memClockMhz, smClockMhz: best.smClockMhz }
  const lowest = Math.min(...memClocksMhz)
  return { memClockMhz: lowest, smClockMhz: Math.min(...smClocksAt(predictor.spec, lowest)!) }
}
