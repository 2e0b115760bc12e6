import { SeededRandom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, smClocksAt, type Tenant, type TraceRow } from '@pctodl/platform'

/** One to six tenants, alike or of several networks, at any clocks of a board, that fit into its memory. */
export function randomConfigurations(
  model: PerfModel,
  count: number,
  seed: number,
  networks: readonly string[] = model.networks,
): Configuration[] {
  const random = new SeededRandom(seed)
  const one = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const draw = (): Configuration => {
    const size = 1 + random.integer(6)
    const alike = random.uniform() < 0.5
    const tenant = (): Tenant => ({
      model: one(networks),
      mpsPercent: 5 * (1 + random.integer(Math.floor(20 / size))),
      batchSize: one([1, 4, 8, 16, 32, 64, 128, 256]),
    })
    const first = tenant()
    const memClockMhz = one(model.memClocksMhz)
    const tenants = Array.from({ length: size }, () => (alike ? first : tenant()))
    return { tenants, memClockMhz, smClockMhz: one(smClocksAt(model.spec, memClockMhz)!) }
  }
  const fits = ({ tenants }: Configuration) =>
    tenants.reduce((sum, tenant) => sum + model.memoryBytes(tenant), 0) < 0.9 * model.spec.memoryBytes
  const found: Configuration[] = []
  while (found.length < count) {
    const drawn = draw()
    if (fits(drawn)) found.push(drawn)
  }
  return found
}

export const crowds = ['alone', 'alike', 'mixed', 'crowded'] as const

/** Configurations of one kind: a tenant alone, tenants that are alike, of several networks, or ten to twenty small ones. */
export function crowdOf(model: PerfModel, kind: (typeof crowds)[number], count: number, seed: number): Configuration[] {
  if (kind !== 'crowded') {
    const isOfKind = ({ tenants }: Configuration) => {
      if (kind === 'alone') return tenants.length === 1
      const alike = tenants.every((tenant) => tenant === tenants[0])
      return tenants.length > 1 && (kind === 'alike') === alike
    }
    return randomConfigurations(model, 8 * count, seed)
      .filter(isOfKind)
      .slice(0, count)
  }
  const random = new SeededRandom(seed)
  return randomConfigurations(model, count, seed).map((configuration) => ({
    ...configuration,
    tenants: Array.from({ length: 10 + random.integer(11) }, () => ({
      ...configuration.tenants[random.integer(configuration.tenants.length)]!,
      mpsPercent: 5,
      batchSize: [1, 2, 4, 8][random.integer(4)]!,
    })),
  }))
}

/** Rows as a profiler would measure them on a board that does what a model says, but for a factor on power and on throughput. */
export function rowsOf(
  model: PerfModel,
  configurations: readonly Configuration[],
  {
    faster = 1,
    hungrier = 1,
    noise = 0.005,
    seed = 1,
  }: { readonly faster?: number; readonly hungrier?: number; readonly noise?: number; readonly seed?: number } = {},
): TraceRow[] {
  const random = new SeededRandom(seed)
  return configurations.map(({ tenants, smClockMhz, memClockMhz }) => {
    const { throughput, powerW, smUtilPercent, memUtilPercent, ...said } = model.predict({
      tenants,
      smClockMhz,
      memClockMhz,
    })
    const speed = faster * (1 + noise * random.normal())
    return {
      tenants,
      targetSmClockMhz: smClockMhz,
      smClockMhz,
      memClockMhz,
      smUtilPercent,
      memUtilPercent,
      throughput: throughput * speed,
      powerAverageW: powerW * hungrier * (1 + 0.5 * noise * random.normal()),
      powerMaxW: powerW * hungrier,
      tenantThroughput: said.tenants.map((tenant) => tenant.throughput * speed),
      tenantLatencyMs: said.tenants.map((tenant) => tenant.latencyMs / speed),
      memoryUsedBytes: 500 * 1024 ** 2 + tenants.reduce((sum, tenant) => sum + model.memoryBytes(tenant), 0),
      failed: false,
    }
  })
}
