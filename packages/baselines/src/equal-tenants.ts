import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'

/**
 * Returns the untuned configuration: equal shares and one batch size, chosen for the board without regard to the cap.
 *
 * @param models a network, or several networks, each of which gets the same number of tenants
 * @param tenantCount default: 8 on boards with at least 100 SMs, otherwise 4; for several networks, the next multiple
 *   of their number
 * @throws InvalidInputError unless the count and the batch size are integers of at least 1
 */
export function equalTenants(
  spec: GpuSpec,
  models: readonly string[],
  tenantCount: number = models.length * Math.ceil((spec.smCount >= 100 ? 8 : 4) / models.length),
  batchSize = 32,
): readonly Tenant[] {
  for (const [field, value] of Object.entries({ tenantCount, batchSize })) {
    if (!Number.isInteger(value) || value < 1) throw new InvalidInputError(field, value, 'an integer of at least 1')
  }
  return Array.from({ length: tenantCount }, (_, i) => ({
    model: models[i % models.length]!,
    mpsPercent: 100 / tenantCount,
    batchSize,
  }))
}
