import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { peerOf } from '../src/peer-credentials.js'

describe.skipIf(process.platform !== 'linux')('who has connected (needs Linux)', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-peer-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  /** What the kernel tells of a connection to a server that listens at some place. */
  async function peerAt(place: string | number): Promise<ReturnType<typeof peerOf>> {
    const server: Server = createServer()
    await new Promise<void>((resolve) => server.listen(place as never, () => resolve()))
    const address = server.address() as AddressInfo | string
    const client = typeof address === 'string' ? connect(address) : connect(address.port, '127.0.0.1')
    const accepted = await new Promise<Socket>((resolve) => server.once('connection', resolve))
    try {
      return peerOf(accepted)
    } finally {
      accepted.destroy()
      client.destroy()
      server.close()
    }
  }

  it('is what the kernel says: process, user, all groups', async () => {
    const { pid, uid, gid, groups } = await peerAt(path.join(folder, 'socket'))
    expect([pid, uid, gid]).toEqual([process.pid, process.geteuid!(), process.getegid!()])
    expect([...groups].sort()).toEqual([...new Set([gid, ...process.getgroups!()])].sort())
  })

  it('is nobody where the kernel does not tell: then nobody is served', async () => {
    // Of a connection over a network there are no credentials.
    await expect(peerAt(0)).rejects.toMatchObject({
      code: 'NO_CREDENTIALS',
      message: expect.stringMatching(/nothing is done for them/),
    })
    expect(() => peerOf(new Socket())).toThrow(expect.objectContaining({ code: 'NO_CREDENTIALS' }))
  })
})
