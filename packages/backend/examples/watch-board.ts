import { openBackend } from '@pctodl/backend'

/** Returns the power of a board on which two inference processes have run for five seconds. */
export async function watchBoard(gpu: string): Promise<string> {
  const backend = await openBackend({ kind: 'sim', gpu, seed: 7 })
  try {
    await backend.tenants.apply([
      { model: 'resnet50', mpsPercent: 60, batchSize: 32 },
      { model: 'mobilenet_v2', mpsPercent: 40, batchSize: 64 },
    ])
    await backend.clock.sleep(5000)
    const { powerAverageW, smClockMhz } = await backend.gpu.sample()
    return `${backend.description}: ${powerAverageW?.toFixed(0)} W at ${smClockMhz} MHz`
  } finally {
    await backend.close()
  }
}
