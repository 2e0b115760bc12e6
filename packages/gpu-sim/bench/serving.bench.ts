/** How fast requests are simulated: ten minutes of 5,000 requests/s over five services, in this process's own time. */
import { type Tenant, VirtualClock } from '@pctodl/platform'
import { poissonArrivals } from '@pctodl/traffic'
import { SimulatedGpu, SimulatedTenants } from '../src/index.js'

const MINUTES = 10
const models = ['resnet50', 'mobilenet_v2', 'mnasnet1_0', 'resnet50', 'mobilenet_v2']
for (const [ratePerS, instances] of [
  [5000, 1],
  [1000, 1],
  [1000, 2],
] as const) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('H100', { clock, seed: 1, host: 'device-only' })
  const services = gpu.serve(
    models.map((model, i) => ({
      service: { name: `s${i}`, model, objective: { p99Ms: 50 }, weight: 1, maxBatchSize: 32, maxQueueDelayMs: 2 },
      arrivals: poissonArrivals({ ratePerS: ratePerS / models.length }).start(i),
    })),
  )
  const tenants: Tenant[] = models.flatMap((model, i) =>
    Array.from({ length: instances }, () => ({ model, mpsPercent: 20 / instances, batchSize: 32, service: `s${i}` })),
  )
  await new SimulatedTenants(gpu).apply(tenants)
  const before = services.counters().reduce((sum, { completed }) => sum + completed, 0)
  const start = process.cpuUsage().user
  for (let i = 0; i < 10 * MINUTES; i++) {
    await clock.sleep(6000)
    gpu.catchUp()
  }
  const seconds = (process.cpuUsage().user - start) / 1e6
  const answered = services.counters().reduce((sum, { completed }) => sum + completed, 0) - before
  console.table([
    {
      'requests/s': ratePerS,
      processes: tenants.length,
      answered,
      seconds: seconds.toFixed(1),
      'us a request': ((1e6 * seconds) / answered).toFixed(2),
    },
  ])
}
