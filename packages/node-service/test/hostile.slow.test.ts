import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { LeaseFolder, startVariableOf } from '@pctodl/nvml-control'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AuditLog } from '../src/audit-log.js'
import {
  buildPrograms,
  eventually,
  everything,
  isFree,
  missingUsers,
  type Node,
  NodeService,
  ServiceClient,
  startClient,
  startNode,
} from './node-host.js'

const ALICE = 60_001
const BOB = 60_002

/** What somebody does who means the service ill: other users of the node first, then clients that the policy knows. */
describe.skipIf(missingUsers)(`the node service under attack${missingUsers ? ` (${missingUsers})` : ''}`, () => {
  let node: Node
  let programs: Awaited<ReturnType<typeof buildPrograms>>
  let service: NodeService
  let isRunning = false
  const end = async () => {
    isRunning = false
    await service.close()
  }
  let uuids: readonly string[]
  let sockets: Socket[]
  let clients: ServiceClient[]

  beforeAll(async () => {
    ;[node, programs] = await Promise.all([startNode({ gpus: 2, privilege: 'root' }), buildPrograms()])
    uuids = node.devices.map(({ uuid }) => uuid)
  })
  afterAll(async () => {
    if (isRunning) await end()
    programs?.remove()
    await node?.stop()
  })
  beforeEach(async () => {
    ;[sockets, clients] = [[], []]
    node.allow(everything([0, ALICE]))
    if (!isRunning) service = await NodeService.start(node.options)
    isRunning = true
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    for (const client of clients) client.close()
    if (isRunning && !(await isFree(service))) await end()
    for (const device of node.devices) expect(device.powerLimitW()).toBe(350)
  })

  const hello = (program = 'test') => line(0, { type: 'hello', versions: [3], program })
  const line = (id: number, body: object) => `${JSON.stringify({ id, body })}\n`
  const boardOf = (index: number) => uuids[index]!
  const leaseOf = (index: number) => service.status().boards[index]!.lease

  /** A connection that the kernel says is another user's. */
  const connectAs = (uid: number) => {
    process.seteuid!(uid)
    try {
      const socket = connect(node.options.socket)
      socket.on('error', () => {})
      sockets.push(socket)
      return socket
    } finally {
      process.seteuid!(0)
    }
  }
  const open = async () => {
    const client = await ServiceClient.open({ socket: node.options.socket })
    clients.push(client)
    return client
  }
  /** All that comes back, a line at a time. */
  const answersOf = (socket: Socket) => {
    const answers: { id: number; error?: { code: string }; result?: unknown }[] = []
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      const lines = text.split('\n')
      text = lines.pop()!
      answers.push(...lines.map((each) => JSON.parse(each)))
    })
    return answers
  }
  const audit = () =>
    readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each))
  /** Control daemons that were started for a place of this service, by what the kernel says they were started with. */
  const daemons = () =>
    readdirSync('/proc').filter(
      (name) =>
        /^\d+$/.test(name) &&
        startVariableOf(Number(name), 'CUDA_MPS_PIPE_DIRECTORY')?.startsWith(node.options.mpsFolder),
    )

  it('lives through an address that is none', async () => {
    const { port } = new URL(service.url!)
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write('GET // HTTP/1.1\r\nHost: x\r\n\r\n'))
      socket.once('data', (chunk) => resolve(String(chunk)))
      socket.once('close', () => reject(new Error('no answer')))
      sockets.push(socket)
    })
    expect(answer).toMatch(/^HTTP\/1.1 404 /)
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  })

  it('has a place for Prometheus, and descriptors for its own files, however many others connect', async () => {
    const { port, hostname } = new URL(service.url!)
    const descriptors = () => readdirSync('/proc/self/fd').length
    const before = descriptors()
    const many = Array.from({ length: 200 }, (_, i) => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      // Some say nothing, some something that never ends.
      if (i % 2 === 0) socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nX: ')
      sockets.push(socket)
      return socket
    })
    const isGone = (socket: Socket) => socket.destroyed || socket.readableEnded
    for (const socket of many) socket.resume()
    await eventually(() => many.filter(isGone).length >= 180, 'those beyond a few are sent away')
    // A probe is answered while they are there.
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
    // Ours and the server's ends of those that stay.
    expect(descriptors() - before).toBeLessThan(60)
    await (await open()).request({ type: 'acquire', board: boardOf(0) })
    await eventually(() => many.every(isGone), 'those who ask for nothing are sent away, too')
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  })

  it('reads boards for Prometheus no more often than it has to', async () => {
    const lease = await open()
    await lease.request({ type: 'acquire', board: boardOf(0) })
    await lease.request({ type: 'change', board: boardOf(0), change: { kind: 'power-limit', powerLimitW: 250 } })
    const metrics = async () => (await fetch(`${service.url}/metrics`)).text()
    await eventually(async () => (await metrics()).includes('} 250\n'), 'the limit has been read')
    const startMs = performance.now()
    const asked = Array.from({ length: 100 }, () =>
      fetch(`${service.url}/metrics`, { headers: { connection: 'close' } }).then(
        (response) => response.text(),
        // One too many at a time.
        () => null,
      ),
    )
    const texts = (await Promise.all(asked)).filter((text) => text !== null)
    const readings = new Set(texts.map((text) => /^pctodl_board_energy_joules.* (\S+)$/m.exec(text)?.[1]))
    expect(readings.size).toBeLessThanOrEqual(2 + (performance.now() - startMs) / 250)
    for (const text of texts) expect(text).toMatch(/^pctodl_board_power_limit_watts\{gpu="0",.*\} 250$/m)
  })

  it('lives through whatever is sent, and the others do not notice', async () => {
    const random = new SeededRandom(22)
    const whole = (most: number) => Math.floor(most * random.uniform())
    const other = await open()
    await other.request({ type: 'acquire', board: boardOf(1) })
    await other.request({ type: 'change', board: boardOf(1), change: { kind: 'power-limit', powerLimitW: 250 } })
    const oneOf = <T>(values: readonly T[]) => values[whole(values.length)]!
    const odd = (): unknown =>
      oneOf<() => unknown>([
        () => null,
        () => -1,
        () => 1e308,
        () => Number.MAX_SAFE_INTEGER,
        () => '',
        () => '../../../etc/shadow',
        () => '\u0000\u009b2J\u202e',
        () => 'a'.repeat(whole(3000)),
        () => [],
        () => ({ __proto__: { polluted: true }, constructor: 1, toString: 2 }),
        () => Array.from({ length: whole(3) }, odd),
        () => boardOf(1),
        () => true,
      ])()
    const types = [
      'hello',
      'acquire',
      'change',
      'verify',
      'release',
      'mps-start',
      'mps-stop',
      'mps-verify',
      'end-leases',
    ]
    const fields = ['board', 'change', 'pid', 'graceMs', 'defaultPercent', 'uid', 'boards', 'versions', 'program']
    const frame = () => {
      const body: Record<string, unknown> = { type: oneOf([...types, odd()]) }
      for (let i = whole(5); i > 0; i--) body[oneOf(fields)] = odd()
      return `${JSON.stringify({ id: oneOf([0, 1, odd()]), body: oneOf([body, body, odd()]) })}\n`
    }
    const noise = () => Buffer.from(Array.from({ length: whole(2000) }, () => whole(256)))
    for (let round = 0; round < 120; round++) {
      const socket = connectAs(ALICE)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.resume()
      if (round % 3 > 0) socket.write(hello())
      const words =
        round % 4 === 0
          ? [noise()]
          : round % 4 === 1
            ? [`${'['.repeat(16_000)}\n`]
            : Array.from({ length: 1 + whole(6) }, frame)
      for (const word of words) socket.write(word)
      // In the middle of a line, too.
      if (round % 2 === 0) socket.write(frame().slice(0, 20))
      socket.end()
      await closed
    }
    await eventually(() => leaseOf(0) === null, 'nothing is left of it')
    await other.request({ type: 'verify', board: boardOf(1) })
    expect(node.devices[1]!.powerLimitW()).toBe(250)
    expect(service.status().ready).toBe(true)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    // What was sent stands in the log without what a terminal obeys, and not at any length.
    const log = readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8')
    expect([...log].filter((each) => each !== '\n' && (each < ' ' || (each > '~' && each < '\u00a0')))).toEqual([])
    expect(Math.max(...log.split('\n').map((each) => each.length))).toBeLessThan(1500)
  })

  it('writes down what was sent so that it can be shown on a terminal', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-audit-'))
    const log = new AuditLog(folder)
    const peer = { uid: BOB, pid: 1, gid: BOB, groups: [] }
    const sent = '\u001b[2J\u009b2J\u202e\u2066x\u007f\n{"event":"lease-acquired"}'
    log.refused(peer, 'test', sent)
    log.refused(peer, 'test', 'y'.repeat(100_000))
    log.close()
    const text = readFileSync(path.join(folder, 'audit.jsonl'), 'utf8')
    const lines = text.trim().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^[\x20-\x7e]+$/)
    expect(JSON.parse(lines[0]!).detail).toBe(sent)
    expect(lines[1]!.length).toBeLessThan(700)
    rmSync(folder, { recursive: true })
  })

  it('answers the others while one has asked for as much as it may', async () => {
    const [many, one] = [connectAs(BOB), connectAs(ALICE)]
    const [answersOfMany, answersOfOne] = [answersOf(many), answersOf(one)]
    for (const socket of [many, one]) socket.write(hello())
    await eventually(() => answersOfMany.length + answersOfOne.length === 2, 'both are greeted')
    let before = Number.POSITIVE_INFINITY
    one.once('data', () => {
      before = answersOfMany.length
    })
    many.write(line(1, { type: 'status' }).repeat(60))
    one.write(line(1, { type: 'status' }))
    await eventually(() => answersOfMany.length === 61, 'all are answered')
    expect(answersOfOne).toHaveLength(2)
    expect(before).toBeLessThan(40)
  })

  it('hears the others while one sends a byte at a time', async () => {
    const slow = connectAs(ALICE)
    const answers = answersOf(slow)
    const text = hello() + line(1, { type: 'acquire', board: boardOf(0) })
    const half = text.length - 5
    for (const byte of text.slice(0, half)) {
      slow.write(byte)
      await new Promise(setImmediate)
    }
    // Half a request is none, however long it takes.
    const other = await open()
    await other.request({ type: 'acquire', board: boardOf(0) })
    await other.request({ type: 'release', board: boardOf(0) })
    slow.write(text.slice(half))
    await eventually(() => answers.length === 2, 'it is heard in the end')
    expect(answers[1]).toMatchObject({ result: { found: { powerLimitW: 350 } } })
  })

  it('is one: a second one in its places touches nothing, above all not the daemons of its leases', async () => {
    const { child, word, ended } = await startClient(node, programs.file('client'), 0, { uid: ALICE, mode: 'mps' })
    expect(word.tenants).toHaveLength(2)
    const running = daemons()
    expect(running).not.toEqual([])
    const elsewhere = { socket: path.join(node.folder, 'other-run', 'pctodld.sock'), http: null }
    for (const places of [
      {},
      { stateFolder: path.join(node.folder, 'other-state') },
      { mpsFolder: path.join(node.folder, 'other-mps') },
    ]) {
      await expect(NodeService.start({ ...node.options, ...elsewhere, ...places })).rejects.toMatchObject({
        code: 'ALREADY_RUNNING',
        message: expect.stringMatching(new RegExp(`process ${process.pid}\\) has its place in`)),
      })
    }
    expect(daemons()).toEqual(running)
    expect(leaseOf(0)).toMatchObject({ uid: ALICE, mps: true })
    expect(node.devices[0]!.computeProcesses()).toHaveLength(2)
    child.kill('SIGKILL')
    await ended
    await eventually(() => leaseOf(0) === null, 'the lease has ended')
  })

  it('keeps nothing where somebody else has a hand, links included', async () => {
    await end()
    const open = path.join(node.folder, 'everybody')
    mkdirSync(open)
    chmodSync(open, 0o1777)
    const target = path.join(node.folder, 'target')
    mkdirSync(target, { mode: 0o700 })
    const link = path.join(open, 'link')
    symlinkSync(target, link)
    lchownSync(link, BOB, BOB)
    const his = path.join(open, 'his')
    mkdirSync(his, { mode: 0o700 })
    chownSync(his, BOB, BOB)
    const socketless = { ...node.options, http: null }
    for (const place of [link, his, path.join(link, 'deeper'), path.join(his, 'deeper')]) {
      for (const options of [
        { stateFolder: place },
        { mpsFolder: place },
        { socket: path.join(place, 'pctodld.sock') },
      ]) {
        await expect(NodeService.start({ ...socketless, ...options }), JSON.stringify(options)).rejects.toThrow(
          /belongs to user 60002/,
        )
      }
    }
    // A policy of root's that is reached through his link is none, and neither is one that he has linked in its place.
    const policy = path.join(target, 'policy.json')
    writeFileSync(policy, readFileSync(node.options.policyFile), { mode: 0o600 })
    const planted = path.join(open, 'policy.json')
    symlinkSync(policy, planted)
    lchownSync(planted, BOB, BOB)
    for (const policyFile of [path.join(link, 'policy.json'), planted]) {
      service = await NodeService.start({ ...socketless, policyFile })
      expect(service.status()).toMatchObject({ ready: false, reasons: [expect.stringMatching(/nobody may change/)] })
      await service.close()
    }
    expect(readdirSync(target)).toEqual(['policy.json'])
    expect(readdirSync(his)).toEqual([])
    rmSync(open, { recursive: true })
    rmSync(target, { recursive: true })
  })

  it('writes down no more than so much of what one user is refused', async () => {
    const before = audit().length
    const socket = connectAs(BOB)
    const answers = answersOf(socket)
    for (let round = 0; round < 10; round++) {
      socket.write(line(round, { type: 'status' }).repeat(50))
      await eventually(() => answers.length === 50 * (round + 1), 'all are refused')
    }
    expect(new Set(answers.map(({ error }) => error?.code))).toEqual(new Set(['HELLO']))
    const refused = audit().slice(before)
    expect(refused.length).toBeLessThanOrEqual(40)
    expect(refused.every(({ uid }) => uid === BOB)).toBe(true)
    // The others are still heard of.
    await expect((await open()).request({ type: 'verify', board: boardOf(0) })).rejects.toMatchObject({})
    expect(audit().at(-1)).toMatchObject({ event: 'refused', uid: 0 })
    // How many were left out stands there in the end.
    await end()
    expect(audit()).toContainEqual(
      expect.objectContaining({ event: 'refused', uid: BOB, detail: expect.stringMatching(/^4[67]\d more/) }),
    )
  })

  it('keeps a log of bounded size', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-audit-'))
    const log = new AuditLog(folder, { maxBytes: 4000 })
    for (let i = 0; i < 200; i++) log.add({ event: 'changed', board: 'GPU-0', detail: String(i) })
    log.close()
    const files = readdirSync(folder).sort()
    expect(files).toEqual(['audit.1.jsonl', 'audit.jsonl'])
    for (const file of files) {
      expect(statSync(path.join(folder, file)).size).toBeLessThanOrEqual(4200)
      expect(statSync(path.join(folder, file)).mode & 0o777).toBe(0o600)
    }
    const last = readFileSync(path.join(folder, 'audit.jsonl'), 'utf8').trim().split('\n').at(-1)!
    expect(JSON.parse(last)).toMatchObject({ detail: '199' })
    rmSync(folder, { recursive: true })
  })

  it('goes on with its log once there is room for a new one', (context) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-audit-'))
    const mount = (options: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0
    // The folder, and one file in it.
    if (!mount('nr_inodes=2,mode=700')) context.skip('may not mount a small disk here')
    try {
      const log = new AuditLog(folder, { maxBytes: 1000 })
      const entry = { event: 'changed', detail: 'x'.repeat(300) } as const
      const kept = Array.from({ length: 6 }, () => log.note(entry))
      expect(kept).toContain(false)
      mount('remount,nr_inodes=10')
      expect(log.note(entry)).toBe(true)
      log.close()
      for (const file of readdirSync(folder))
        for (const line of readFileSync(path.join(folder, file), 'utf8').trim().split('\n'))
          expect(JSON.parse(line)).toMatchObject(entry)
    } finally {
      spawnSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    }
  })

  it('leaves no lease behind that nobody has when the disk is full', async (context) => {
    await end()
    const stateFolder = path.join(node.folder, 'small')
    mkdirSync(stateFolder)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', stateFolder]).status !== 0)
      context.skip('may not mount a small disk here')
    try {
      service = await NodeService.start({ ...node.options, stateFolder })
      const holder = await open()
      await holder.request({ type: 'acquire', board: boardOf(1) })
      await holder.request({ type: 'change', board: boardOf(1), change: { kind: 'power-limit', powerLimitW: 250 } })
      const full = path.join(stateFolder, 'full')
      spawnSync('dd', ['if=/dev/zero', `of=${full}`, 'bs=1k'])
      // What cannot be written down is not done, whoever asks and however often.
      let code: string | null = null
      for (let i = 0; i < 100 && code === null; i++) {
        const client = await open()
        code = await client.request({ type: 'acquire', board: boardOf(0) }).then(
          () => null,
          (error) => error.code,
        )
        client.close()
        await eventually(() => leaseOf(0) === null, 'nobody has the lease')
      }
      expect(code).toBe('AUDIT_LOG')
      // The operator's word is put on no disk, and holds.
      const ceilings = [{ boards: [boardOf(1)], powerLimitW: 220 }]
      const policy = { format: 'pctodl-policy', version: 1, rules: [everything([0, ALICE])], ceilings }
      writeFileSync(node.options.policyFile, JSON.stringify(policy))
      await eventually(() => node.devices[1]!.powerLimitW() === 220, 'the ceiling holds')
      node.allow(everything([0, ALICE]))
      // And what must be put back is, whether it can be written down or not.
      holder.close()
      await eventually(() => leaseOf(1) === null, 'the lease has ended')
      // A ceiling that is taken away raises no limit.
      expect(node.devices[1]!.powerLimitW()).toBe(220)
      node.devices[1]!.check('nvmlDeviceSetPowerManagementLimit', 350_000)
      rmSync(full)
      const client = await open()
      for (const index of [0, 1]) await client.request({ type: 'acquire', board: boardOf(index) })
      client.close()
    } finally {
      await service.close()
      spawnSync('umount', ['-l', stateFolder])
    }
  })

  it('has a place for those whom the policy knows, however many others come', async () => {
    const strangers = Array.from({ length: 320 }, (_, i) => connectAs(100_000 + i))
    for (const socket of strangers) socket.write(hello())
    await eventually(
      async () =>
        (await fetch(`${service.url}/metrics`).then((response) => response.text())).match(
          /^pctodl_node_connections (\d+)/m,
        )?.[1] !== '0',
      'they are there',
    )
    const alice = connectAs(ALICE)
    const answers = answersOf(alice)
    alice.write(hello() + line(1, { type: 'acquire', board: boardOf(0) }))
    await eventually(() => answers.length === 2, 'she is heard')
    expect(answers[1]).toMatchObject({ id: 1, result: { found: { powerLimitW: 350 } } })
    expect(await (await open()).request({ type: 'end-leases', uid: ALICE, boards: null })).toEqual({
      ended: [boardOf(0)],
    })
  })

  it('does nothing more for one that it has cut off', async () => {
    const socket = connectAs(ALICE)
    const answers = answersOf(socket)
    socket.write(`${hello()}nonsense\n${line(1, { type: 'acquire', board: boardOf(0) })}`)
    await new Promise((resolve) => socket.once('close', resolve))
    expect(answers.map(({ error }) => error?.code)).not.toContain(undefined)
    expect(audit().filter(({ event }) => event === 'lease-acquired' && audit().length > 0 && leaseOf(0))).toEqual([])
    expect(answers.some(({ id }) => id === 1)).toBe(false)
  })

  it('ends the lease of one that is cut off and reads nothing', async () => {
    const socket = connectAs(ALICE)
    socket.pause()
    socket.write(hello() + line(1, { type: 'acquire', board: boardOf(0) }))
    await eventually(() => leaseOf(0) !== null, 'the board is leased')
    // As many answers as fill what the kernel keeps for it, and some of what we do.
    for (let round = 0; round < 12; round++) {
      socket.write(line(2, { type: 'status' }).repeat(60))
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    socket.write('nonsense\n')
    await eventually(() => leaseOf(0) === null, 'the lease has ended')
  })

  it('is told once who a client says it is', async () => {
    const socket = connectAs(ALICE)
    const answers = answersOf(socket)
    socket.write(hello('one') + line(1, { type: 'acquire', board: boardOf(0) }) + hello('another'))
    await eventually(() => answers.length === 3, 'all are answered')
    expect(answers[2]).toMatchObject({ error: { code: 'HELLO' } })
    expect(leaseOf(0)).toMatchObject({ program: 'one' })
  })

  it('lets nobody but its holder at an MPS daemon, although the kernel tells everybody where', async () => {
    const { child, word, ended } = await startClient(node, programs.file('client'), 0, { uid: ALICE, mode: 'mps' })
    try {
      expect(word.tenants).toHaveLength(2)
      const as = (uid: number, program: string) => {
        const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', process.execPath, '-e', program]
        return execFileSync('setpriv', identity, { cwd: '/', encoding: 'utf8' }).trim()
      }
      const listening = `require('fs').readFileSync('/proc/net/unix', 'utf8').split('\\n').map((each) => each.split(' ').pop())
        .find((each) => each.startsWith(${JSON.stringify(node.options.mpsFolder)}) && each.endsWith('/control'))`
      const place = as(BOB, `console.log(${listening})`)
      expect(place).toMatch(/\/pipe\/control$/)
      const reach = `require('net').connect(${JSON.stringify(place)}).on('connect', () => { console.log('reached'); process.exit() })
        .on('error', (error) => console.log(error.code))`
      expect(as(BOB, reach)).toBe('EACCES')
      expect(as(ALICE, reach)).toBe('reached')
    } finally {
      child.kill('SIGKILL')
      await ended
    }
    await eventually(() => readdirSync(node.options.mpsFolder).length === 0, 'its place is gone')
  })

  it('leaves no daemon behind whose holder leaves while it starts', async () => {
    const random = new SeededRandom(22)
    for (let round = 0; round < 6; round++) {
      const client = await open()
      await client.request({ type: 'acquire', board: boardOf(0) })
      const started = client.request({ type: 'mps-start', board: boardOf(0) }).catch(() => null)
      await new Promise((resolve) => setTimeout(resolve, 700 * random.uniform()))
      client.close()
      await started
      await eventually(() => leaseOf(0) === null, 'the lease has ended')
      expect(readdirSync(node.options.mpsFolder)).toEqual([])
      // One that was killed as it started may be seen for a moment more.
      await eventually(() => daemons().length === 0, 'no daemon is left')
    }
  })

  it('runs no program that somebody else has put where root looks for its own', async () => {
    const planted = path.join(node.folder, 'planted')
    const proof = path.join(planted, 'was-run')
    const names = ['nvidia-cuda-mps-control', 'nvidia-cuda-mps-server', 'rm', 'sh', 'node', 'getent']
    /** A folder of programs that write down that they were run. */
    const plant = (name: string, { folder, file, mode }: { folder: number; file: number; mode: number }) => {
      const place = path.join(planted, name)
      mkdirSync(place, { recursive: true })
      for (const program of names) {
        const script = path.join(place, program)
        writeFileSync(script, `#!/bin/sh\necho "$0" >> '${proof}'\n`, { mode: 0o755 })
        chownSync(script, file, file)
      }
      chownSync(place, folder, folder)
      chmodSync(place, mode)
      return place
    }
    const link = (name: string, target: string) => {
      const place = path.join(planted, name)
      mkdirSync(place)
      for (const program of names) {
        symlinkSync(path.join(target, program), path.join(place, program))
        lchownSync(path.join(place, program), BOB, BOB)
      }
      return place
    }
    const own = plant('own', { folder: BOB, file: BOB, mode: 0o755 })
    const evil = [
      own,
      plant('his-file', { folder: 0, file: BOB, mode: 0o755 }),
      plant('open', { folder: 0, file: 0, mode: 0o777 }),
      plant('sticky', { folder: 0, file: 0, mode: 0o1777 }),
      link('linked', own),
      path.join(own, 'deeper'),
      '.',
      '',
    ]
    mkdirSync(path.join(own, 'deeper'))
    for (const program of names)
      writeFileSync(path.join(own, 'deeper', program), `#!/bin/sh\necho "$0" >> '${proof}'\n`, { mode: 0o755 })
    const { PATH } = process.env
    const cwd = process.cwd()
    try {
      process.env['PATH'] = `${evil.join(':')}:${PATH}`
      process.chdir(own)
      node.allow(everything(['root', ALICE]))
      const { child, word, ended } = await startClient(node, programs.file('client'), 0, { uid: ALICE, mode: 'mps' })
      expect(word.code, word.message).toBeUndefined()
      expect(word.tenants).toHaveLength(2)
      child.kill('SIGKILL')
      await ended
      await eventually(() => leaseOf(0) === null, 'the lease has ended')
      // Nor where there is no other.
      process.env['PATH'] = evil.join(':')
      const client = await open()
      await client.request({ type: 'acquire', board: boardOf(1) })
      await expect(client.request({ type: 'mps-start', board: boardOf(1) })).rejects.toMatchObject({
        code: 'MPS_UNTRUSTED_PROGRAM',
        message: expect.stringMatching(/belongs to user 60002.*can be written by others \(mode 777\).*1777/),
      })
      await client.request({ type: 'release', board: boardOf(1) })
      await end()
      service = await NodeService.start({ ...node.options, mpsProgram: path.join(own, 'nvidia-cuda-mps-control') })
      const again = await open()
      await again.request({ type: 'acquire', board: boardOf(1) })
      await expect(again.request({ type: 'mps-start', board: boardOf(1) })).rejects.toMatchObject({
        code: 'MPS_UNTRUSTED_PROGRAM',
      })
      await again.request({ type: 'release', board: boardOf(1) })
      await end()
    } finally {
      process.chdir(cwd)
      process.env['PATH'] = PATH
    }
    expect(existsSync(proof) ? readFileSync(proof, 'utf8') : '').toBe('')
    rmSync(planted, { recursive: true })
  })

  it('asks nothing more on behalf of one who has gone, so that the daemon ends and the board is put back', async () => {
    const client = await open()
    await client.request({ type: 'acquire', board: boardOf(0) })
    await client.request({ type: 'change', board: boardOf(0), change: { kind: 'power-limit', powerLimitW: 250 } })
    await client.request({ type: 'mps-start', board: boardOf(0) })
    const before = audit().length
    // We are no client of it, and it would ask for ten seconds.
    void client.request({ type: 'mps-verify', board: boardOf(0), pid: process.pid }).catch(() => {})
    await eventually(() => daemons().length > 1, 'the daemon is asked')
    client.close()
    await eventually(() => leaseOf(0) === null, 'the lease has ended')
    expect(node.devices[0]!.powerLimitW()).toBe(350)
    expect(daemons()).toEqual([])
    const refused = () =>
      audit()
        .slice(before)
        .filter(({ event }) => event === 'refused')
    await eventually(() => refused().length > 0, 'it is told so')
    expect(refused().map(({ detail }) => detail)).toEqual([expect.stringMatching(/^LEASE_RELEASED/)])
  })

  it('ends all leases that it is to end, also where one board cannot be put back', async () => {
    const client = await open()
    for (const index of [0, 1]) {
      await client.request({ type: 'acquire', board: boardOf(index) })
      await client.request({ type: 'change', board: boardOf(index), change: { kind: 'power-limit', powerLimitW: 250 } })
    }
    await node.call('loseBoard', 0)
    try {
      const operator = await open()
      await operator.request({ type: 'end-leases', uid: null, boards: [boardOf(0), boardOf(1)] }).catch(() => {})
      expect([leaseOf(0), leaseOf(1)]).toEqual([null, null])
      expect(node.devices[1]!.powerLimitW()).toBe(350)
    } finally {
      await node.call('findBoard', 0)
    }
    const leases = new LeaseFolder(path.join(node.options.stateFolder, 'leases'))
    await eventually(() => service.status().ready && leases.journaled().length === 0, 'the lost board is put right')
  })

  it('ends a lease whose holder the policy does not know any more, and one that has lasted too long', async () => {
    const client = await open()
    const ended: string[] = []
    client.onLeaseEnded = (board, reason) => void ended.push(`${board} ${reason}`)
    await client.request({ type: 'acquire', board: boardOf(0) })
    // A policy that is not right says nothing about anybody.
    writeFileSync(node.options.policyFile, '{')
    await expect(client.request({ type: 'acquire', board: boardOf(1) })).rejects.toMatchObject({ code: 'POLICY' })
    node.allow({ ...everything([0]), boards: [boardOf(1)], leaseSeconds: 1 })
    await eventually(() => leaseOf(0) === null, 'it has ended')
    await client.request({ type: 'acquire', board: boardOf(1) })
    await eventually(() => leaseOf(1) === null, 'it has ended, too')
    await eventually(() => ended.length === 2, 'the holder was told')
    expect(ended).toEqual([
      expect.stringMatching(new RegExp(`^${boardOf(0)} the policy has no rule for it any more`)),
      expect.stringMatching(new RegExp(`^${boardOf(1)} it has lasted 1 s`)),
    ])
  })
})
