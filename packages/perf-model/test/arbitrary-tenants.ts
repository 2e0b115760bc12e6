import type { PerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import fc from 'fast-check'

/** Up to 20 tenants of any networks of a model whose shares, multiples of 5, sum to at most `total`. */
export function arbitraryTenants(model: PerfModel, total = 100): fc.Arbitrary<Tenant[]> {
  const tenant = fc.record({
    model: fc.constantFrom(...model.networks),
    mpsPercent: fc.integer({ min: 1, max: 20 }).map((n) => 5 * n),
    batchSize: fc.oneof(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 256 })),
  })
  return fc.array(tenant, { minLength: 1, maxLength: 20 }).map((drawn) => {
    const kept: Tenant[] = []
    let left = total
    for (const one of drawn) {
      const mpsPercent = Math.min(one.mpsPercent, left)
      if (mpsPercent > 0) kept.push({ ...one, mpsPercent })
      left -= mpsPercent
    }
    return kept
  })
}
