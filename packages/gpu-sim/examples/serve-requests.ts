import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Service, VirtualClock } from '@pctodl/platform'
import { gammaArrivals, poissonArrivals, serviceReport } from '@pctodl/traffic'

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 5,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2', objective: { p99Ms: 100 } }

const clock = new VirtualClock()
const gpu = new SimulatedGpu('A100', { clock, seed: 7 })
const services = gpu.serve([
  { service: search, arrivals: poissonArrivals({ ratePerS: 300 }).start(1) },
  { service: photos, arrivals: gammaArrivals({ ratePerS: 200, burstiness: 4 }).start(2) },
])
const pool = new SimulatedTenants(gpu)
await pool.apply([
  { model: 'resnet50', mpsPercent: 60, batchSize: 16, service: 'search' },
  { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 16, service: 'photos' },
])
await clock.sleep(5000) // what came while the processes loaded is answered by then
const before = services.counters()
await clock.sleep(60_000)
services.counters().forEach((counters, i) => {
  const { service, arrivalsPerS, p99Ms, attainment } = serviceReport({ name: counters.service }, before[i]!, counters)
  console.log(
    `${service}: ${arrivalsPerS.toFixed(0)}/s, p99 ${p99Ms!.toFixed(0)} ms, ${(100 * attainment!).toFixed(1)} % in time`,
  )
})
await pool.stop()
