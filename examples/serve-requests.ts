import path from 'node:path'
import { SimulatedGpu } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { fixedCap, type Service, systemClock, type Tenant, unaccountedRequests } from '@pctodl/platform'
import { runPolicy, ServicesPolicy } from '@pctodl/scheduler'
import { type BatchTimes, InferencePool, RequestDesk, syntheticImages, timedWorker } from '@pctodl/tenants'
import { poissonArrivals, serviceReport } from '@pctodl/traffic'

/**
 * Real processes answer the requests of two services in real time, under the same policy as simulated services. Needs
 * no GPU: the board's clocks and power are simulated, and the processes only wait for the batch times that the
 * predictor gives. With a board, use `openReal` of `@pctodl/backend` and its workers instead.
 *
 *   npx tsx --conditions=@pctodl/source examples/serve-requests.ts [folder] [seconds]
 */

const folder = process.argv[2] ?? path.join(import.meta.dirname, 'out')
const seconds = Number(process.argv[3] ?? 20)
const board = 'A100'
const powerCapW = 150
const model = loadPerfModel(board)

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 150 },
  weight: 2,
  maxBatchSize: 8,
  maxQueueDelayMs: 5,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2', objective: { p99Ms: 250 }, weight: 1 }
const expectedPerS = { search: 60, photos: 40 }

/** Batch time of the network with this share at a medium clock: a part per batch, and a part per sample. */
function batchTimes({ model: network, mpsPercent, batchSize }: Tenant): BatchTimes {
  const batchMs = (size: number) => {
    const alone = { model: network, mpsPercent, batchSize: size }
    return (1000 * size) / model.predict({ tenants: [alone], smClockMhz: 1005, memClockMhz: 1215 }).throughput
  }
  const perSampleMs = (batchMs(batchSize) - batchMs(1)) / Math.max(1, batchSize - 1)
  return { baseMs: Math.max(0, batchMs(1) - perSampleMs), perSampleMs }
}

const desk = new RequestDesk({
  trafficOf: ({ name, objective }) => ({
    arrivals: poissonArrivals({ ratePerS: expectedPerS[name as keyof typeof expectedPerS] }).start(name.length),
    shedAfterMs: objective.p99Ms,
  }),
})
const images = await syntheticImages({ folder, count: 1 })
const pool = new InferencePool({ worker: timedWorker({ batchTimes }), images, desk })
const events: string[] = []
let begun = desk.counters()
try {
  await runPolicy({
    gpu: new SimulatedGpu(board, { clock: systemClock }),
    pool,
    clock: systemClock,
    policy: new ServicesPolicy({ model, services: [search, photos], expectedPerS }),
    caps: fixedCap(powerCapW),
    iterations: seconds,
    windowMs: 1000,
    services: { desk, steps: [{ atMs: 0, services: [search, photos] }] },
    onEvent: (event) => {
      if (event.type === 'tenant')
        events.push(`${event.tenant.service} ${event.tenant.mpsPercent} % x ${event.tenant.batchSize}: ${event.state}`)
    },
    // Processes load during the first half of the time.
    onWindow: ({ iteration }) => {
      if (iteration === Math.floor(seconds / 2)) begun = desk.counters()
    },
  })
} finally {
  desk.close()
  await pool.stop()
}
console.log(`tenants: ${[...new Set(events)].join('; ')}`)
console.log('service  arrived/s  in time  p50 ms  p99 ms  objective  shed  failed  unaccounted')
for (const service of [search, photos]) {
  const earlier = begun.find((counters) => counters.service === service.name)!
  const later = desk.departed.find((counters) => counters.service === service.name)!
  const { arrivalsPerS, attainment, p50Ms, p99Ms, shed, failed } = serviceReport(service, earlier, later)
  const cells = [
    service.name.padEnd(7),
    arrivalsPerS.toFixed(1).padStart(9),
    `${(100 * (attainment ?? 0)).toFixed(1)} %`.padStart(7),
    (p50Ms ?? Number.NaN).toFixed(1).padStart(6),
    (p99Ms ?? Number.NaN).toFixed(1).padStart(6),
    String(service.objective.p99Ms).padStart(9),
    String(shed).padStart(4),
    String(failed).padStart(6),
    String(unaccountedRequests(later)).padStart(11),
  ]
  console.log(cells.join('  '))
}
