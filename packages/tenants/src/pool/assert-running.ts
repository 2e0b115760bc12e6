import { PctodlError, type TenantPool } from '@pctodl/platform'

/**
 * Checks that all tenants run.
 * @throws PctodlError `TENANTS_FAILED` naming every failed or stalled tenant
 */
export function assertRunning(pool: TenantPool): void {
  const failed = pool.counters().filter(({ state }) => state === 'failed' || state === 'stalled')
  if (failed.length === 0) return
  const list = failed.map(({ tenant, failure }) => `${tenant.model} (${tenant.mpsPercent} %): ${failure}`)
  throw new PctodlError('TENANTS_FAILED', list.join('; '))
}
