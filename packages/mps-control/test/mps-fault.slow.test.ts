import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MpsDaemon } from '../src/index.js'
import { type MpsHost, missingCompiler, startMpsHost, type Worker } from './mps-host.js'

describe.skipIf(missingCompiler)(`a fatal fault of a client${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: MpsHost
  let mps: MpsDaemon
  let client: Worker | undefined

  beforeAll(async () => {
    host = await startMpsHost()
    mps = new MpsDaemon({ directory: path.join(host.folder, 'mps') })
  })
  afterAll(async () => {
    client?.thaw()
    client?.end()
    await client?.ended
    await mps.stop({ graceMs: 1000 })
    await host?.stop()
  })

  /** A client that does not notice a fault, and so does not leave. */
  async function frozenClient(): Promise<Worker> {
    const worker = host.worker(mps.clientEnvironment(50))
    client = worker
    await mps.verifyClient(worker.pid)
    worker.freeze()
    return worker
  }

  it('is seen, keeps the server in FAULT until its clients have left, and is recovered from', async () => {
    await mps.start()
    const worker = await frozenClient()
    await host.strike({ kind: 'mps-server-fault', atMs: 0 })
    await expect.poll(async () => (await mps.status()).state, { interval: 200 }).toBe('fault')
    expect((await mps.status()).reason).toMatch(/MPS server \d+ is in FAULT with 1 clients/)
    await expect(mps.assertHealthy()).rejects.toMatchObject({ code: 'MPS_FAULT', message: /pctodl mps stop/ })
    await expect(mps.recover({ graceMs: 50 })).rejects.toMatchObject({
      code: 'MPS_FAULT',
      message: new RegExp(String(worker.pid)),
    })
    worker.thaw()
    await mps.recover()
    expect(await worker.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('CUDA error 719') })
    expect(await mps.status()).toMatchObject({ state: 'active', servers: [{ status: 'ACTIVE', clients: [] }] })
  })
})
