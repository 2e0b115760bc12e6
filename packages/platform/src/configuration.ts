import { InvalidInputError } from './errors.js'

/** One inference process: a network, its MPS active thread percentage (0 < share <= 100) and its batch size. */
export interface Tenant {
  readonly model: string
  readonly mpsPercent: number
  /** Number of samples in a batch; the maximum number if the tenant serves a service. */
  readonly batchSize: number
  /** Name of the service whose requests the tenant answers. If absent, the tenant runs batch after batch. */
  readonly service?: string
}

/** The locked clocks of a board, MHz. */
export interface OperatingPoint {
  readonly smClockMhz: number
  readonly memClockMhz: number
}

/** Tenants and clocks: all settings that determine the throughput and power of a board. */
export interface Configuration extends OperatingPoint {
  readonly tenants: readonly Tenant[]
}

/** Maximum number of clients of one MPS server on Volta and later GPUs. */
export const MAX_MPS_CLIENTS = 48

/**
 * Validates a list of tenants where the library receives it, so that later code can trust it.
 *
 * @param oversubscribe whether shares may sum to more than 100 % (tenants then time-slice the SMs that overlap)
 * @throws InvalidInputError naming the tenant and the field
 */
export function assertTenants(
  tenants: readonly Tenant[],
  { oversubscribe = false }: { readonly oversubscribe?: boolean } = {},
): void {
  if (!Array.isArray(tenants) || tenants.length === 0) {
    throw new InvalidInputError('tenants', tenants, 'a list of at least one tenant')
  }
  if (tenants.length > MAX_MPS_CLIENTS) {
    throw new InvalidInputError('tenants', tenants.length, `at most ${MAX_MPS_CLIENTS}, the MPS client limit`)
  }
  let sum = 0
  for (const [i, tenant] of tenants.entries()) {
    if (typeof tenant !== 'object' || tenant === null) {
      throw new InvalidInputError(`tenants[${i}]`, tenant, '{ model, mpsPercent, batchSize }')
    }
    if (!(typeof tenant.mpsPercent === 'number' && tenant.mpsPercent > 0 && tenant.mpsPercent <= 100)) {
      throw new InvalidInputError(`tenants[${i}].mpsPercent`, tenant.mpsPercent, 'a share above 0 and at most 100')
    }
    if (!Number.isInteger(tenant.batchSize) || tenant.batchSize < 1) {
      throw new InvalidInputError(`tenants[${i}].batchSize`, tenant.batchSize, 'an integer of at least 1')
    }
    if (typeof tenant.model !== 'string' || tenant.model === '') {
      throw new InvalidInputError(`tenants[${i}].model`, tenant.model, 'the name of a network')
    }
    if (tenant.service !== undefined && (typeof tenant.service !== 'string' || tenant.service === '')) {
      throw new InvalidInputError(`tenants[${i}].service`, tenant.service, 'the name of a service, or none')
    }
    sum += tenant.mpsPercent
  }
  if (!oversubscribe && sum > 100 + 1e-9) {
    throw new InvalidInputError('sum of tenants[].mpsPercent', sum, 'at most 100, or oversubscribe: true')
  }
}

/**
 * Whether one process can run as tenant `a` and then as tenant `b` without a restart. MPS reads the share only when a
 * process starts, so only batch size and service may differ.
 */
export function sameProcess(a: Tenant, b: Tenant): boolean {
  return a.model === b.model && a.mpsPercent === b.mpsPercent
}
