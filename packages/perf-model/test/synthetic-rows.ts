import { SeededRandom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import { smClocksAt, type Tenant, type TraceRow } from '@pctodl/platform'

export const measuredNetworks: readonly string[] = ['mobilenet_v2', 'resnet50']

/** Rows as a profiler would measure them on a board that obeys the model, with 1 % of noise on throughput and 0.5 % on power. */
export function measuredRows(
  truth: PerfModel,
  seed: number,
  count: number,
  networks: readonly string[] = measuredNetworks,
): TraceRow[] {
  const random = new SeededRandom(seed)
  const memClockMhz = truth.memClocksMhz[0]!
  const clocks = smClocksAt(truth.spec, memClockMhz)!
  return Array.from({ length: count }, () => {
    const size = 1 + random.integer(5)
    const like = random.uniform() < 0.6
    const draw = (): Tenant => ({
      model: networks[random.integer(networks.length)]!,
      mpsPercent: 5 * (1 + random.integer(Math.floor(20 / size))),
      batchSize: [1, 4, 8, 16, 32, 64, 128, 256][random.integer(8)]!,
    })
    const first = draw()
    const tenants = Array.from({ length: size }, () => (like ? first : draw()))
    const smClockMhz = clocks[random.integer(clocks.length)]!
    const prediction = truth.predict({ tenants, smClockMhz, memClockMhz })
    const noise = 1 + 0.01 * random.normal()
    return {
      tenants,
      targetSmClockMhz: smClockMhz,
      memClockMhz,
      smClockMhz,
      smUtilPercent: prediction.smUtilPercent,
      memUtilPercent: prediction.memUtilPercent,
      throughput: prediction.throughput * noise,
      powerAverageW: prediction.powerW * (1 + 0.005 * random.normal()),
      powerMaxW: prediction.powerW,
      tenantThroughput: prediction.tenants.map((tenant) => tenant.throughput * noise),
      tenantLatencyMs: prediction.tenants.map((tenant) => tenant.latencyMs / noise),
      memoryUsedBytes: 500 * 1024 ** 2 + tenants.reduce((sum, tenant) => sum + truth.memoryBytes(tenant), 0),
      failed: false,
    }
  })
}
