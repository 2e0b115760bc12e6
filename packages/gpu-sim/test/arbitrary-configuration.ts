import { type Configuration, findGpuSpec, networkNames, smClocksAt, type Tenant } from '@pctodl/platform'
import fc from 'fast-check'

const batchSize = fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128, 256)

/** Tenants whose shares sum to at most 100 %. */
export const arbitraryTenants = (maxTenants: number): fc.Arbitrary<Tenant[]> =>
  fc
    .array(fc.record({ model: fc.constantFrom(...networkNames), units: fc.integer({ min: 1, max: 20 }), batchSize }), {
      minLength: 1,
      maxLength: maxTenants,
    })
    .map((drawn) => {
      let free = 20
      const tenants: Tenant[] = []
      for (const { model, units, batchSize: batch } of drawn) {
        const share = Math.min(units, free)
        if (share === 0) break
        free -= share
        tenants.push({ model, mpsPercent: share * 5, batchSize: batch })
      }
      return tenants
    })

export const arbitraryConfiguration = (board: string, maxTenants = 6): fc.Arbitrary<Configuration> => {
  const spec = findGpuSpec(board)
  return fc.record({
    tenants: arbitraryTenants(maxTenants),
    memClockMhz: fc.constantFrom(...spec.performanceMemClocksMhz),
    smClockMhz: fc.constantFrom(...smClocksAt(spec, spec.performanceMemClocksMhz[0]!)!),
  })
}

/** As many tenants as drawn, all like the first but of this network; their shares sum to at most 100 %. */
export const alike = (configuration: Configuration, model: string): Configuration => {
  const [first, ...others] = configuration.tenants
  const mpsPercent = Math.min(first!.mpsPercent, 100 / (1 + others.length))
  return { ...configuration, tenants: configuration.tenants.map(() => ({ ...first!, model, mpsPercent })) }
}
