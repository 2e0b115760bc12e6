import { assertRunning, InferencePool, onnxWorker, syntheticImages, type WorkerKind } from '@pctodl/tenants'

/** Runs two networks on one machine at the same time, and returns the speed of each. */
export async function measureTwo(
  cacheFolder: string,
  worker: WorkerKind = onnxWorker({ device: 'cpu' }),
): Promise<string[]> {
  const images = await syntheticImages({ folder: cacheFolder })
  const pool = new InferencePool({ worker, images })
  try {
    await pool.apply([
      { model: 'mobilenet_v2', mpsPercent: 50, batchSize: 4 },
      { model: 'resnet50', mpsPercent: 50, batchSize: 1 },
    ])
    assertRunning(pool)
    const { tenants } = await pool.measure(3000)
    return tenants.map(
      ({ tenant, throughput, latencyP95Ms }) =>
        `${tenant.model}: ${throughput?.toFixed(1) ?? 'unknown'} samples/s, 95 % of the batches within ${latencyP95Ms.toFixed(0)} ms`,
    )
  } finally {
    await pool.stop()
  }
}
