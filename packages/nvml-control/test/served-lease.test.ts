import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { findGpuSpec } from '@pctodl/platform'
import { afterEach, describe, expect, it } from 'vitest'
import { InstanceLease, ServiceLease } from '../src/index.js'

const found = { powerLimitW: 250, computeMode: 'default', persistence: true, smClockLock: null, memClockLock: null }
const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

interface TestService {
  readonly socket: string
  readonly asked: readonly string[]
  /** Say to everybody who is connected. */
  tell(message: object): void
}

/** A service that speaks one version and gives every lease. */
async function service(version: number): Promise<TestService> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-service-'))
  const connected = new Set<Socket>()
  const asked: string[] = []
  const server: Server = createServer((connection) => {
    connected.add(connection)
    connection.on('close', () => connected.delete(connection))
    connection.on('data', (chunk) => {
      for (const line of String(chunk).trim().split('\n')) {
        const { id, body } = JSON.parse(line)
        asked.push(`${body.type} ${body.board ?? ''}`.trim())
        const result =
          body.type === 'hello' ? { version, service: 'test', boards: [] } : body.type === 'acquire' ? { found } : null
        connection.write(`${JSON.stringify({ id, result })}\n`)
      }
    })
  })
  const socket = path.join(folder, 'service.sock')
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  open.push(() => {
    for (const connection of connected) connection.destroy()
    server.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    socket,
    asked,
    tell(message) {
      for (const connection of connected) connection.write(`${JSON.stringify(message)}\n`)
    },
  }
}

describe('a lease from the node service', () => {
  it('is held until it is released, once, and then asks for nothing more', async () => {
    const { socket, asked } = await service(3)
    const lease = await InstanceLease.acquire('MIG-1', { socket })
    expect(lease.isHeld).toBe(true)
    await lease.verifyMpsClient(7)
    const releasing = lease.release()
    expect(lease.isHeld).toBe(false)
    expect(lease.release()).toBe(releasing)
    await releasing
    await expect(lease.verifyMpsClient(7)).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    expect(asked).toEqual(['hello', 'acquire MIG-1', 'mps-verify MIG-1', 'release MIG-1'])
  })

  it('that the service has ended is not held, says why, and is not released a second time', async () => {
    const { socket, asked, tell } = await service(3)
    const lease = await InstanceLease.acquire('MIG-1', { socket })
    tell({ event: 'lease-ended', board: 'MIG-1', reason: 'the operator ended it' })
    await expect.poll(() => lease.isHeld).toBe(false)
    await expect(lease.verifyMpsClient(7)).rejects.toMatchObject({
      code: 'LEASE_RELEASED',
      message: expect.stringMatching(/MIG-1: the operator ended it/),
    })
    await lease.release()
    expect(asked).toEqual(['hello', 'acquire MIG-1'])
  })

  it('leaves power limits to the policy, and says which ones no policy allows', async () => {
    const { socket, asked } = await service(3)
    const lease = await ServiceLease.acquire({ uuid: 'GPU-1', subject: 'GPU 0', spec: findGpuSpec('A100') }, { socket })
    await lease.setPowerLimit(1)
    for (const powerLimitW of [0, -5, Number.NaN])
      await expect(lease.setPowerLimit(powerLimitW)).rejects.toThrow(`got ${powerLimitW}, expected a limit above 0 W`)
    await lease.release()
    expect(asked).toEqual(['hello', 'acquire GPU-1', 'change GPU-1', 'release GPU-1'])
  })

  it('is refused by a service of another version', async () => {
    const { socket, asked } = await service(4)
    await expect(InstanceLease.acquire('MIG-1', { socket })).rejects.toMatchObject({ code: 'SERVICE_PROTOCOL' })
    expect(asked).toEqual(['hello'])
  })
})
