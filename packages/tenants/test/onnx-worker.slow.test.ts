import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Tenant } from '@pctodl/platform'
import { InferencePool, onnxWorker, syntheticImages } from '@pctodl/tenants'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import { expectToAnswer } from './answer-requests.js'
import { buildWorker } from './built-worker.js'
import { eventually } from './eventually.js'

/** The long run takes a minute; the short one checks the same. */
const RUN_MS = longTests ? 60_000 : 4000

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-onnx-'))
// Exported networks are kept: they are the same every time.
const modelFolder = path.join(
  process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'),
  'pctodl-tenants',
  'models',
)
const images = await syntheticImages({ folder, count: 4 })
let built: Awaited<ReturnType<typeof buildWorker>>
beforeAll(async () => {
  built = await buildWorker()
})
afterAll(() => {
  built?.remove()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const tenant = (model: string, mpsPercent: number, batchSize: number): Tenant => ({ model, mpsPercent, batchSize })

describe('onnxruntime-node workers', () => {
  it(`count exactly what they did, over ${RUN_MS / 1000} s with one killed and one stopped`, async () => {
    const worker = onnxWorker({ modelFolder, device: 'cpu', program: built.program })
    const pool = new InferencePool({ worker, images, logFolder: path.join(folder, 'logs') })
    try {
      const tenants = [
        tenant('mobilenet_v2', 20, 4),
        tenant('mobilenet_v2', 20, 2),
        tenant('mobilenet_v2', 20, 1),
        tenant('resnet50', 20, 1),
        tenant('resnet50', 20, 2),
      ]
      await pool.apply(tenants)
      expect(pool.counters().map(({ state, failure }) => [state, failure])).toEqual(
        tenants.map(() => ['running', undefined]),
      )
      expect(pool.descriptions()[0]).toMatch(/^onnxruntime-node .* on cpu$/)
      const measured = pool.measure(RUN_MS)
      await pause(RUN_MS / 4)
      const [killed, , stopped] = pool.pids()
      process.kill(killed!, 'SIGKILL')
      await pause(RUN_MS / 6)
      process.kill(stopped!, 'SIGSTOP')
      const window = await measured
      await eventually(() => pool.counters().every(({ state }) => state === 'running'), 'all run again')
      // A batch size changes without a restart.
      const before = pool.pids()
      await pool.apply(tenants.map((each, i) => (i === 1 ? { ...each, batchSize: 3 } : each)))
      expect(pool.pids()).toEqual(before)
      await pool.stop()

      const disturbed = window.tenants.map(({ disturbance }) => disturbance !== undefined)
      expect([disturbed[0], disturbed[2]]).toEqual([true, true])
      // On a busy machine the others may be slow, but they were neither ended nor replaced.
      for (const i of [1, 3, 4]) expect(['ok', 'stalled', 'too-short']).toContain(window.tenants[i]!.validity)
      expect(window.throughput).toBeGreaterThan(0)
      const ended = pool.ended()
      expect(ended).toHaveLength(7)
      expect(ended.find(({ pid }) => pid === killed)!.failure).toContain('SIGKILL')
      expect(ended.find(({ pid }) => pid === stopped)!.failure).toContain('the process is stopped')
      for (const { id, counters, logFile } of ended) {
        const own = existsSync(logFile!) ? readFileSync(logFile!, 'utf8').trim().split('\n').at(-1)! : ''
        const counted = { samples: counters.samples, batches: counters.batches }
        expect(counted, `worker ${id}`).toEqual(own === '' ? { samples: 0, batches: 0 } : JSON.parse(own))
        expect(counters.latencies!.count, `latencies of worker ${id}`).toBe(counters.batches)
      }
      const total = ended.reduce((sum, { counters }) => sum + counters.samples, 0)
      console.log(
        `${total} samples of ${ended.length} processes, ${window.throughput.toFixed(1)} samples/s in the window`,
      )
    } finally {
      await pool.stop()
    }
  })

  it('answer requests, also those of one that is killed, and write nothing anywhere of who uses them', async () => {
    const worker = onnxWorker({ modelFolder, device: 'cpu', program: built.program })
    const written = mkdtempSync(path.join(folder, 'written-'))
    const environment = { ...process.env, ORT_DISABLE_TELEMETRY: undefined, TMPDIR: written, XDG_CACHE_HOME: written }
    await expectToAnswer({ worker, images, environment }, 'mobilenet_v2')
    expect(readdirSync(written)).toEqual([])
  })

  it('say which batch does not fit, and which does', async () => {
    const worker = onnxWorker({ modelFolder, device: 'cpu', program: built.program, memoryLimitBytes: 100e6 })
    const pool = new InferencePool({ worker, images })
    try {
      await pool.apply([tenant('mobilenet_v2', 50, 64)])
      const [counters] = pool.counters()
      expect(counters).toMatchObject({ state: 'failed' })
      expect(counters!.failure).toMatch(
        /^out of memory: mobilenet_v2 at batch 64 needs about \d+ MiB, 95 MiB are allowed; batch (4|8) fits$/,
      )
    } finally {
      await pool.stop()
    }
  })

  it('say what is wrong with a model', async () => {
    const broken = path.join(folder, 'broken.onnx')
    writeFileSync(broken, 'this is no model')
    const pool = new InferencePool({ worker: onnxWorker({ device: 'cpu', program: built.program }), images })
    try {
      await pool.apply([tenant(broken, 50, 1)])
      expect(pool.counters()[0]).toMatchObject({
        state: 'failed',
        failure: expect.stringMatching(/protobuf|load model/i),
      })
      await expect(pool.apply([tenant('/no/such.onnx', 50, 1)])).rejects.toThrow(/an existing ONNX file/)
      await expect(pool.apply([tenant('alexnet', 50, 1)])).rejects.toThrow(
        /unknown network 'alexnet'; known: mnasnet1_0/,
      )
      const cuda = new InferencePool({
        worker: onnxWorker({ modelFolder, device: 'cuda', program: built.program }),
        images,
      })
      await cuda.apply([tenant('mobilenet_v2', 50, 1)])
      const [counters] = cuda.counters()
      // With a board and its provider it runs; without, it says so instead of running on the processor.
      if (counters!.state === 'failed') expect(counters!.failure).toMatch(/cuda/i)
      await cuda.stop()
    } finally {
      await pool.stop()
    }
  })
})
