import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError, type Tenant } from '@pctodl/platform'

/** Proportions of the networks in a mix: a positive number for each network. */
export type LoadMix = Readonly<Record<string, number>>

/**
 * Samples/s of a mix that are served: limited by the network that lags behind, in the requested proportions. A surplus
 * of another network does not count.
 *
 * @param throughputOf samples/s of each tenant
 */
export function commonLoad(
  tenants: readonly Pick<Tenant, 'model'>[],
  throughputOf: (tenant: number) => number,
  mix: LoadMix,
): number {
  const parts = Object.entries(mix)
  const whole = parts.reduce((sum, [, part]) => sum + part, 0)
  let least = Number.POSITIVE_INFINITY
  for (const [model, part] of parts) {
    let throughput = 0
    for (let i = 0; i < tenants.length; i++) if (tenants[i]!.model === model) throughput += throughputOf(i)
    least = Math.min(least, (throughput * whole) / part)
  }
  return least
}

/**
 * A predictor whose throughput is that of a mix, so that searches and controllers plan for the load that all networks
 * serve together. Figures of single tenants are unchanged. While some networks have no tenant yet, the mix consists of
 * the others, which lets a search add tenants one by one.
 *
 * @throws InvalidInputError for a part that is not a positive number
 */
export function commonLoadPredictor(predictor: Predictor, mix: LoadMix): Predictor {
  for (const [model, part] of Object.entries(mix)) {
    if (!(part > 0 && part < Number.POSITIVE_INFINITY)) {
      throw new InvalidInputError(`mix.${model}`, part, 'a positive number')
    }
  }
  return {
    spec: predictor.spec,
    memClocksMhz: predictor.memClocksMhz,
    predict: (configuration) => {
      const prediction = predictor.predict(configuration)
      const { tenants } = configuration
      const there = Object.fromEntries(
        Object.entries(mix).filter(([model]) => tenants.some((tenant) => tenant.model === model)),
      )
      const throughput = commonLoad(tenants, (i) => prediction.tenants[i]!.throughput, there)
      return { ...prediction, throughput }
    },
    solveSmClock: (tenants, memClockMhz, powerCapW) => predictor.solveSmClock(tenants, memClockMhz, powerCapW),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
    ...(predictor.reservedMemoryBytes === undefined ? {} : { reservedMemoryBytes: predictor.reservedMemoryBytes }),
    ...(predictor.domain ? { domain: (configuration) => predictor.domain!(configuration) } : {}),
  }
}
