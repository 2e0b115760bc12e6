import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError, type Tenant } from '@pctodl/platform'

/** Of every hundred samples that are asked for together, how many are of each network: any positive numbers, by network. */
export type LoadMix = Readonly<Record<string, number>>

/**
 * Samples/s that are served of a mix: as many as the network that lags behind lets through, in the asked proportions. What
 * another network does beyond its part serves nobody.
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
 * A predictor whose throughput is that of a mix: searches and controllers that use it plan for the load that all networks
 * carry together. Tenants' own figures stay what they are. While some networks have no tenant yet, the mix is of the others, so
 * that a search that adds tenants one by one has something to go by.
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
