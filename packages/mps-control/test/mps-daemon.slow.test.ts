import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isRunning, loadNvml, openGpu, processIdentity, startVariableOf, withLease } from '@pctodl/nvml-control'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { MpsDaemon, type MpsDaemonOptions } from '../src/index.js'
import { type MpsHost, missingCompiler, startMpsHost, type Worker } from './mps-host.js'

const withMore = fileURLToPath(new URL('./fixtures/daemon-with-more', import.meta.url))

describe.skipIf(missingCompiler)(`an MPS daemon${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: MpsHost
  let directory: string
  let workers: Worker[]
  let mps: MpsDaemon
  let places = 0

  beforeAll(async () => {
    host = await startMpsHost()
    process.env['CUDA_MPS_BEHIND'] = path.join(host.environment['PATH']!.split(':')[0]!, 'nvidia-cuda-mps-control')
  })
  afterAll(async () => {
    delete process.env['CUDA_MPS_BEHIND']
    await host?.stop()
  })
  beforeEach(() => {
    directory = path.join(host.folder, `place-${places++}`)
    mps = daemon()
    workers = []
  })
  afterEach(async () => {
    for (const worker of workers) worker.end()
    await Promise.all(workers.map((worker) => worker.ended))
    await mps.stop({ graceMs: 1000 })
  })

  const daemon = (options: MpsDaemonOptions = {}) => new MpsDaemon({ directory, ...options })
  const work = (percent: number) => {
    const worker = host.worker(mps.clientEnvironment(percent))
    workers.push(worker)
    return worker
  }

  it('has nothing in its environment that would lead it to other code', async () => {
    process.env['LD_PRELOAD'] = ''
    process.env['PCTODL_TEST_SECRET'] = 'x'
    try {
      await mps.start()
      const { pid } = mps.place.daemon()!
      expect(['LD_PRELOAD', 'PCTODL_TEST_SECRET', 'NODE_OPTIONS'].map((name) => startVariableOf(pid, name))).toEqual([
        null,
        null,
        null,
      ])
    } finally {
      delete process.env['LD_PRELOAD']
      delete process.env['PCTODL_TEST_SECRET']
    }
  })

  it('is refused a place whose socket would have too long a path', async () => {
    const long = daemon({ directory: path.join(host.folder, 'x'.repeat(90)) })
    await expect(long.start()).rejects.toMatchObject({ code: 'MPS_FOLDER', message: /bytes too long/ })
  })

  it('lives from stopped to active and back, verified at both ends', async () => {
    expect(mps.state).toBe('stopped')
    expect(await mps.status()).toMatchObject({ state: 'stopped', daemon: null, isOurs: false, servers: [] })
    expect(await mps.start({ defaultPercent: 40 })).toEqual({ removed: [] })
    const { state, daemon: process, isOurs, servers } = await mps.status()
    expect([state, isOurs]).toEqual(['active', true])
    expect(servers).toEqual([{ pid: expect.any(Number), status: 'ACTIVE', activeThreadPercentage: 40, clients: [] }])
    await mps.assertHealthy()
    expect(await mps.stop()).toBe('quit')
    expect(isRunning(process!)).toBe(false)
    expect(processIdentity(servers[0]!.pid)).toBeNull()
    expect(mps.state).toBe('stopped')
    await expect(mps.assertHealthy()).rejects.toMatchObject({ code: 'MPS_NO_DAEMON' })
    await expect(mps.clients()).rejects.toMatchObject({ code: 'MPS_NO_DAEMON', message: /pctodl mps start/ })
    expect(await mps.stop()).toBe('not-running')
  })

  it('has clients with shares, tells who they are, and knows who is none', async () => {
    await mps.start()
    const client = work(25)
    await mps.verifyClient(client.pid)
    expect(await mps.clients()).toEqual([client.pid])
    const device = loadNvml({ libraryPath: host.libraryPath }).deviceByIndex(0)
    expect(device.computeProcesses()).toMatchObject([{ pid: client.pid, isMpsClient: true }])
    await expect(mps.verifyClient(process.pid, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'MPS_NOT_A_CLIENT',
      message: /clientEnvironment/,
    })
    const [server] = await mps.servers()
    await mps.control.askIfKnown(`terminate_client ${server} ${client.pid}`)
    expect(await client.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('CUDA error 810') })
    await expect(mps.verifyClient(client.pid)).rejects.toMatchObject({ code: 'MPS_NOT_A_CLIENT', message: /has ended/ })
    await expect(mps.control.askIfKnown(`terminate_client ${server} ${client.pid}`)).rejects.toMatchObject({
      code: 'MPS_REFUSED',
    })
  })

  it('makes an environment for clients', () => {
    expect(
      mps.clientEnvironment(12.5, {
        pinnedMemoryBytes: { 0: 2 ** 30, 1: 512 * 2 ** 20 },
        priority: 1,
        smPartition: 'GPU-0/a',
      }),
    ).toEqual({
      CUDA_MPS_PIPE_DIRECTORY: path.join(directory, 'pipe'),
      CUDA_MPS_LOG_DIRECTORY: path.join(directory, 'log'),
      CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '12.5',
      CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: '0=1024M,1=512M',
      CUDA_MPS_CLIENT_PRIORITY: '1',
      CUDA_MPS_SM_PARTITION: 'GPU-0/a',
    })
    for (const percent of [0, -1, 101, Number.NaN])
      expect(() => mps.clientEnvironment(percent)).toThrow(/above 0 and at most 100/)
    expect(() => mps.clientEnvironment(50, { pinnedMemoryBytes: { 0: 1 } })).toThrow(/at least 1 MiB/)
  })

  it('sets shares, memory limits and priorities, read back; and says what a daemon does not have', async () => {
    await mps.start()
    const [server] = await mps.servers()
    await mps.set('default_active_thread_percentage', 30)
    await mps.set('active_thread_percentage', 55.5, server!)
    expect((await mps.status()).servers[0]!.activeThreadPercentage).toBe(55.5)
    await mps.set('default_device_pinned_mem_limit', '1024M', 0)
    await mps.set('default_client_priority', 1)
    await expect(mps.set('active_thread_percentage', 50, 1)).rejects.toMatchObject({
      code: 'MPS_REFUSED',
      message: /Server 1 not found/,
    })
    await expect(mps.set('device_pinned_mem_limit', '1024M', server!, 0)).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
    })
    await expect(mps.set('default_client_priority 1\nquit', 1)).rejects.toMatchObject({ field: 'command' })
    await expect(mps.control.askIfKnown('lspart')).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
      message: /newer driver/,
    })
    await expect(mps.start()).rejects.toMatchObject({ code: 'MPS_ALREADY_RUNNING', message: /pctodl mps stop/ })
    expect((await daemon().status()).isOurs).toBe(true)
  })

  it('limits memory only of boards that its clients see', async () => {
    const uuids = ['GPU-00000000-0000-0000-0000-000000000000', 'GPU-00000000-0000-0000-0000-000000000001']
    await mps.start({ deviceUuids: uuids })
    for (const device of [0, '1', uuids[1]!]) await mps.set('default_device_pinned_mem_limit', '1G', device)
    for (const device of [2, -1, 'GPU-7', '']) {
      await expect(mps.set('default_device_pinned_mem_limit', '1G', device)).rejects.toMatchObject({
        field: 'device',
        message: expect.stringContaining(`expected a number below 2, or one of ${uuids.join(', ')}`),
      })
    }
    await expect(mps.set('default_device_pinned_mem_limit', '1G')).rejects.toMatchObject({ field: 'device' })
  })

  it('limits memory of any board by its UUID if the daemon was started with numbers, or with spaces', async () => {
    const uuids = ['GPU-00000000-0000-0000-0000-000000000000', 'GPU-00000000-0000-0000-0000-000000000001'] as const
    for (const [named, device] of [
      ['0,1', uuids[1]],
      ['GPU-00,0', uuids[0]],
      [uuids.join(', '), uuids[1]],
    ] as const) {
      vi.stubEnv('CUDA_VISIBLE_DEVICES', named)
      await mps.start().finally(() => vi.unstubAllEnvs())
      await mps.set('default_device_pinned_mem_limit', '1G', device)
      await expect(mps.set('default_device_pinned_mem_limit', '1G', 2)).rejects.toMatchObject({ field: 'device' })
      await mps.stop()
    }
  })

  it('holds the boards exclusive under a lease, and gives the mode back', async () => {
    const gpu = await openGpu(0, { libraryPath: host.libraryPath })
    await withLease(gpu, async (lease) => {
      await mps.start({ exclusive: [lease], deviceUuids: [gpu.device.uuid] })
      expect(gpu.device.computeMode()).toBe('exclusive-process')
      const client = work(50)
      await mps.verifyClient(client.pid)
      const stranger = host.worker({ CUDA_MPS_PIPE_DIRECTORY: path.join(host.folder, 'nobody-here') })
      expect(await stranger.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('CUDA error 46') })
      await mps.stop({ graceMs: 1000 })
      expect(gpu.device.computeMode()).toBe('default')
      // A start that fails changes nothing either.
      await expect(daemon({ program: 'no-such-program' }).start({ exclusive: [lease] })).rejects.toMatchObject({
        code: 'MPS_NO_PROGRAM',
      })
      expect(gpu.device.computeMode()).toBe('default')
    })
  })

  it('lets clients finish, and cuts off those that do not', async () => {
    await mps.start()
    const patient = work(50)
    await mps.verifyClient(patient.pid)
    setTimeout(() => patient.end(), 300)
    const startMs = performance.now()
    expect(await mps.stop({ graceMs: 50_000 })).toBe('quit')
    expect(performance.now() - startMs).toBeLessThan(45_000)
    expect((await patient.ended).code).toBe(0)

    await mps.start()
    const stubborn = work(50)
    await mps.verifyClient(stubborn.pid)
    expect(await mps.stop({ graceMs: 1000 })).toBe('quit')
    expect((await stubborn.ended).code).toBe(1)
  })

  it('starts in spite of what a dead daemon left, even where its pid is used again', async () => {
    await mps.start()
    const { daemon: dead } = await mps.status()
    // Everybody whom the folder lets in can write to the pid file of a real daemon.
    for (const text of ['1', 'x', '']) {
      writeFileSync(path.join(directory, 'pipe', 'nvidia-cuda-mps-control.pid'), text)
      expect(await mps.status()).toMatchObject({ daemon: { pid: dead!.pid }, isOurs: true })
    }
    process.kill(dead!.pid, 'SIGKILL')
    await expect.poll(async () => (await mps.status()).state).toBe('fault')
    await expect(mps.assertHealthy()).rejects.toMatchObject({ code: 'MPS_FAULT', message: /vanished/ })
    await mps.recover()
    expect(await mps.status()).toMatchObject({ state: 'active', isOurs: true })
    await mps.stop()

    mkdirSync(path.join(directory, 'pipe'), { recursive: true, mode: 0o700 })
    // Somebody else's process has the pid by now: it must neither be taken for the daemon nor be ended.
    const bystander = spawn('sleep', ['30'])
    writeFileSync(path.join(directory, 'pipe', 'nvidia-cuda-mps-control.pid'), `${bystander.pid}\n`)
    expect((await mps.status()).daemon).toBeNull()
    expect((await mps.start()).removed).toEqual([path.join(directory, 'pipe', 'nvidia-cuda-mps-control.pid')])
    await mps.stop()
    expect(bystander.exitCode).toBeNull()
    bystander.kill()
  })

  it("leaves somebody else's daemon alone", async () => {
    mkdirSync(path.join(directory, 'pipe'), { recursive: true, mode: 0o700 })
    const env = { ...process.env, ...mps.place.environment }
    await promisify(execFile)(process.env['CUDA_MPS_BEHIND']!, ['-d'], { env })
    expect(await mps.status()).toMatchObject({ state: 'active', isOurs: false, daemon: { pid: expect.any(Number) } })
    await expect(mps.start()).rejects.toMatchObject({ code: 'MPS_FOREIGN_DAEMON' })
    await expect(mps.stop()).rejects.toMatchObject({ code: 'MPS_FOREIGN_DAEMON', message: /another --directory/ })
    expect((await mps.status()).state).toBe('active')
    const quit = execFile(process.env['CUDA_MPS_BEHIND']!, [], { env })
    quit.stdin!.end('quit\n')
    await new Promise((resolve) => quit.once('exit', resolve))
  })

  describe('with a newer program', () => {
    let notes: string

    beforeEach(() => {
      notes = path.join(host.folder, 'arguments')
      process.env['CUDA_MPS_NOTES'] = notes
      mps = daemon({ program: withMore })
    })
    afterEach(() => {
      delete process.env['CUDA_MPS_NOTES']
    })

    it('cuts static partitions', async () => {
      await mps.start({ staticPartitioning: true })
      expect(readFileSync(notes, 'utf8').trim()).toBe('-S')
      expect(await mps.control.askIfKnown('lspart')).toEqual(['GPU-0  16 chunks free'])
      expect(await mps.control.askIfKnown('sm_partition add GPU-0 4')).toEqual(['Partition GPU-0/Xy created'])
      await expect(mps.control.askIfKnown('sm_partition add GPU-0 99')).rejects.toMatchObject({ code: 'MPS_REFUSED' })
    })

    it.each([
      [41, /refuses 'set_default_active_thread_percentage 41': Failed to set/],
      [42, /accepted 'set_default_active_thread_percentage 42', but reads back '100\.0'/],
    ])('does not start with a share of %d %% that the daemon does not set', async (defaultPercent, message) => {
      await expect(mps.start({ defaultPercent })).rejects.toMatchObject({ code: 'MPS_REFUSED', message })
      expect(await mps.status()).toMatchObject({ state: 'stopped', daemon: null })
    })
  })

  it('refuses folders that are not its own, and a record that is none', async () => {
    const file = path.join(host.folder, 'file')
    writeFileSync(file, '')
    await expect(new MpsDaemon({ directory: path.join(file, 'mps') }).start()).rejects.toMatchObject({
      code: 'MPS_FOLDER',
      message: /--directory/,
    })
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    writeFileSync(path.join(directory, 'daemon.json'), '{}')
    await expect(mps.status()).rejects.toMatchObject({ code: 'MPS_FOLDER', message: /daemon.json/ })
    rmSync(path.join(directory, 'daemon.json'))
    expect(existsSync(directory)).toBe(true)
  })

  it('gives up on a daemon that does not answer, and ends it', async () => {
    await mps.start()
    const { daemon: hung } = await mps.status()
    process.kill(hung!.pid, 'SIGSTOP')
    const impatient = daemon({ timeoutMs: 300 })
    await expect(impatient.clients()).rejects.toMatchObject({ code: 'MPS_TIMEOUT' })
    expect(await impatient.status()).toMatchObject({
      state: 'fault',
      reason: expect.stringMatching(/does not answer/),
      isOurs: true,
    })
    expect(await impatient.stop()).toBe('killed')
    expect(isRunning(hung!)).toBe(false)
    expect(await mps.status()).toMatchObject({ state: 'fault', reason: 'the MPS daemon has vanished' })
  })
})
