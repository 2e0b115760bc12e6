import { detectGpus, openBackend } from '@pctodl/backend'
import { describe, expect, it } from 'vitest'

const { gpus, notes } = detectGpus()

describe('openBackend', () => {
  it('gives the same readings for the same seed, and others for another', async () => {
    const read = async (seed: number) => {
      const backend = await openBackend({ kind: 'sim', gpu: 'T4', seed })
      await backend.tenants.apply([{ model: 'resnet50', mpsPercent: 100, batchSize: 8 }])
      await backend.clock.sleep(60_000)
      const { powerAverageW } = await backend.gpu.sample()
      await backend.close()
      return powerAverageW
    }
    expect(await read(1)).toBe(await read(1))
    expect(await read(1)).not.toBe(await read(2))
  })

  it('ends tenants with the back end', async () => {
    const backend = await openBackend({ kind: 'sim', gpu: 'A100' })
    await backend.tenants.apply([{ model: 'resnet50', mpsPercent: 100, batchSize: 8 }])
    await backend.close()
    expect(backend.tenants.counters()).toEqual([])
    await backend.close()
  })

  it('takes requests in where they are let come', async () => {
    const service = { name: 'photos', model: 'mobilenet_v2', objective: { p99Ms: 100 }, weight: 1 }
    let timeMs = 0
    const arrivals = {
      nextMs: () => {
        timeMs += 10
        return timeMs
      },
    }
    const backend = await openBackend({ kind: 'sim', gpu: 'A100', trafficOf: () => ({ arrivals }) })
    backend.desk!.serve([{ ...service, maxBatchSize: 8, maxQueueDelayMs: 0 }])
    await backend.tenants.apply([{ model: 'mobilenet_v2', mpsPercent: 50, batchSize: 8, service: 'photos' }])
    await backend.clock.sleep(10_000)
    const [counters] = backend.desk!.counters()
    expect(counters!.arrived).toBe(Math.floor(backend.clock.now() / 10))
    expect(counters!.completed).toBeGreaterThan(900)
    await backend.close()
    expect((await openBackend({ kind: 'sim', gpu: 'A100' })).desk).toBeUndefined()
  })

  it('knows the boards that it can simulate', async () => {
    await expect(openBackend({ kind: 'sim', gpu: 'Voodoo2' })).rejects.toThrow(
      /unknown .*'Voodoo2'; known: 3080Ti, A100/,
    )
  })

  it.skipIf(gpus.length > 0)('says why a board is simulated (needs a machine without a GPU)', async () => {
    const backend = await openBackend({ kind: 'auto', gpu: 'a100' })
    expect(backend).toMatchObject({ kind: 'sim', livesInProcess: true })
    expect(backend.description).toMatch(/^simulated NVIDIA A100.*, because no NVIDIA A100.* is in this machine \(/)
    expect(backend.description).toContain(notes[0])
    await backend.close()
  })

  it.skipIf(gpus.length > 0)(
    'simulates nothing where a real board is asked for (needs a machine without a GPU)',
    async () => {
      await expect(openBackend({ kind: 'nvml', gpu: 'A100' })).rejects.toMatchObject({ code: 'NO_BOARD' })
      await expect(openBackend({ kind: 'auto', gpu: '0' })).rejects.toThrow(
        /no board 0 .*; name a board to simulate instead: 3080Ti/,
      )
    },
  )
})

it.skipIf(gpus.length > 0)('detectGpus says why there are none (needs a machine without a GPU)', () => {
  expect(gpus).toEqual([])
  expect(notes).toEqual([expect.stringMatching(/NVIDIA driver/)])
})
