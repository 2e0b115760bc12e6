import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { openGpu, type ServiceLease } from '@pctodl/nvml-control'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Policy } from '../src/policy.js'
import {
  eventually,
  everything,
  isFree,
  missingCompiler,
  type Node,
  NodeService,
  ServiceClient,
  startNode,
} from './node-host.js'

const ownUid = process.geteuid?.() ?? 0

describe.skipIf(missingCompiler)(`the node service${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let node: Node
  let service: NodeService
  let isRunning = false
  const end = async () => {
    isRunning = false
    await service.close()
  }
  let clients: ServiceClient[]

  beforeAll(async () => {
    node = await startNode({ gpus: 3, privilege: 'everyone' })
  })
  afterAll(async () => {
    if (isRunning) await end()
    await node?.stop()
  })
  beforeEach(async () => {
    clients = []
    node.allow(everything([ownUid]))
    if (!isRunning) service = await NodeService.start(node.options)
    isRunning = true
  })
  afterEach(async () => {
    for (const client of clients) client.close()
    if (isRunning && !(await isFree(service))) await end()
    for (const device of node.devices) expect(device.powerLimitW()).toBe(350)
  })

  const open = async () => {
    const client = await ServiceClient.open({ socket: node.options.socket })
    clients.push(client)
    return client
  }
  const openBoard = (index = 0) =>
    openGpu(index, { libraryPath: node.libraryPath, serviceSocket: node.options.socket, leaseFolder: node.folder })
  const audit = () =>
    readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  it('is found, changes a board on behalf of a client, and puts it back when the lease is released', async () => {
    const gpu = await openBoard()
    expect(gpu.access).toEqual({ kind: 'service', reason: 'the node service has this board' })
    const lease = await gpu.acquire()
    expect(lease).toMatchObject({ path: 'service', found: { powerLimitW: 350, computeMode: 'default' } })
    await lease.setPowerLimit(250)
    await lease.lockMemClock(9501)
    await lease.lockSmClock({ minMhz: 210, maxMhz: 1005 })
    await lease.setComputeMode('exclusive-process')
    await lease.verify()
    expect([node.devices[0]!.powerLimitW(), node.devices[0]!.computeMode()]).toEqual([250, 'exclusive-process'])
    await expect(gpu.acquire()).rejects.toMatchObject({ code: 'LEASE_HELD', message: /of user \d+/ })
    await expect(lease.setPowerLimit(500)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: /allows 100 to 400 W/,
    })
    await lease.release()
    expect([node.devices[0]!.powerLimitW(), node.devices[0]!.computeMode()]).toEqual([350, 'default'])
    await expect(lease.setPowerLimit(250)).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    expect(audit().map(({ event }) => event)).toEqual(
      expect.arrayContaining(['service-started', 'lease-acquired', 'changed', 'refused', 'lease-ended']),
    )
    expect(statSync(path.join(node.options.stateFolder, 'audit.jsonl')).mode & 0o777).toBe(0o600)
  })

  it('is gone without: then the program does it itself, and says why', async () => {
    await end()
    const gpu = await openBoard()
    expect(gpu.access).toMatchObject({ kind: 'direct', reason: expect.stringMatching(/no node service/) })
    await expect(
      openGpu(0, { libraryPath: node.libraryPath, serviceSocket: node.options.socket, access: 'service' }),
    ).rejects.toMatchObject({ code: 'NO_SERVICE' })
  })

  it('excludes root’s own programs, and they exclude it', async () => {
    const direct = await openGpu(0, {
      libraryPath: node.libraryPath,
      access: 'direct',
      leaseFolder: path.join(node.options.stateFolder, 'leases'),
    })
    const own = await direct.acquire()
    const served = await openBoard()
    await expect(served.acquire()).rejects.toMatchObject({ code: 'LEASE_HELD' })
    await own.release()
    const lease = await served.acquire()
    await expect(direct.acquire()).rejects.toMatchObject({ code: 'LEASE_HELD' })
    await lease.release()
  })

  it('lets nobody do what the policy does not say, root neither', async () => {
    node.allow()
    const gpu = await openBoard()
    await expect(gpu.acquire()).rejects.toMatchObject({ code: 'NOT_ALLOWED', message: /no rule is for this user/ })
    node.allow({ users: [ownUid], boards: [node.devices[1]!.uuid], powerLimitW: { min: 200, max: 300 } })
    await expect(gpu.acquire()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    const second = await (await openBoard(1)).acquire()
    await second.setPowerLimit(200)
    await expect(second.setPowerLimit(199)).rejects.toMatchObject({ code: 'NOT_ALLOWED', message: /200 to 300 W/ })
    await expect(second.lockSmClock(1005)).rejects.toMatchObject({ code: 'NOT_ALLOWED', message: /no rule allows any/ })
    await expect(second.setComputeMode('prohibited')).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect(second.setPersistence(true)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect((second as ServiceLease).startMps()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    // Back to what was found, one may always.
    await second.setPowerLimit(350)
    // A rule that is taken away holds for leases that are held, too.
    node.allow()
    await expect(second.setPowerLimit(250)).rejects.toMatchObject({
      code: expect.stringMatching(/NOT_ALLOWED|LEASE_RELEASED/),
    })
    await second.release()
  })

  it('allows nothing by a policy that is not right, or in other hands', async () => {
    const { policyFile } = node.options
    const text = readFileSync(policyFile, 'utf8')
    const spoil: Record<string, () => void> = {
      'is no JSON': () => writeFileSync(policyFile, '{'),
      'has a word that is unknown': () => writeFileSync(policyFile, text.replace('"mps"', '"everything"')),
      'can be written by a group': () => chmodSync(policyFile, 0o620),
      'is not there': () => rmSync(policyFile),
      'is a link to itself': () => {
        rmSync(policyFile)
        symlinkSync(policyFile, policyFile)
      },
    }
    for (const [what, act] of Object.entries(spoil)) {
      act()
      expect(() => Policy.load(policyFile), what).toThrow(/nobody may change anything/)
      await expect((await openBoard()).acquire(), what).rejects.toMatchObject({ code: 'POLICY' })
      expect(service.status().ready, what).toBe(false)
      rmSync(policyFile, { force: true })
      node.allow(everything([ownUid]))
      expect(service.status().ready, what).toBe(true)
    }
  })

  it('leaves out a name that nobody knows, and what it alone allows; the rest is in force', async () => {
    const { uuid } = node.devices[1]!
    node.allow(everything(['nobody-at-all']), { users: ['nobody-at-all', 'root', ownUid], boards: [uuid] })
    await expect((await openBoard()).acquire()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await (await (await openBoard(1)).acquire()).release()
    expect(service.status().ready).toBe(true)
    expect(audit()).toContainEqual(
      expect.objectContaining({ event: 'policy', detail: expect.stringMatching(/nobody knows user 'nobody-at-all'/) }),
    )
  })

  describe('a client that does not keep to the protocol', () => {
    /** What comes back for what is written, until the service hangs up. */
    const tell = (text: string | Buffer) =>
      new Promise<string>((resolve) => {
        const socket = connect(node.options.socket)
        let answer = ''
        socket.on('data', (chunk) => {
          answer += chunk
        })
        socket.on('error', () => {})
        socket.once('close', () => resolve(answer))
        socket.write(text)
      })
    const hello = `${JSON.stringify({ id: 0, body: { type: 'hello', versions: [3], program: 'test' } })}\n`

    it.each([
      ['no JSON', 'hello\n', /BAD_REQUEST.*no JSON/],
      ['an unknown request', '{"id":1,"body":{"type":"shell","command":"id"}}\n', /BAD_REQUEST/],
      ['an unknown field', `${hello}{"id":1,"body":{"type":"status","as":0}}\n`, /BAD_REQUEST/],
      ['a path in place of a board', `${hello}{"id":1,"body":{"type":"acquire","board":"../../etc"}}\n`, /BAD_REQUEST/],
      ['no end of a line', Buffer.alloc(20_000, 0x61), /REQUEST_TOO_LONG/],
      ['requests that nobody can answer', hello + '{"id":1,"body":{"type":"status"}}\n'.repeat(1000), /TOO_MANY/],
    ])('is cut off after %s', async (_, text, answer) => {
      expect(await tell(text)).toMatch(answer)
      expect((await (await open()).request({ type: 'status' })).ready).toBe(true)
    })

    it('is told which versions there are, and heard only after hello', async () => {
      const socket = connect(node.options.socket)
      const answers: string[] = []
      socket.on('data', (chunk) => answers.push(...String(chunk).trim().split('\n')))
      socket.write(`${JSON.stringify({ id: 0, body: { type: 'hello', versions: [99], program: 'test' } })}\n`)
      socket.write(`${JSON.stringify({ id: 1, body: { type: 'status' } })}\n`)
      await eventually(() => answers.length === 2, 'both are answered')
      expect(answers.map((answer) => JSON.parse(answer).error.code)).toEqual(['SERVICE_PROTOCOL', 'HELLO'])
      socket.destroy()
    })

    it('is heard for as long as it likes once it has said hello', async () => {
      const patient = await open()
      await new Promise((resolve) => setTimeout(resolve, 5500))
      expect((await patient.request({ type: 'status' })).ready).toBe(true)
    })

    it('is cut off without hello', async () => {
      expect(await tell('')).toMatch(/no hello in 5000 ms/)
    })

    it('cannot take all connections', async () => {
      const many = Array.from({ length: 40 }, () => connect(node.options.socket))
      for (const socket of many) socket.on('error', () => {})
      await eventually(() => many.filter((socket) => socket.destroyed).length >= 8, 'those beyond 32 are refused')
      for (const socket of many) socket.destroy()
      await eventually(async () => (await open().catch(() => null)) !== null, 'the others are heard again')
    })
  })

  it('loses a board without losing the others, tells its holder, and puts it right when it is back', async () => {
    const [lost, other] = [await (await openBoard(0)).acquire(), await (await openBoard(1)).acquire()]
    await lost.setPowerLimit(250)
    await other.setPowerLimit(260)
    await node.call('loseBoard', 0)
    await eventually(() => service.status().boards[0]!.condition === 'lost', 'the loss is seen')
    await expect(lost.setPowerLimit(240)).rejects.toMatchObject({
      code: 'LEASE_RELEASED',
      message: /the board is lost/,
    })
    await other.setPowerLimit(270)
    expect(node.devices[1]!.powerLimitW()).toBe(270)
    expect(service.status()).toMatchObject({ ready: false, reasons: [expect.stringMatching(/GPU 0 is lost/)] })
    await node.call('findBoard', 0)
    await eventually(() => service.status().ready, 'the board is back')
    const again = await (await openBoard(0)).acquire()
    await again.setPowerLimit(250)
    await Promise.all([again.release(), other.release(), lost.release()])
    expect(audit().map(({ event }) => event)).toEqual(expect.arrayContaining(['board-lost', 'board-found']))
    expect(audit()).toContainEqual(expect.objectContaining({ event: 'board-event', detail: 'XID 79' }))
  })

  it('tells of errors that the driver notices: whose lease it was, and how many', async () => {
    const lease = await (await openBoard(1)).acquire()
    const told = () => audit().filter(({ event }) => event === 'board-event')
    // What happened before the service looked for the first time is not its own.
    const before = told().length
    await eventually(async () => {
      await node.call('raiseEvent', 1, 'xid', 13)
      return told().length > before
    }, 'the service looks')
    for (const xid of [48, 48, 63]) await node.call('raiseEvent', 1, 'xid', xid)
    await eventually(() => told().some(({ detail }) => /XID 63/.test(detail)), 'they are written down')
    expect(told().at(-1)).toMatchObject({ board: node.devices[1]!.uuid, uid: ownUid })
    expect(
      told()
        .map(({ detail }) => detail)
        .join('; '),
    ).toMatch(/XID 48.*XID 63/)
    const text = await (await fetch(`${service.url}/metrics`)).text()
    expect(text).toMatch(/^pctodl_board_events_total\{gpu="1",UUID="GPU-[^"]+",event="xid",xid="48"\} 2$/m)
    await lease.release()
  })

  it('lives through a restart of the driver', async () => {
    const lease = await (await openBoard(2)).acquire()
    await lease.setPowerLimit(250)
    await node.call('stopDriver')
    await eventually(
      () => service.status().boards.every(({ condition }) => condition === 'lost'),
      'all boards are gone',
    )
    await node.call('startDriver')
    await eventually(() => service.status().ready, 'all boards are back')
    await lease.release()
    const again = await (await openBoard(2)).acquire()
    await again.setPowerLimit(250)
    expect(node.devices[2]!.powerLimitW()).toBe(250)
    await again.release()
  })

  it('ends leases for root, as the epilog of a job does', async () => {
    const lease = await (await openBoard(0)).acquire()
    await lease.setPowerLimit(250)
    const { uuid } = node.devices[0]!
    const client = await open()
    expect(await client.request({ type: 'end-leases', uid: ownUid + 1, boards: null })).toEqual({ ended: [] })
    expect(await client.request({ type: 'end-leases', uid: null, boards: null })).toEqual({ ended: [] })
    expect(await client.request({ type: 'end-leases', uid: ownUid, boards: [uuid] })).toEqual({ ended: [uuid] })
    expect(node.devices[0]!.powerLimitW()).toBe(350)
    await expect(lease.setPowerLimit(250)).rejects.toMatchObject({ message: /the operator has ended it/ })
  })

  it('begins a new log where somebody has removed the old one', async () => {
    rmSync(path.join(node.options.stateFolder, 'audit.jsonl'))
    const lease = await (await openBoard()).acquire()
    await lease.release()
    const events = audit().map(({ event }) => event)
    expect(events.filter((event) => event !== 'policy')).toEqual(['lease-acquired', 'lease-ended'])
  })

  it('hears a holder that has spoken while the service itself was stopped', async () => {
    const talk = `
      const socket = require('net').connect(process.argv[1])
      const say = (id, body) => socket.write(JSON.stringify({ id, body }) + '\\n')
      const board = process.argv[2]
      say(0, { type: 'hello', versions: [3], program: 'talker' })
      say(1, { type: 'acquire', board, silenceMs: 1000 })
      let id = 2
      setInterval(() => say(id++, { type: 'verify', board }), 100)`
    const words = ['-e', talk, node.options.socket, node.devices[1]!.uuid]
    const talker = spawn(process.execPath, words, { stdio: 'ignore' })
    const lease = () => service.status().boards[1]!.lease
    try {
      await eventually(() => lease() !== null, 'it has a lease')
      const untilMs = performance.now() + 2000
      while (performance.now() < untilMs);
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect(lease()).toMatchObject({ program: 'talker' })
      talker.kill('SIGSTOP')
      await eventually(() => lease() === null, 'silence ends it')
      expect(audit().at(-1)).toMatchObject({ detail: 'its holder has said nothing for 1000 ms' })
    } finally {
      talker.kill('SIGKILL')
    }
  })

  it('tells Prometheus and probes what is so', async () => {
    const get = async (what: string) => {
      const response = await fetch(`${service.url}/${what}`)
      return [response.status, await response.text()] as const
    }
    const restored = async () =>
      Number(/^pctodl_node_restores_total\{outcome="ok"\} (\d+)$/m.exec((await get('metrics'))[1])?.[1] ?? 0)
    const before = await restored()
    const lease = (await (await openBoard(1)).acquire()) as ServiceLease
    await lease.setPowerLimit(250)
    const [, text] = await get('metrics')
    const at = `\\{gpu="1",UUID="${node.devices[1]!.uuid}"\\}`
    for (const [name, value] of [
      ['pctodl_board_leased', 1],
      ['pctodl_board_power_limit_watts', 250],
      ['pctodl_board_mps', 0],
    ]) {
      expect(text).toMatch(new RegExp(`^${name}${at} ${value}$`, 'm'))
    }
    expect(text).toMatch(/^pctodl_board_leased\{gpu="0",.*\} 0$/m)
    await lease.release()
    expect(await restored()).toBe(before + 1)
    expect(await get('healthz')).toEqual([200, 'ok\n'])
    expect(await get('readyz')).toEqual([200, 'ready\n'])
    rmSync(node.options.policyFile)
    expect(await get('readyz')).toEqual([503, expect.stringMatching(/there is no such file/)])
  })

  it('answers a scrape at once, and does not read the boards more often than every 250 ms', async () => {
    const scrape = async () => {
      const startMs = performance.now()
      await (await fetch(`${service.url}/metrics`)).text()
      return performance.now() - startMs
    }
    const [rested, hurried]: [number[], number[]] = [[], []]
    for (let round = 0; round < 4; round++) {
      await new Promise((resolve) => setTimeout(resolve, 300))
      rested.push(await scrape())
      hurried.push(await scrape())
    }
    expect(Math.min(...rested)).toBeLessThan(150)
    expect(Math.max(...hurried)).toBeGreaterThan(150)
  })

  it('is alone at its socket', async () => {
    const others = { stateFolder: path.join(node.folder, 'other'), mpsFolder: path.join(node.folder, 'other-mps') }
    await expect(NodeService.start({ ...node.options, ...others })).rejects.toMatchObject({
      code: 'SOCKET',
      message: /listens there already/,
    })
    expect((await (await open()).request({ type: 'status' })).ready).toBe(true)
  })

  it.skipIf(ownUid !== 0)('is not mistaken for a socket that another user has made (needs root to try)', async () => {
    const open = path.join(node.folder, 'open')
    mkdirSync(open)
    chmodSync(open, 0o1777)
    const fake = path.join(open, 'pctodld.sock')
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(fake, resolve))
    chownSync(fake, 60_001, 60_001)
    const gpu = await openGpu(0, {
      libraryPath: node.libraryPath,
      serviceSocket: fake,
      leaseFolder: path.join(node.folder, 'own'),
    })
    expect(gpu.access).toMatchObject({ kind: 'direct', reason: expect.stringMatching(/belongs to user 60001/) })
    server.close()
    execFileSync('rm', ['-rf', open])
  })
})
