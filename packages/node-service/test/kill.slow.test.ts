import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import {
  LeaseFolder,
  type NvmlDevice,
  processesOf,
  processIdentity,
  startVariableOf,
  userOf,
} from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases, numberIn } from '../../../test/long-tests.js'
import { ControlGroup, missingControlGroups } from './control-group.js'
import {
  buildPrograms,
  eventually,
  everything,
  missingUsers,
  type Node,
  ServiceClient,
  spawnClient,
  startClient,
  startNode,
} from './node-host.js'

/** Ends per kind: PCTODL_KILLS=200 gives the figures of the README, in some minutes. */
const kills = numberIn('PCTODL_KILLS', cases(8, 2))
/** Those with daemons and tenants, each of which starts a dozen programs: five kinds, 200 in all in the long tests. */
const killsWithMps = numberIn('PCTODL_KILLS_WITH_MPS', cases(40, 1))
const BOARDS = 4
/** Nobody else on this machine, and no other run of these tests: its processes are counted. */
const USER = 100_000 + process.pid
/** The promise. On a machine that is busy with other things, a test that fails for that says nothing. */
const LIMIT_MS = process.env['PCTODL_KILLS'] || process.env['PCTODL_KILLS_WITH_MPS'] ? 2000 : 30_000
const ways = ['SIGINT', 'SIGTERM', 'SIGKILL', 'a kill of its control group'] as const

