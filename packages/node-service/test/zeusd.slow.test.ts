import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import { eventually, isFree, missingCompiler, type Node, NodeService, startNode } from './node-host.js'

const ownUid = process.geteuid?.() ?? 0
const python = missingCompiler ? undefined : pythonWith(['zeus==0.16.0'], ['zeus.device.gpu.nvidia'])

describe.skipIf(missingCompiler)(`the socket for Zeus${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let node: Node
  let service: NodeService
  let isRunning = false
  const end = async () => {
    isRunning = false
    await service.close()
  }
  let zeusdSocket: string

  beforeAll(async () => {
    node = await startNode({ gpus: 2, privilege: 'everyone' })
    zeusdSocket = path.join(node.folder, 'run', 'zeusd.sock')
  })
  afterAll(async () => {
    if (isRunning) await end()
    await node?.stop()
  })
  beforeEach(async () => {
    const clocks = { min: 300, max: 1500 }
    node.allow({ users: [ownUid], boards: ['*'], powerLimitW: { min: 200, max: 300 }, smClockMhz: clocks })
    if (!isRunning) service = await NodeService.start({ ...node.options, zeusdSocket })
    isRunning = true
  })
  afterEach(async () => {
    if (isRunning && !(await isFree(service))) await end()
    for (const device of node.devices) expect(device.powerLimitW()).toBe(350)
  })

  const ask = (method: 'GET' | 'POST', address: string, body = '') =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const asking = request({ socketPath: zeusdSocket, method, path: address, agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      asking.on('error', reject)
      asking.end(body)
    })
  const post = async (address: string, body?: string) => (await ask('POST', address, body)).status
  const limit = (ids: string, watts: number | string) =>
    `/gpu/set_power_limit?gpu_ids=${ids}&power_limit_mw=${watts}000&block=true`
  const lease = (index = 0) => service.status().boards[index]!.lease

  it('tells what it has, and what the boards read', async () => {
    expect(statSync(zeusdSocket).mode & 0o777).toBe(0o660)
    expect(JSON.parse((await ask('GET', '/discover')).text)).toMatchObject({
      gpus: [{ id: 0 }, { id: 1 }],
      auth_required: false,
    })
    const get = async (address: string) => JSON.parse((await ask('GET', address)).text)
    expect(await get('/gpu/get_power_limit?gpu_ids=1')).toEqual({ 1: { power_limit_mw: 350_000 } })
    expect(await get('/gpu/get_power_limit_constraints')).toMatchObject({ 0: { max_power_limit_mw: 400_000 } })
    expect((await get('/gpu/get_cumulative_energy?gpu_ids=0'))[0].energy_mj).toBeGreaterThan(0)
    expect((await get('/gpu/get_power')).power_mw[1]).toBeGreaterThan(5000)
    expect(lease()).toBeNull()
  })

  it('sets what the policy allows, under a lease that stays with the process', async () => {
    expect(await post(limit('0', 250))).toBe(200)
    expect(node.devices[0]!.powerLimitW()).toBe(250)
    expect(lease()).toMatchObject({ pid: process.pid, program: 'zeus' })
    // Two settings at once share the lease; so does the interface of Zeus before 0.12.
    const both = [
      post(limit('0,1', 260)),
      post('/gpu/1/set_gpu_locked_clocks', '{"min_clock_mhz":600,"max_clock_mhz":900}'),
    ]
    expect(await Promise.all(both)).toEqual([200, 200])
    expect(node.devices.map((device) => device.powerLimitW())).toEqual([260, 260])
    const audit = readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8')
    expect(audit).toMatch(/"event":"changed".*"program":"zeus"/)
  })

  it('refuses what the policy does not allow, keeps no board for it, and outlives nonsense', async () => {
    expect(await ask('POST', limit('0', 301))).toMatchObject({ status: 403, text: /policy allows 200 to 300 W/ })
    expect(await post('/gpu/set_persistence_mode?gpu_ids=0&enabled=true')).toBe(403)
    expect(lease()).toBeNull()
    expect(await post(limit('0', 250))).toBe(200)
    expect(await post('/gpu/set_mem_locked_clocks?gpu_ids=0&min_clock_mhz=405&max_clock_mhz=405')).toBe(403)
    for (const [address, body, status] of [
      [limit('7', 250), '', 404],
      [limit('0', '-'), '', 400],
      ['/gpu/set_power_limit?gpu_ids=0', '', 400],
      ['/gpu/set_power_limit?power_limit_mw=250000', '', 400],
      ['/gpu/set_gpu_locked_clocks?gpu_ids=0&min_clock_mhz=1e9&max_clock_mhz=0', '', 400],
      ['/gpu/0/set_power_limit', '[', 400],
      ['/gpu/0/set_power_limit', 'x'.repeat(5000), 400],
      ['/gpu/0/constructor', '{}', 404],
      ['//', '', 400],
      ['/gpu', '', 404],
    ] as const)
      expect([address, await post(address, body)]).toEqual([address, status])
    // None of it has cost the lease.
    expect(lease()).toMatchObject({ program: 'zeus' })
    expect(node.devices[0]!.powerLimitW()).toBe(250)
  })

  const title = `serves Zeus itself, unmodified, within the policy${python ? '' : ' (needs zeus in Python)'}`
  it.skipIf(!python)(title, async () => {
    const script = `
import json, sys
from zeus.device import get_gpus
gpus = get_gpus()
gpus.set_power_management_limit(0, 250_000)
gpus.set_gpu_locked_clocks(0, 600, 900)
refused = {}
for name, call in {
    "limit": lambda: gpus.set_power_management_limit(0, 390_000),
    "clock": lambda: gpus.set_gpu_locked_clocks(0, 600, 2100),
    "memory": lambda: gpus.set_memory_locked_clocks(0, 405, 405),
    "persistence": lambda: gpus.set_persistence_mode(0, True),
}.items():
    try: call()
    except Exception as error: refused[name] = f"{type(error).__name__}: {error}"
print(json.dumps(dict(
    kind=type(gpus.gpus[0]).__name__, limit=gpus.get_power_management_limit(0),
    persistence=gpus.get_persistence_mode(0), refused=refused,
)), flush=True)
sys.stdin.read(1)
gpus.reset_power_management_limit(0)
gpus.reset_gpu_locked_clocks(0)
print(json.dumps(gpus.get_power_management_limit(0)), flush=True)
sys.stdin.read()
`
    const client = spawn(python!, ['-c', script], {
      env: { ...process.env, ZEUSD_SOCK_PATH: zeusdSocket },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    try {
      const lines = createInterface({ input: client.stdout! })[Symbol.asyncIterator]()
      const { refused, ...rest } = JSON.parse((await lines.next()).value)
      expect(rest).toEqual({ kind: 'ZeusdNVIDIAGPU', limit: 250_000, persistence: false })
      expect(refused).toEqual({
        limit: expect.stringMatching(/^ZeusdError: .*user \d+ may not set power limit 390 W .*200 to 300 W/),
        clock: expect.stringMatching(/^ZeusdError: .*may not set SM clock .*300 to 1500 MHz/i),
        memory: expect.stringMatching(/^ZeusdError: .*may not set/),
        persistence: expect.stringMatching(/^ZeusdError: .*may not set/),
      })
      expect(node.devices[0]!.powerLimitW()).toBe(250)
      expect(lease()).toMatchObject({ pid: client.pid, program: 'zeus' })
      client.stdin!.write('\n')
      expect(JSON.parse((await lines.next()).value)).toBe(350_000)
      expect(lease()).toMatchObject({ pid: client.pid })
    } finally {
      client.kill('SIGKILL')
    }
    await eventually(() => lease() === null, 'the lease has ended with the process')
  })

  it.skipIf(ownUid !== 0)(
    'has no place in its queue for strangers, until the policy knows them (needs root)',
    async () => {
      const connectAs = (uid: number) =>
        new Promise<string>((resolve) => {
          process.seteuid!(uid)
          const socket = connect(zeusdSocket)
          process.seteuid!(0)
          socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
          socket.once('connect', () => {
            socket.destroy()
            resolve('connected')
          })
        })
      expect(await connectAs(60_002)).toBe('EACCES')
      node.allow({ users: [60_002], boards: ['*'] })
      await eventually(async () => (await connectAs(60_002)) === 'connected', 'the policy knows it')
    },
  )

  it('puts the board back when the process that has set it is killed', async () => {
    const script = `
      const { request } = require('node:http')
      const options = { socketPath: process.argv[1], method: 'POST', path: process.argv[2] }
      request(options, (response) => console.log(response.statusCode)).end()
      setInterval(() => {}, 1000)`
    const start = async (watts: number) => {
      const client = spawn(process.execPath, ['-e', script, zeusdSocket, limit('1', watts)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const said = await new Promise((resolve) => client.stdout.once('data', (data) => resolve(String(data).trim())))
      return { client, said }
    }
    const { client, said } = await start(222)
    expect([said, node.devices[1]!.powerLimitW()]).toEqual(['200', 222])
    const other = await start(230)
    other.client.kill('SIGKILL')
    expect([other.said, node.devices[1]!.powerLimitW()]).toEqual(['409', 222])
    client.kill('SIGKILL')
    await eventually(() => node.devices[1]!.powerLimitW() === 350, 'the board is back')
    await eventually(() => lease(1) === null, 'the lease has ended')
  })
})
