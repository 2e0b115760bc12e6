import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { InstanceLease, LeaseFolder, openGpu, type ServiceLease } from '@pctodl/nvml-control'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  buildPrograms,
  eventually,
  everything,
  isFree,
  missingCompiler,
  type Node,
  NodeService,
  ServiceClient,
  simulator,
  startNode,
} from './node-host.js'

const ownUid = process.geteuid?.() ?? 0
const ALICE = 60_001
const LIMIT_W = 250

describe.skipIf(missingCompiler)(`MIG instances of a node${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let node: Node
  let service: NodeService
  let isRunning = false
  const end = async () => {
    isRunning = false
    await service.close()
  }
  let clients: ServiceClient[]
  let leases: { release(): Promise<void> }[]
  let tenants: ChildProcess[]

  beforeAll(async () => {
    node = await startNode({ board: 'A100', gpus: 2, mig: ['3g.20gb', '3g.20gb'], privilege: 'everyone' })
  })
  afterAll(async () => {
    if (isRunning) await end()
    await node?.stop()
  })
  beforeEach(async () => {
    ;[clients, leases, tenants] = [[], [], []]
    node.allow(everything([ownUid, ALICE]))
    if (!isRunning) service = await NodeService.start(node.options)
    isRunning = true
  })
  afterEach(async () => {
    for (const tenant of tenants) tenant.kill('SIGKILL')
    for (const client of clients) client.close()
    await Promise.all(leases.map((lease) => lease.release().catch(() => {})))
    if (isRunning && !(await isFree(service))) await end()
    for (const device of node.devices) expect(device.powerLimitW()).toBe(LIMIT_W)
    expect(readdirSync(node.options.mpsFolder)).toEqual([])
  })

  const uuidOf = (board = 0) => node.devices[board]!.uuid
  const instanceOf = (instance: number, board = 0) => node.devices[board]!.mig()!.instances[instance]!.uuid
  const stateOf = (board = 0) => service.status().boards[board]!
  const kept = <Lease extends { release(): Promise<void> }>(lease: Lease): Lease => {
    leases.push(lease)
    return lease
  }
  const acquireInstance = async (uuid: string) =>
    kept(await InstanceLease.acquire(uuid, { socket: node.options.socket }))
  const boardOf = (index = 0) => openGpu(index, { libraryPath: node.libraryPath, serviceSocket: node.options.socket })
  const acquireBoard = async (index = 0) => kept((await (await boardOf(index)).acquire()) as ServiceLease)
  const open = async () => {
    const client = await ServiceClient.open({ socket: node.options.socket })
    clients.push(client)
    return client
  }
  /** A connection that the kernel says is another user's. */
  const openAs = async (uid: number) => {
    process.seteuid!(uid)
    const opening = ServiceClient.open({ socket: node.options.socket })
    process.seteuid!(ownUid)
    const client = await opening
    clients.push(client)
    return client
  }
  /** Root's own program beside the service. */
  const acquireDirectly = async (index = 0) => {
    const leaseFolder = path.join(node.options.stateFolder, 'leases')
    return (await openGpu(index, { libraryPath: node.libraryPath, access: 'direct', leaseFolder })).acquire()
  }
  const journals = () => new LeaseFolder(path.join(node.options.stateFolder, 'leases')).journaled()
  const tenant = (environment: Readonly<Record<string, string>>) => {
    const words = [simulator, 'tenant', '--network', 'mobilenet_v2', '--batch', '8']
    const child = spawn(process.execPath, words, { env: { ...process.env, ...environment }, stdio: 'ignore' })
    tenants.push(child)
    return child.pid!
  }
  /** A tenant may take longer to start than the service waits for it. */
  const becomesClient = (lease: InstanceLease, pid: number) =>
    eventually(
      () =>
        lease.verifyMpsClient(pid).then(
          () => true,
          () => false,
        ),
      `${pid} is a client`,
    )
  const mpsOf = async (lease: InstanceLease) => {
    const { pipeDirectory, logDirectory } = await lease.startMps()
    return { CUDA_MPS_PIPE_DIRECTORY: pipeDirectory, CUDA_MPS_LOG_DIRECTORY: logDirectory, ...lease.environment }
  }
  const audit = () =>
    readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  it('are leased one by one, and shown with their board', async () => {
    const first = await acquireInstance(instanceOf(0))
    await acquireInstance(instanceOf(1))
    expect(first.found.powerLimitW).toBe(LIMIT_W)
    await expect(acquireInstance(instanceOf(1))).rejects.toMatchObject({ code: 'LEASE_HELD' })
    expect(stateOf()).toMatchObject({
      lease: null,
      instances: [
        { uuid: instanceOf(0), name: expect.stringMatching(/MIG 3g\.20gb$/), lease: { uid: ownUid, mps: false } },
        { uuid: instanceOf(1), lease: { uid: ownUid } },
      ],
    })
    expect(stateOf(1).instances.map(({ lease }) => lease)).toEqual([null, null])
    await first.release()
    expect(stateOf().instances[0]).toMatchObject({ lease: null })
    expect(first.isHeld).toBe(false)
    await expect(first.startMps()).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    await acquireInstance(instanceOf(0))
    await expect(acquireInstance('MIG-00000000-0000-0000-0000-000000000000')).rejects.toMatchObject({
      code: 'NO_SUCH_BOARD',
    })
    await expect(acquireInstance(uuidOf())).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(audit()).toContainEqual(
      expect.objectContaining({ event: 'lease-acquired', board: uuidOf(), instance: instanceOf(0) }),
    )
    const text = await (await fetch(`${service.url}/metrics`)).text()
    expect(text).toMatch(new RegExp(`^pctodl_board_leased\\{gpu="0",UUID="${instanceOf(0)}"\\} 1$`, 'm'))
    expect(text).toMatch(new RegExp(`^pctodl_board_leased\\{gpu="0",UUID="${uuidOf()}"\\} 0$`, 'm'))
  })

  it('let nobody change their board: clocks, limit and modes are all tenants’', async () => {
    // Also not him who holds every instance: others may be made at any time.
    for (const instance of [0, 1]) {
      const client = await open()
      await client.request({ type: 'acquire', board: instanceOf(instance) })
      for (const change of [
        { kind: 'power-limit', powerLimitW: 200 },
        { kind: 'sm-clock', range: { minMhz: 1005, maxMhz: 1005 } },
        { kind: 'sm-clock', range: null },
        { kind: 'mem-clock', range: { minMhz: 1215, maxMhz: 1215 } },
        { kind: 'compute-mode', mode: 'prohibited' },
        { kind: 'persistence', enabled: true },
        // Neither what it is set to.
        { kind: 'power-limit', powerLimitW: LIMIT_W },
      ] as const) {
        await expect(client.request({ type: 'change', board: instanceOf(instance), change })).rejects.toMatchObject({
          code: 'INSTANCE_LEASE',
          message: expect.stringMatching(
            new RegExp(`a part of ${uuidOf()}.*the whole board's.*acquire ${uuidOf()}, too`),
          ),
        })
      }
      // Nor the board by its own name, without a lease of that.
      const change = { kind: 'power-limit', powerLimitW: 200 } as const
      await expect(client.request({ type: 'change', board: uuidOf(), change })).rejects.toMatchObject({
        code: 'LEASE_RELEASED',
      })
    }
    expect(node.devices[0]!.powerLimitW()).toBe(LIMIT_W)
    expect(node.devices[0]!.computeMode()).toBe('default')
    expect(journals()).toEqual([])
    expect(audit().filter(({ event }) => event === 'changed')).toEqual([])
  })

  it('and their board are one program’s at the same time, which then changes it, and it is put back with that lease', async () => {
    const instance = await acquireInstance(instanceOf(0))
    const environment = await mpsOf(instance)
    const pid = tenant({ ...environment, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50' })
    await becomesClient(instance, pid)
    const board = await acquireBoard()
    await board.setPowerLimit(200)
    await board.lockSmClock(1005)
    expect(node.devices[0]!.powerLimitW()).toBe(200)
    expect(journals()).toEqual([uuidOf()])
    await board.release()
    expect(node.devices[0]!.powerLimitW()).toBe(LIMIT_W)
    expect(journals()).toEqual([])
    // What is held of it goes on, and keeps root's own programs out.
    await instance.verifyMpsClient(pid)
    expect(stateOf().instances[0]!.lease).toMatchObject({ mps: true })
    await expect(acquireDirectly()).rejects.toMatchObject({ code: 'LEASE_HELD' })
    await instance.release()
    await (await acquireDirectly()).release()
  })

  it('and their board: a lease of the board finds what it was set to then, not when an instance was leased', async () => {
    await acquireInstance(instanceOf(0))
    execFileSync('nvidia-smi', ['-i', '0', '-pl', '220'], { stdio: 'ignore' })
    try {
      const board = await acquireBoard()
      expect(board.found.powerLimitW).toBe(220)
      await board.setPowerLimit(200)
      await board.release()
      expect(node.devices[0]!.powerLimitW()).toBe(220)
    } finally {
      execFileSync('nvidia-smi', ['-i', '0', '-pl', String(LIMIT_W)], { stdio: 'ignore' })
    }
  })

  it('keep root’s own programs out of their board, and are kept out by them', async () => {
    const own = await acquireDirectly()
    await expect(acquireInstance(instanceOf(0))).rejects.toMatchObject({ code: 'LEASE_HELD' })
    expect(stateOf().instances[0]).toMatchObject({ lease: null })
    await own.release()
    const first = await acquireInstance(instanceOf(0))
    const second = await acquireInstance(instanceOf(1))
    await first.release()
    await expect(acquireDirectly()).rejects.toMatchObject({ code: 'LEASE_HELD' })
    await second.release()
    await (await acquireDirectly()).release()
  })

  it.skipIf(ownUid !== 0)(
    'are other users’ at the same time, but not their board (needs root to be others)',
    async () => {
      const mine = await acquireInstance(instanceOf(0))
      const alice = await openAs(ALICE)
      await expect(alice.request({ type: 'acquire', board: instanceOf(0) })).rejects.toMatchObject({
        code: 'LEASE_HELD',
      })
      await expect(alice.request({ type: 'acquire', board: uuidOf() })).rejects.toMatchObject({
        code: 'LEASE_HELD',
        message: expect.stringMatching(
          new RegExp(`${instanceOf(0)}, a part of ${uuidOf()}, is leased by process .* of user 0`),
        ),
      })
      await alice.request({ type: 'acquire', board: instanceOf(1) })
      expect(stateOf().instances.map(({ lease }) => lease?.uid)).toEqual([0, ALICE])
      // The board is not to be had beside her, by whoever holds another instance.
      await expect(acquireBoard()).rejects.toMatchObject({ code: 'LEASE_HELD', message: /of user 60001/ })
      // Neither is what is another's.
      for (const body of [
        { type: 'release', board: instanceOf(0) },
        { type: 'mps-start', board: instanceOf(0) },
      ] as const)
        await expect(alice.request(body)).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
      alice.close()
      await eventually(() => stateOf().instances[1]!.lease === null, 'hers has ended')
      const board = await acquireBoard()
      await board.setPowerLimit(200)
      const again = await openAs(ALICE)
      for (const instance of [0, 1]) {
        await expect(again.request({ type: 'acquire', board: instanceOf(instance) })).rejects.toMatchObject({
          code: 'LEASE_HELD',
          message: expect.stringMatching(
            instance === 0 ? /^MIG-\S+ is leased/ : /as a part of GPU-\S+, is leased by process/,
          ),
        })
      }
      await board.release()
      await again.request({ type: 'acquire', board: instanceOf(1) })
      // The other board is nobody's business.
      await again.request({ type: 'acquire', board: uuidOf(1) })
      expect(mine.isHeld).toBe(true)
    },
  )

  it('have MPS daemons and tenants of their own, which end with the lease', async () => {
    const [one, two] = [await acquireInstance(instanceOf(0)), await acquireInstance(instanceOf(1))]
    const environments = [await mpsOf(one), await mpsOf(two)]
    await expect(one.startMps()).rejects.toMatchObject({ code: 'MPS_ALREADY_RUNNING' })
    const [first, second, third] = [
      tenant({ ...environments[0], CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '40' }),
      tenant({ ...environments[0], CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50' }),
      tenant({ ...environments[1], CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '60' }),
    ] as const
    await Promise.all([becomesClient(one, first), becomesClient(one, second), becomesClient(two, third)])
    const [a, b] = node.devices[0]!.mig()!.instances
    const at = (pid: number) => {
      const found = node.devices[0]!.computeProcesses().find((each) => each.pid === pid)
      return [found?.gpuInstanceId, found?.computeInstanceId, found?.isMpsClient]
    }
    expect([first, second].map(at)).toEqual(Array(2).fill([a!.gpuInstanceId, a!.computeInstanceId, true]))
    expect(at(third)).toEqual([b!.gpuInstanceId, b!.computeInstanceId, true])
    // A client of one is none of the other.
    await expect(two.verifyMpsClient(first)).rejects.toMatchObject({ code: 'MPS_NOT_A_CLIENT' })
    const text = await (await fetch(`${service.url}/metrics`)).text()
    expect(text).toMatch(new RegExp(`^pctodl_board_mps\\{gpu="0",UUID="${instanceOf(0)}"\\} 1$`, 'm'))
    await one.release()
    await eventually(
      () => !node.devices[0]!.computeProcesses().some(({ pid }) => pid !== third),
      'its tenants are gone',
    )
    await two.verifyMpsClient(third)
    expect(stateOf().instances[1]!.lease).toMatchObject({ mps: true })
    await two.stopMps(0)
  })

  it('are where the daemon of a divided board is not', async () => {
    const board = await acquireBoard()
    await expect(board.startMps()).rejects.toMatchObject({
      code: 'MPS_DIVIDED',
      message: expect.stringContaining(instanceOf(0)),
    })
  })

  it('are in the policy by themselves, or with their board', async () => {
    node.allow({ users: [ownUid], boards: [instanceOf(0)] }, { users: [ownUid], boards: [uuidOf(1)], mps: true })
    const instance = await acquireInstance(instanceOf(0))
    await expect(instance.startMps()).rejects.toMatchObject({ code: 'NOT_ALLOWED', message: /have MPS on MIG-/ })
    await expect(acquireInstance(instanceOf(1))).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect(acquireBoard()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await acquireInstance(instanceOf(1, 1))
    node.allow({ users: [ownUid], boards: [instanceOf(0)], leaseSeconds: 1 })
    await eventually(() => stateOf().instances[0]!.lease === null, 'it has lasted too long')
    await eventually(() => stateOf(1).instances[1]!.lease === null, 'no rule is for it any more')
  })

  it('end with what they are: taken apart by the operator, on a board that is lost, or by the epilog of a job', async () => {
    const [one, other] = [await acquireInstance(instanceOf(0, 1)), await acquireInstance(instanceOf(1, 1))]
    const smi = (...words: string[]) => execFileSync('nvidia-smi', ['mig', '-i', '1', ...words], { stdio: 'ignore' })
    smi('-dci', '-gi', '1')
    smi('-dgi', '-gi', '1')
    await eventually(() => !one.isHeld, 'it is seen to be gone')
    await expect(one.startMps()).rejects.toMatchObject({ message: /the instance is gone/ })
    expect(other.isHeld).toBe(true)
    smi('-cgi', '3g.20gb', '-C')
    await eventually(() => stateOf(1).instances.length === 2, 'it is there again')

    const here = await acquireInstance(instanceOf(0))
    await node.call('loseBoard', 1)
    await eventually(() => !other.isHeld, 'the board is seen to be lost')
    await node.call('findBoard', 1)
    await eventually(() => service.status().ready, 'the board is back')
    expect(here.isHeld).toBe(true)

    await acquireInstance(instanceOf(1, 1))
    const operator = await open()
    expect(await operator.request({ type: 'end-leases', uid: null, boards: [uuidOf(1)] })).toEqual({
      ended: [instanceOf(1, 1)],
    })
    expect(await operator.request({ type: 'end-leases', uid: ownUid, boards: [instanceOf(0)] })).toEqual({
      ended: [instanceOf(0)],
    })
    expect(here.isHeld).toBe(false)
  })

  it('are listed by pctodld status', async () => {
    await acquireInstance(instanceOf(0))
    const programs = await buildPrograms()
    try {
      const words = [programs.file('pctodld'), 'status', '--socket', node.options.socket]
      const text = await new Promise<string>((resolve) => {
        execFile(process.execPath, words, (_, stdout) => resolve(stdout))
      })
      expect(text).toMatch(
        new RegExp(`^ {2}NVIDIA A100\\S* MIG 3g.20gb \\(${instanceOf(0)}\\): leased by process`, 'm'),
      )
      expect(text).toMatch(new RegExp(`^ {2}NVIDIA A100\\S* MIG 3g.20gb \\(${instanceOf(1)}\\): free$`, 'm'))
    } finally {
      programs.remove()
    }
  })
})
