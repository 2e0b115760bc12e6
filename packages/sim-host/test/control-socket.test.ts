import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { physicsOfBoard, simulateSteadyState } from '@pctodl/gpu-sim'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { attachProcess } from '../src/attached-process.js'
import type { SetterAnswer } from '../src/board-file.js'
import { operations } from '../src/board-file-layout.js'
import type { AttachReply, AttachRequest, BoardsReply, CountersReply, StepReply } from '../src/control-protocol.js'
import { controlSocket, settersSocket } from '../src/host-folder-layout.js'
import { MessageClient, onMessages, send } from '../src/message-socket.js'
import { SimulatedHost } from '../src/simulated-host.js'
import { cacheFolder, eventually, missingCompiler } from './built-host.js'

const board = '3080Ti'
const vgg = { model: 'vgg19', batchSize: 1, mpsPercent: 100 }

describe.skipIf(missingCompiler)(`a process from outside${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: SimulatedHost
  const clients: MessageClient[] = []

  beforeAll(async () => {
    const physics = physicsOfBoard(board)
    const process = { ...physics.process, startMs: 10 }
    // No program of it is started here.
    const options = { board, gpus: 2, privilege: 'everyone', cacheFolder, programsFolder: tmpdir() } as const
    host = await SimulatedHost.start({ ...options, physics: { ...physics, process } })
  })
  // A failed test leaves no tenant behind for the next.
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })
  afterAll(() => host?.close())

  async function connection() {
    const client = await MessageClient.open(controlSocket(host.folder))
    clients.push(client)
    return client
  }
  async function attached(fields: object = {}) {
    const client = await connection()
    const gone = new Promise<void>((resolve) => {
      client.onClose = resolve
    })
    const request = { kind: 'attach', protocol: 1, pid: process.pid, name: 'server', tenant: vgg, stepwise: true }
    const reply = await client.request<AttachReply>({ ...request, ...fields })
    const step = (batchSize: number) => client.request<StepReply>({ kind: 'step', batchSize })
    return { client, reply, step, gone }
  }
  async function meanMs(steps: number, run: () => Promise<StepReply>) {
    let sum = 0
    for (let i = 0; i < steps; i++) sum += (await run()).durationMs
    return sum / steps
  }
  const boards = async (client: MessageClient) => client.request<BoardsReply>({ kind: 'boards', protocol: 1 })

  it('gets each batch in the time that the engine predicts, and the board draws what it predicts, limit by limit', async () => {
    const { client, reply, step } = await attached()
    const setters = await MessageClient.open(settersSocket(host.folder))
    clients.push(setters)
    expect(reply).toEqual({ protocol: 1, cudaError: 0, message: '', isMpsClient: false, mpsPercent: 100 })
    for (const limitW of [350, 150]) {
      const set = { kind: 'set', gpuIndex: 0, operation: operations.setPowerLimit, second: 0, uid: 0 }
      expect(await setters.request<SetterAnswer>({ ...set, first: 1000 * limitW })).toEqual({ result: 0, value: 0 })
      // The firmware reads this unit's own sensor.
      const steady = simulateSteadyState(board, { powerLimitW: host.gpus[0]!.trueWatts(limitW), mps: 'off' })({
        tenants: [{ ...vgg, batchSize: 128 }],
        smClockMhz: host.gpus[0]!.spec.boostClockMhz,
        memClockMhz: host.gpus[0]!.spec.performanceMemClocksMhz[0]!,
      })
      // Until the firmware has found the clock.
      await meanMs(5, () => step(128))
      const before = await boards(client)
      const durationMs = await meanMs(15, () => step(128))
      const after = await boards(client)
      const [from, to] = [before.boards[0]!, after.boards[0]!]
      const watts = (to.truth.energyJ - from.truth.energyJ) / ((after.timeMs - before.timeMs) / 1000)
      const figures = `${limitW} W: ${durationMs} ms of ${steady.tenants[0]!.batchMs}, ${watts} W of ${steady.powerW}`
      // Between two batches the client had its turn: on a busy machine the board idles there, and has the more for the batches.
      const busyShare = (15 * durationMs) / (after.timeMs - before.timeMs)
      const pace = durationMs / steady.tenants[0]!.batchMs
      expect(pace, figures).toBeGreaterThan(0.95 * Math.min(1, busyShare))
      expect(pace, figures).toBeLessThan(1.05)
      expect(watts / busyShare, figures).toBeGreaterThan(0.95 * steady.powerW)
      expect(watts, figures).toBeLessThan(1.05 * steady.powerW)
      expect(to).toMatchObject({ index: 0, uuid: host.boards[0]!.uuid, powerLimitW: limitW })
      expect(to.powerW! / watts).toBeGreaterThan(0.8)
      expect(to.busyPercent).toBeGreaterThan(50)
      expect(after.boards[1]).toMatchObject({ index: 1, busyPercent: 0 })
    }
    client.close()
  })

  it('changes the batch size of a process that is not stepwise', async () => {
    const { client } = await attached({ stepwise: false })
    const runsWith = (batchSize: number) =>
      eventually(async () => {
        const { lastBatchSize } = await client.request<CountersReply>({ kind: 'counters' })
        return lastBatchSize === batchSize
      }, `it runs with batches of ${batchSize}`)
    await runsWith(1)
    expect(await client.request({ kind: 'batch-size', batchSize: 16 })).toBeNull()
    await runsWith(16)
    client.close()
  })

  it('gives each call its batch size, and counts what was done', async () => {
    const { client, step } = await attached()
    await step(8)
    const [one, eight, oneAgain] = [await step(1), await step(8), await step(1)]
    expect(eight.durationMs).toBeGreaterThan(2 * one.durationMs)
    expect(Math.abs(oneAgain.durationMs / one.durationMs - 1)).toBeLessThan(0.1)
    const counters = await client.request<{ samples: number; batches: number }>({ kind: 'counters' })
    expect(counters).toMatchObject({ samples: 18, batches: 4, state: 'running' })
    client.close()
  })

  it('executes work that a process states, and takes twice as long for twice as much', async () => {
    const work = { kernels: 8, flops: 2e8, elements: 4096, weights: 1e8 }
    const [single, double] = [
      await attached({ work, tenant: undefined }),
      await attached({ gpu: '1', work: { ...work, kernels: 16 } }),
    ]
    for (const { step } of [single, double]) await meanMs(20, () => step(64))
    const ratio = (await meanMs(5, () => double.step(64))) / (await meanMs(5, () => single.step(64)))
    // On a busy machine the boards idle between steps and start each at another clock.
    expect(ratio).toBeGreaterThan(1.6)
    expect(ratio).toBeLessThan(2.5)
    for (const { client } of [single, double]) client.close()
  })

  it('shares the board with others in turns', async () => {
    const [one, other] = [await attached(), await attached()]
    const alone = await meanMs(5, () => one.step(64))
    let over = false
    const beside = (async () => {
      while (!over) await other.step(64)
    })()
    const shared = await meanMs(5, () => one.step(64))
    over = true
    await beside
    expect(shared).toBeGreaterThan(1.4 * alone)
    for (const { client } of [one, other]) client.close()
  })

  it('fails as out of memory with a batch that does not fit, and keeps nothing', async () => {
    const { client, step, gone } = await attached({ gpu: '1' })
    expect(await step(60_000)).toMatchObject({
      cudaError: 2,
      message: expect.stringContaining('out of memory'),
      durationMs: 0,
    })
    expect(await step(1)).toMatchObject({ cudaError: 2 })
    client.close()
    await gone
    await expect.poll(() => host.gpus[1]!.memoryUsedBytes()).toBe(host.gpus[1]!.physics.process.reservedBytes)
  })

  it('takes its place with it when it goes amid a batch', async () => {
    const { client, step } = await attached({ gpu: '1' })
    await step(1)
    expect(host.gpus[1]!.memoryUsedBytes()).toBeGreaterThan(host.gpus[1]!.physics.process.reservedBytes)
    const unheard = step(512).catch(() => 'closed')
    client.close()
    await unheard
    await expect.poll(() => host.gpus[1]!.memoryUsedBytes()).toBe(host.gpus[1]!.physics.process.reservedBytes)
  })

  it('tells nothing of a board that is lost', async () => {
    await host.loseBoard(1)
    const { boards: all } = await boards(await connection())
    expect(all[1]).toMatchObject({ index: 1, smClockMhz: null, powerW: null, energyJ: null, busyPercent: null })
    expect(all[0]!.powerW).toBeGreaterThan(0)
    await host.findBoard(1)
  })

  const attach = { kind: 'attach', pid: 1, name: 'x', tenant: vgg }
  it.each<[string, object, string]>([
    ['a protocol to come', { ...attach, protocol: 2 }, 'request.protocol'],
    ['no kind', { kind: 'dance' }, 'request.kind'],
    ['a kind of the prototype', { kind: 'toString' }, 'request.kind'],
    [
      'a change of a board',
      { kind: 'set', gpuIndex: 0, operation: 1, first: 1, second: 0, uid: 0 },
      'of those who may',
    ],
    ['a step before its place', { kind: 'step', batchSize: 1 }, 'attach before a step'],
    ['a batch of none', { kind: 'step', batchSize: 0 }, 'request.batchSize'],
    ['a batch too large', { kind: 'step', batchSize: 65_537 }, 'request.batchSize'],
    ['half a sample', { kind: 'step', batchSize: 1.5 }, 'request.batchSize'],
    ['a number in quotes', { kind: 'step', batchSize: '8' }, 'request.batchSize'],
    ['a name that a terminal would obey', { ...attach, name: '\u001b[2J' }, 'request.name'],
    ['a name too long', { ...attach, name: 'x'.repeat(96) }, 'request.name'],
    ['no process', { ...attach, pid: 0 }, 'request.pid'],
    ['a share of more than all', { ...attach, tenant: { ...vgg, mpsPercent: 101 } }, 'tenant.mpsPercent'],
    ['endless work', { ...attach, work: { kernels: 1e9, flops: 1, elements: 1, weights: 1 } }, 'work.kernels'],
    ['work of no numbers', { ...attach, work: { kernels: 1, flops: null, elements: 1, weights: 1 } }, 'work.flops'],
  ])('is refused with %s, and the host goes on', async (_, request, why) => {
    const client = await connection()
    const gone = new Promise<void>((resolve) => {
      client.onClose = resolve
    })
    expect(await client.request(request)).toEqual({ error: expect.stringContaining(why) })
    await gone
    expect((await boards(await connection())).boards).toHaveLength(2)
  })

  it('is refused a second place on one connection, a network that there is not, and steps of a process that runs on its own', async () => {
    const { client, step } = await attached({ stepwise: false })
    expect(await step(1)).toMatchObject({ cudaError: 1, message: expect.stringContaining('stepwise') })
    expect(await client.request({ ...attach })).toEqual({ error: expect.stringContaining('open another one') })
    const { reply } = await attached({ tenant: { ...vgg, model: 'nonet' } })
    expect(reply).toMatchObject({ cudaError: 1, message: expect.stringContaining("unknown network 'nonet'") })
  })

  it('cannot make a board keep works without end', async () => {
    const replies: AttachReply[] = []
    for (let flops = 1; flops <= 64; flops++) {
      const { client, reply } = await attached({ gpu: '1', work: { kernels: 1, flops, elements: 2, weights: 1 } })
      client.close()
      replies.push(reply)
    }
    // One of them was there before: two boards, two works.
    expect(replies.filter(({ cudaError }) => cudaError !== 0)).toHaveLength(1)
    expect(replies.at(-1)!.message).toContain('64 different works')
  })

  it('is cut off when it asks on and on without listening', async () => {
    const { client, gone } = await attached()
    const asked = Array.from({ length: 400 }, () =>
      client.request({ kind: 'step', batchSize: 512 }).catch(() => 'cut off'),
    )
    await gone
    expect(await Promise.all(asked)).toContain('cut off')
    expect((await boards(await connection())).boards).toHaveLength(2)
  })
})

it('a process attaches as without the MPS variables if they are empty', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pctodl-attach-'))
  const asked: AttachRequest[] = []
  const server = createServer((socket) =>
    onMessages(socket, (message) => {
      asked.push(message as AttachRequest)
      send(socket, { protocol: 1, cudaError: 0, message: '', isMpsClient: false, mpsPercent: 100 })
    }),
  )
  await once(server.listen(controlSocket(folder)), 'listening')
  const empty = { CUDA_MPS_PIPE_DIRECTORY: '', CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '', CUDA_VISIBLE_DEVICES: '' }
  for (const variables of [{}, empty]) {
    const environment = { PCTODL_GPU_SIM_FOLDER: folder, ...variables }
    ;(await attachProcess(environment, { name: 'a', model: 'vgg19' })).client.close()
  }
  server.close()
  rmSync(folder, { recursive: true })
  expect(asked[1]).toEqual(asked[0])
  expect(asked[0]).toMatchObject({ pipeDirectory: '/tmp/nvidia-mps', tenant: { mpsPercent: 100 } })
})
