import { PctodlError, type TenantPool } from '@pctodl/platform'

/** @throws PctodlError `TENANTS_FAILED` naming every tenant that has failed or stalled */
export function assertRunning(pool: TenantPool): void {
  const failed = pool.counters().filter(({ state }) => state === 'failed' || state === 'stalled')
  if (failed.length === 0) return
  const list = failed.map(({ tenant, failure }) => `${tenant.model} (${tenant.mpsPercent} %): ${failure}`)
  throw new PctodlError('TENANTS_FAILED', list.join('; '))
}
