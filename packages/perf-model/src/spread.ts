import type { Mix, Spread } from './parameters.js'

export const mixes: readonly Mix[] = ['like tenants', 'unlike tenants', 'several networks']
export const tenantClasses = ['1', '2-4', '5+'] as const
export const spreadQuantities = ['throughput', 'tenant throughput', 'power'] as const

const REGIONS = mixes.length * tenantClasses.length

export function mixIndex(likeTenants: boolean, severalNetworks: boolean): number {
  return severalNetworks ? 2 : likeTenants ? 0 : 1
}

/** Region of a configuration: which mix, how many tenants. */
export function regionOf(mix: number, tenants: number): number {
  return mix * tenantClasses.length + (tenants === 1 ? 0 : tenants <= 4 ? 1 : 2)
}

/** Standard deviations of the logarithms in one array: quantity x region; NaN where the parameters have none. */
export class SpreadTable {
  readonly #sd = new Float64Array(spreadQuantities.length * REGIONS).fill(Number.NaN)

  constructor(spreads: readonly Spread[]) {
    for (const { quantity, mix, tenants, sd } of spreads) {
      const region = mixes.indexOf(mix) * tenantClasses.length + tenantClasses.indexOf(tenants)
      this.#sd[spreadQuantities.indexOf(quantity) * REGIONS + region] = sd
    }
  }

  throughput(region: number): number {
    return this.#sd[region]!
  }

  tenantThroughput(region: number): number {
    return this.#sd[REGIONS + region]!
  }

  power(region: number): number {
    return this.#sd[2 * REGIONS + region]!
  }
}
