import type { Predictor } from '@pctodl/perf-model'
import { InvalidInputError, type Tenant } from '@pctodl/platform'

/** Proportions of the networks in a mix: a positive number for each network name. */
export type LoadMix = Readonly<Record<string, number>>

/**
 * Throughput of a mix, samples/s: the highest total rate at which all networks keep the requested proportions. The
 * network with the lowest throughput relative to its proportion limits it; the surplus of the other networks does not
 * count.
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
 * Wraps a predictor so that its total throughput is the throughput of the mix (see `commonLoad`). Searches and
 * controllers then optimize the load that all networks serve together. Predictions for single tenants are unchanged.
 * Networks without a tenant are left out of the mix, so that a search can add tenants one by one.
 *
 * @throws InvalidInputError for a proportion that is not a positive number
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
    solveSmClock: (...asked) => predictor.solveSmClock(...asked),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
    ...(predictor.reservedMemoryBytes === undefined ? {} : { reservedMemoryBytes: predictor.reservedMemoryBytes }),
    ...(predictor.upperPowerW ? { upperPowerW: (...asked) => predictor.upperPowerW!(...asked) } : {}),
    ...(predictor.domain ? { domain: (configuration) => predictor.domain!(configuration) } : {}),
  }
}
