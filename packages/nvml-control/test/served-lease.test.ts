import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { acquireServed } from '../src/service/served-lease.js'

const found = { powerLimitW: 250, computeMode: 'default', persistence: true, smClockLock: null, memClockLock: null }
const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** A service that speaks one version and gives every lease. */
async function service(version: number): Promise<{ readonly socket: string; readonly asked: readonly string[] }> {
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
        const result = body.type === 'hello' ? { version, service: 'test', boards: [] } : { found }
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
  return { socket, asked }
}

describe('a lease from the node service', () => {
  it('is one of a whole board from every release of it', async () => {
    for (const version of [1, 2]) {
      const { socket, asked } = await service(version)
      const lease = await acquireServed('GPU-1', { socket })
      expect(lease.found).toMatchObject({ powerLimitW: 250 })
      expect(asked).toEqual(['hello', 'acquire GPU-1'])
      lease.client.close()
    }
  })

  it('is one of a MIG instance from the second release on', async () => {
    const { socket } = await service(2)
    const lease = await acquireServed('MIG-1', { socket })
    lease.client.close()
    const old = await service(1)
    await expect(acquireServed('MIG-1', { socket: old.socket })).rejects.toMatchObject({ code: 'SERVICE_PROTOCOL' })
    expect(old.asked).toEqual(['hello'])
  })
})
