import {
  assertRunning,
  InferencePool,
  onnxWorker,
  RequestDesk,
  syntheticImages,
  type WorkerKind,
} from '@pctodl/tenants'
import { poissonArrivals, serviceReport } from '@pctodl/traffic'

/** Two instances answer the requests of a service, which come for some seconds at a rate, and what became of them. */
export async function answerRequests(
  cacheFolder: string,
  worker: WorkerKind = onnxWorker({ device: 'cpu' }),
): Promise<string> {
  const photos = {
    name: 'photos',
    model: 'mobilenet_v2',
    objective: { p99Ms: 1000 },
    weight: 1,
    maxBatchSize: 4,
    maxQueueDelayMs: 10,
  }
  const arrivals = poissonArrivals({ ratePerS: 5 }).start(1)
  const desk = new RequestDesk({ trafficOf: () => ({ arrivals, maxQueued: 100, shedAfterMs: 5000 }) })
  desk.serve([photos])
  const pool = new InferencePool({ worker, images: await syntheticImages({ folder: cacheFolder }), desk })
  try {
    const instance = { model: 'mobilenet_v2', mpsPercent: 50, batchSize: 4, service: 'photos' }
    await pool.apply([instance, instance])
    assertRunning(pool)
    const [before] = desk.counters()
    // Beside what comes of itself, anybody may ask.
    const { outcome, latencyMs } = await desk.ask('photos', { deadlineMs: 5000, signal: AbortSignal.timeout(10_000) })
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const [after] = desk.counters()
    const { arrivalsPerS, p99Ms, attainment } = serviceReport(photos, before!, after!)
    return (
      `${outcome} after ${latencyMs.toFixed(0)} ms; ${arrivalsPerS.toFixed(1)} requests/s, ` +
      `p99 ${p99Ms?.toFixed(0)} ms, ${(100 * (attainment ?? 0)).toFixed(0)} % in time`
    )
  } finally {
    desk.close()
    await pool.stop()
  }
}
