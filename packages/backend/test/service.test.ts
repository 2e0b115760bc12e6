import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Tenant } from '@pctodl/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  eventually,
  everything,
  missingCompiler,
  type Node,
  NodeService,
  startNode,
} from '../../node-service/test/node-host.js'
import { openBackend } from '../src/index.js'
import { bundleHostWorker } from './bundle-host-worker.js'

const ownUid = process.geteuid?.() ?? 0

describe.skipIf(missingCompiler)(`a board of the node service (${missingCompiler ?? 'simulated host'})`, () => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'pctodl-backend-service-'))
  const before = { ...process.env }
  let node: Node
  let service: NodeService

  beforeAll(async () => {
    await bundleHostWorker(scratch)
    node = await startNode({ privilege: 'everyone' })
    node.allow(everything([ownUid]))
    service = await NodeService.start(node.options)
    mkdirSync(path.join(scratch, 'mps'), { mode: 0o700 })
    Object.assign(process.env, {
      PCTODL_SERVICE_SOCKET: node.options.socket,
      PCTODL_MPS_DIR: path.join(scratch, 'mps'),
      LD_LIBRARY_PATH: path.dirname(node.libraryPath),
    })
  })
  afterAll(async () => {
    await service?.close()
    await node?.stop()
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
  })

  const tenants: readonly Tenant[] = [40, 50].map((mpsPercent) => ({ model: 'mobilenet_v2', mpsPercent, batchSize: 8 }))
  const lease = () => service.status().boards[0]!.lease

  it('gets its tenants onto the service’s MPS, once for each lease', async () => {
    const said: string[] = []
    const worker = `${process.execPath} ${path.join(scratch, 'host-worker.cjs')}`
    const backend = await openBackend({
      kind: 'nvml',
      gpu: '0',
      real: { worker, cacheFolder: path.join(scratch, 'cache'), onMessage: (text) => void said.push(text) },
    })
    try {
      expect(backend.description).toMatch(/MPS, .*, changed through the node service$/)
      for (let round = 1; round <= 2; round++) {
        const held = await backend.gpu.acquire()
        await backend.tenants.apply(tenants)
        expect(lease()).toMatchObject({ uid: ownUid, mps: true })
        expect(backend.tenants.counters().map(({ state }) => state)).toEqual(['running', 'running'])
        const { processes, tenants: where } = backend.occupancy!()
        expect(processes.every(({ isOurs }) => isOurs)).toBe(true)
        expect(where.map(({ isOnBoard }) => isOnBoard)).toEqual([true, true])
        await backend.tenants.stop()
        await held.release()
        expect(lease()).toBeNull()
        expect(said.filter((text) => text === "MPS: the node service's daemon")).toHaveLength(round)
      }
      expect(readdirSync(node.options.mpsFolder)).toEqual([])
      // None of its own was needed.
      expect(readdirSync(path.join(scratch, 'mps'))).toEqual([])

      // Whom the policy gives no MPS has one of its own, and is told.
      node.allow({ ...everything([ownUid]), mps: false })
      const held = await backend.gpu.acquire()
      await backend.tenants.apply(tenants)
      expect(lease()).toMatchObject({ mps: false })
      expect(said).toContainEqual(expect.stringMatching(/^MPS: .*may not have MPS/))
      expect(readdirSync(path.join(scratch, 'mps'))).toHaveLength(1)
      await backend.tenants.stop()
      await held.release()
    } finally {
      await backend.close()
    }
    await eventually(() => node.devices[0]!.computeProcesses().length === 0, 'nobody is left on the board')
  })
})