describe.skipIf(missingUsers)(`the end of a client${missingUsers ? ` (${missingUsers})` : ''}`, () => {
  let node: Node
  let programs: Awaited<ReturnType<typeof buildPrograms>>
  let service: ChildProcess
  const random = new SeededRandom(22)

  beforeAll(async () => {
    ;[node, programs] = await Promise.all([startNode({ gpus: BOARDS, privilege: 'root' }), buildPrograms()])
    node.allow(everything([USER]))
    service = await startService()
  })
  afterAll(async () => {
    if (service) await endService('SIGTERM')
    programs?.remove()
    await node?.stop()
  })

  /** The service as a process of its own, so that it can be killed. */
  async function startService(group?: ControlGroup): Promise<ChildProcess> {
    const { socket, policyFile, stateFolder, mpsFolder } = node.options
    const places = ['--socket', socket, '--policy', policyFile, '--state', stateFolder, '--mps', mpsFolder]
    const words = [programs.file('pctodld'), 'serve', ...places, '--library', node.libraryPath, '--http', 'none']
    const command = [process.execPath, ...words]
    const [program, ...args] = group ? group.command(command) : command
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)))
    })
    return child
  }

  async function endService(signal: NodeJS.Signals): Promise<number | null> {
    // One that has ended says so no second time: a test that could not start it is the one that fails.
    if (service.exitCode !== null || service.signalCode !== null) return service.exitCode
    const ended = new Promise<number | null>((resolve) => service.once('exit', resolve))
    service.kill(signal)
    return ended
  }

  /** A client and all that it has started, unless it has ended by itself: it may, once its service is gone. */
  function killAll(client: ChildProcess): void {
    try {
      process.kill(-client.pid!, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  const isAsFound = (device: NvmlDevice) =>
    device.powerLimitW() === 350 && device.computeMode() === 'default' && device.computeProcesses().length === 0

  /** Processes of the user, whatever they are: none may be left. */
  const processesOfUser = () =>
    readdirSync('/proc').filter((name) => {
      if (!/^\d+$/.test(name)) return false
      return processIdentity(Number(name)) !== null && userOf(Number(name)) === USER
    })

  /** @returns time from the end of the client to a board that is as it was, ms */
  async function endOnce(index: number, way: (typeof ways)[number]): Promise<number> {
    const device = node.devices[index]!
    const group = way === 'a kill of its control group' ? new ControlGroup(`client-${index}`) : undefined
    const { child, word, ended } = await startClient(node, programs.file('client'), index, { uid: USER, group })
    expect(word.code, word.message).toBeUndefined()
    await new Promise((resolve) => setTimeout(resolve, 60 * random.uniform()))
    expect(device.powerLimitW()).not.toBe(350)
    // All that it has started at once, as when a control group is killed: nobody is left to tidy up but the service.
    if (group) group.kill()
    else process.kill(way === 'SIGKILL' ? -child.pid! : child.pid!, way as NodeJS.Signals)
    await ended
    const endedMs = performance.now()
    await eventually(
      () => isAsFound(device),
      () => `GPU ${index} is as it was after ${way}: ${device.powerLimitW()} W`,
      20_000,
    )
    const restoredMs = performance.now() - endedMs
    if (group) await eventually(() => group.empty, 'nobody is left in it').then(() => group.remove())
    return restoredMs
  }

  async function endMany(count: number, way: (typeof ways)[number]): Promise<void> {
    const restoredMs: number[] = []
    let left = count
    await Promise.all(
      node.devices.map(async (_, index) => {
        while (left-- > 0) restoredMs.push(await endOnce(index, way))
      }),
    )
    expect(restoredMs).toHaveLength(count)
    const late = restoredMs.filter((ms) => ms > LIMIT_MS)
    const sorted = [...restoredMs].sort((a, b) => a - b)
    if (process.env['PCTODL_KILLS']) {
      const [median, most] = [sorted[Math.floor(count / 2)]!, sorted.at(-1)!]
      process.stderr.write(
        `${way}: ${count} ends, put back after ${median.toFixed(0)} ms (median), ${most.toFixed(0)} ms (most)\n`,
      )
    }
    expect(late, `${sorted.at(-1)} ms`).toEqual([])
    const leases = new LeaseFolder(path.join(node.options.stateFolder, 'leases'))
    await eventually(() => leases.journaled().length === 0, 'no journal is left over')
    await eventually(() => processesOfUser().length === 0, 'no process is left over')
    await eventually(() => readdirSync(node.options.mpsFolder).length === 0, 'no daemon is left over')
  }

  for (const way of ways) {
    it(`puts its board back after ${way}, ${kills} times at random moments`, { timeout: 900_000 }, async (context) => {
      if (way.includes('group') && missingControlGroups) context.skip(missingControlGroups)
      await endMany(kills, way)
    })
  }

  /** What the service has written down since then, and how many ms later, for whoever asks why it took so long. */
  const stepsSince = (thenMs: number) =>
    readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ at, event, detail }) => ({ afterMs: Date.parse(at) - thenMs, event, detail }))
      .filter(({ afterMs }) => afterMs >= 0)
      .map(({ afterMs, event, detail }) => `${event} (${detail}) after ${afterMs} ms`)
      .join(', ')

  /** What is ended with its daemon and tenants alive, or being started, and how. */
  const endsWithMps = [
    { way: 'SIGINT to a command', mode: 'command', signal: 'SIGINT', exit: 130 },
    { way: 'SIGTERM to a command', mode: 'command', signal: 'SIGTERM', exit: 143 },
    // Its tenants are left without anybody.
    { way: 'SIGKILL to a command alone', mode: 'command', signal: 'SIGKILL', exit: 'SIGKILL' },
    { way: 'SIGKILL to all of its processes', mode: 'mps', signal: 'SIGKILL', exit: 'SIGKILL', all: true },
    { way: 'a kill of its control group', mode: 'mps', signal: null, exit: 'SIGKILL' },
  ] as const

  it.for(endsWithMps)(
    `with MPS and tenants ends them and puts its board back after $way, ${killsWithMps} times at random moments`,
    { timeout: 3_600_000 },
    async ({ way, mode, signal, exit, ...rest }, context) => {
      if (signal === null && missingControlGroups) context.skip(missingControlGroups)
      const operator = await ServiceClient.open({ socket: node.options.socket })
      const isLeased = async () => (await operator.request({ type: 'status' })).boards[0]!.lease !== null
      const device = node.devices[0]!
      const isDaemon = ({ pid }: { readonly pid: number }) =>
        startVariableOf(pid, 'CUDA_MPS_PIPE_DIRECTORY')?.startsWith(node.options.mpsFolder)
      const restoredMs: number[] = []
      const late: string[] = []
      const orphans: string[] = []
      const exits: (string | number | null)[] = []
      let startMs = 0
      for (let round = 0; round < killsWithMps; round++) {
        const group = signal === null ? new ControlGroup(`mps-${round}`) : undefined
        const client = spawnClient(node, programs.file('client'), 0, { uid: USER, mode, group })
        const spawnedMs = performance.now()
        const word = client.word.catch(() => null)
        let isUp = false
        void word.then((said) => {
          isUp = said !== null
        })
        // Every second one while it starts: before it has a lease, a daemon, the first tenant, the second.
        if (round % 2 === 0 || startMs === 0) {
          const said = await word
          expect(said?.code, said?.message).toBeUndefined()
          expect(said?.tenants).toHaveLength(2)
          startMs = performance.now() - spawnedMs
          await new Promise((resolve) => setTimeout(resolve, 60 * random.uniform()))
        } else await new Promise((resolve) => setTimeout(resolve, startMs * random.uniform()))
        const wasUp = isUp
        if (group) group.kill()
        else process.kill('all' in rest ? -client.child.pid! : client.child.pid!, signal!)
        const ended = await client.ended
        const [endedMs, endedAt] = [performance.now(), Date.now()]
        await eventually(
          async () => isAsFound(device) && !(await isLeased()),
          () =>
            `GPU 0 is as it was after ${way}: ${device.powerLimitW()} W, ${device.computeProcesses().length} processes`,
          20_000,
        )
        const tookMs = performance.now() - endedMs
        restoredMs.push(tookMs)
        if (tookMs > LIMIT_MS) late.push(`${wasUp ? 'while it worked' : 'while it started'}: ${stepsSince(endedAt)}`)
        // One that is told to end before it listens ends by the signal itself.
        const outcome = ended.signal ?? ended.code
        if (outcome !== exit && (wasUp || outcome !== signal)) exits.push(outcome)
        const left = () => [
          ...processesOfUser(),
          ...processesOf(0)
            .filter(isDaemon)
            .map(({ pid }) => String(pid)),
        ]
        await eventually(() => left().length === 0, 'nobody is left over', LIMIT_MS).catch(() => {})
        for (const pid of left()) {
          orphans.push(pid)
          process.kill(Number(pid), 'SIGKILL')
        }
        group?.remove()
      }
      operator.close()
      const sorted = [...restoredMs].sort((a, b) => a - b)
      const inTime = restoredMs.filter((ms) => ms <= LIMIT_MS).length
      const summary =
        `${way}, with MPS and tenants: put back in ${inTime} of ${killsWithMps} within ${LIMIT_MS} ms ` +
        `(median ${sorted[Math.floor(killsWithMps / 2)]!.toFixed(0)}, most ${sorted.at(-1)!.toFixed(0)} ms), ` +
        `${orphans.length} orphans, ${exits.length} wrong exit codes${exits.length > 0 ? ` (${exits.join(', ')})` : ''}${late.length > 0 ? `; late ${late.join('; ')}` : ''}`
      if (killsWithMps > 2) process.stderr.write(`${summary}\n`)
      expect([inTime, orphans, exits], summary).toEqual([killsWithMps, [], []])
      expect(readdirSync(node.options.mpsFolder)).toEqual([])
      expect(new LeaseFolder(path.join(node.options.stateFolder, 'leases')).journaled()).toEqual([])
    },
  )

  it('is put right by the next service where the service was killed, too', async () => {
    const clients = await Promise.all(
      node.devices.map((_, index) =>
        startClient(node, programs.file('client'), index, { uid: USER, mode: 'limit=222' }),
      ),
    )
    await endService('SIGKILL')
    for (const { child } of clients) killAll(child)
    await Promise.all(clients.map(({ ended }) => ended))
    service = await startService()
    const startedMs = performance.now()
    await eventually(() => node.devices.every(isAsFound), 'all boards are as they were')
    expect(performance.now() - startedMs).toBeLessThan(LIMIT_MS)
    const client = await ServiceClient.open({ socket: node.options.socket })
    expect(await client.request({ type: 'status' })).toMatchObject({ ready: true })
    client.close()
  })

  it.skipIf(missingControlGroups)(
    `is put right by the next service where one kill ended the service, its watchdogs and its clients at once${missingControlGroups === undefined ? '' : ` (${missingControlGroups})`}`,
    { timeout: 180_000 },
    async () => {
      await endService('SIGTERM')
      const group = new ControlGroup('node')
      service = await startService(group)
      const clients = await Promise.all(
        node.devices.map((_, index) =>
          startClient(node, programs.file('client'), index, {
            uid: USER,
            mode: index === 0 ? 'mps' : 'limit=222',
            group,
          }),
        ),
      )
      const ended = new Promise((resolve) => service.once('exit', resolve))
      group.kill()
      await Promise.all([ended, ...clients.map((client) => client.ended)])
      await eventually(() => group.empty, 'nobody is left in it')
      group.remove()
      // Nobody was left to do it.
      expect(node.devices.map((device) => device.powerLimitW())).not.toContain(350)
      service = await startService()
      await eventually(() => node.devices.every(isAsFound), 'all boards are as they were')
      await eventually(() => readdirSync(node.options.mpsFolder).length === 0, 'no daemon is left over')
    },
  )

  it('leaves no daemon where the service is killed while it starts one', async () => {
    const { mpsFolder, socket } = node.options
    const client = startClient(node, programs.file('client'), 0, { uid: USER, mode: 'mps' }).catch(() => null)
    await eventually(() => readdirSync(mpsFolder).length > 0, 'its place is there')
    await new Promise((resolve) => setTimeout(resolve, 500 * random.uniform()))
    await endService('SIGKILL')
    const started = await client
    if (started) killAll(started.child)
    service = await startService()
    expect(readdirSync(mpsFolder)).toEqual([])
    await eventually(() => isAsFound(node.devices[0]!), 'the board is as it was')
    const isOfService = (pid: number) => startVariableOf(pid, 'CUDA_MPS_PIPE_DIRECTORY')?.startsWith(mpsFolder) ?? false
    await eventually(() => !processesOf(0).some(({ pid }) => isOfService(pid)), 'no daemon runs')
    const asked = await ServiceClient.open({ socket })
    expect(await asked.request({ type: 'status' })).toMatchObject({ ready: true })
    asked.close()
  })

  it('comes after the service: told to end, it puts all boards back first', async () => {
    const clients = await Promise.all(
      node.devices.map((_, index) =>
        startClient(node, programs.file('client'), index, { uid: USER, mode: 'limit=222' }),
      ),
    )
    expect(await endService('SIGTERM')).toBe(0)
    expect(node.devices.map((device) => device.powerLimitW())).toEqual(node.devices.map(() => 350))
    for (const { child } of clients) child.kill('SIGKILL')
    service = await startService()
  })
})
