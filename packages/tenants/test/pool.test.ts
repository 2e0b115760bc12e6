import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Tenant } from '@pctodl/platform'
import { assertRunning, commandWorker, InferencePool, syntheticImages } from '@pctodl/tenants'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { PoolEvent } from '../src/pool/inference-pool-options.js'
import { buildWorker } from './built-worker.js'
import { eventually, isAlive } from './eventually.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-pool-'))
const images = await syntheticImages({ folder, count: 1 })
const program = path.resolve(import.meta.dirname, 'scripted-worker.mjs')
const pools: InferencePool[] = []
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.stop())))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const tenant = (model: string, mpsPercent: number, batchSize = 2): Tenant => ({ model, mpsPercent, batchSize })

function poolOf(
  behaviour: Record<string, unknown> = {},
  more: Partial<ConstructorParameters<typeof InferencePool>[0]> = {},
) {
  const events: PoolEvent[] = []
  const logFolder = mkdtempSync(path.join(folder, 'logs-'))
  const worker = commandWorker([process.execPath, program], { options: behaviour })
  const pool = new InferencePool({ worker, images, logFolder, onEvent: (event) => events.push(event), ...more })
  pools.push(pool)
  return { pool, events }
}

/** What a worker counted itself; one that ended before its first batch has written nothing. */
function ownCount(logFile: string | null): { samples: number; batches: number } {
  if (!existsSync(logFile!)) return { samples: 0, batches: 0 }
  return JSON.parse(readFileSync(logFile!, 'utf8').trim().split('\n').at(-1)!)
}

/**
 * The pool has counted what each worker that is gone counted itself. A worker reports first and writes its log then: one that
 * was killed between the two has reported a batch that is not in its log.
 */
function expectOwnCounts(pool: InferencePool): void {
  for (const { counters, logFile, failure = '', id } of pool.ended()) {
    const own = ownCount(logFile)
    const unwritten = counters.batches - own.batches
    const killed = /SIGKILL|hung|not waited for/.test(failure)
    expect(killed ? [0, 1] : [0], `batches that worker ${id} reported and did not write (${failure})`).toContain(
      unwritten,
    )
    expect(counters.samples - own.samples).toBe(unwritten * counters.tenant.batchSize)
  }
}

describe('InferencePool', () => {
  it('runs our workers under the options of Node.js that a thread cannot have', async () => {
    const { program, remove } = await buildWorker('timed-worker')
    const worker = commandWorker([process.execPath, '--max-old-space-size=200', program], {
      options: { baseMs: 0, perSampleMs: 1 },
    })
    const { pool } = poolOf({}, { worker })
    await pool.apply([tenant('a', 50)])
    expect(pool.counters()).toMatchObject([{ state: 'running' }])
    await pool.stop()
    remove()
  })

  it('measures tenants over one window, and they add up', async () => {
    const { pool } = poolOf({ perSampleMs: 5 })
    await pool.apply([tenant('a', 50, 4), tenant('b', 25, 2)])
    const window = await pool.measure(1000)
    expect(window.throughput).toBeCloseTo(window.tenants[0]!.throughput! + window.tenants[1]!.throughput!, 9)
    for (const { throughput, samples, batches, latencyMeanMs, latencyP50Ms, disturbance, tenant } of window.tenants) {
      expect(disturbance).toBeUndefined()
      expect(samples).toBe(batches * tenant.batchSize)
      // Little's law with one batch in flight.
      expect((throughput! * latencyMeanMs) / (1000 * tenant.batchSize)).toBeGreaterThan(0.8)
      expect((throughput! * latencyMeanMs) / (1000 * tenant.batchSize)).toBeLessThanOrEqual(1.0001)
      expect(latencyP50Ms).toBeGreaterThanOrEqual(0.99 * 5 * tenant.batchSize)
    }
    // Workers are asked for their counters, and a window does not wait for one that has told them.
    await expect.poll(async () => (await pool.measure(100)).durationMs, { timeout: 20_000 }).toBeLessThan(500)
  })

  it('does not call the preparation for another batch size a stall', async () => {
    const { pool, events } = poolOf({ perSampleMs: 1, prepareMs: 1500 })
    await pool.apply([tenant('a', 50)])
    await eventually(() => pool.counters()[0]!.batches > 5, 'batches of the first size')
    const { id, lastBatchSize } = pool.counters()[0]!
    expect(lastBatchSize).toBe(pool.counters()[0]!.tenant.batchSize)
    await pool.apply([tenant('a', 50, 8)])
    // It prepares at the end of this window, unless the host is slow.
    expect((await pool.measure(800)).validity).not.toBe('stalled')
    await eventually(() => pool.counters()[0]!.lastBatchSize === 8, 'a batch of the other size')
    expect(pool.counters()[0]!.id).toBe(id)
    expect(events.map(({ kind }) => kind)).toEqual(['started'])
  })

  it('keeps the processes whose network and share stay', async () => {
    const { pool } = poolOf()
    await pool.apply([tenant('a', 50), tenant('b', 30)])
    const [a, b] = pool.pids()
    await pool.apply([tenant('b', 30, 5), tenant('a', 50, 9)])
    expect(pool.pids()).toEqual([b, a])
    let before = pool.counters()[0]!
    const sizeSince = () => {
      const after = pool.counters()[0]!
      const size = (after.samples - before.samples) / (after.batches - before.batches)
      before = after
      return size
    }
    await eventually(() => sizeSince() === 5, 'batches of the new size')
    await eventually(() => pool.counters()[0]!.batches > before.batches + 2, 'more batches')
    expect(sizeSince()).toBe(5)
    await pool.apply([tenant('a', 50, 9), tenant('b', 20)])
    expect(pool.pids()[0]).toBe(a)
    expect(pool.pids()[1]).not.toBe(b)
  })

  it('never has more than the whole board in use while it changes shares', async () => {
    const eventLog = path.join(folder, 'shares.jsonl')
    const { pool } = poolOf({ eventLog, loadMs: 50 })
    await pool.apply([tenant('a', 60), tenant('b', 20), tenant('c', 20)])
    await pool.apply([tenant('a', 20), tenant('b', 30), tenant('c', 50)])
    await pool.apply([tenant('a', 30), tenant('c', 50), tenant('d', 10), tenant('e', 10)])
    await pool.stop()
    const events: { what: string; mpsPercent: number; atMs: number }[] = readFileSync(eventLog, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    let inUse = 0
    let most = 0
    for (const { what, mpsPercent } of events.sort((x, y) => x.atMs - y.atMs)) {
      inUse += what === 'start' ? mpsPercent : -mpsPercent
      most = Math.max(most, inUse)
    }
    expect(inUse).toBe(0)
    expect(most).toBe(100)
  })

  it('reports a batch that does not fit, and the largest that does', async () => {
    const { pool, events } = poolOf({ memoryBatch: 16 })
    await pool.apply([tenant('a', 50, 64), tenant('b', 50, 16)])
    const [large, small] = pool.counters()
    expect(large).toMatchObject({ state: 'failed', failure: 'out of memory: a at batch 64; batch 16 fits' })
    expect(small!.state).toBe('running')
    expect(() => assertRunning(pool)).toThrow(/a \(50 %\): out of memory/)
    await pause(600)
    expect(events.filter(({ kind }) => kind === 'restarting')).toEqual([])
    // A batch that grows beyond what fits fails later, in the midst of work.
    await pool.apply([tenant('a', 50, 8), tenant('b', 50, 32)])
    await eventually(() => pool.counters()[1]!.state === 'failed', 'the larger batch fails')
    expect(pool.counters()[0]!.state).toBe('running')
    await pool.apply([tenant('a', 50, 8), tenant('b', 50, 16)])
    assertRunning(pool)
  })

  it('starts a crashed worker again, waiting longer each time, and marks the window', async () => {
    const { pool, events } = poolOf({ dieAfterBatches: 3, perSampleMs: 10 }, { backOffMs: 100 })
    await pool.apply([tenant('a', 50)])
    const window = await pool.measure(1200)
    expect(window.tenants[0]!.disturbance).toMatch(/restarted|exit code 3/)
    const waits = () => events.filter(({ kind }) => kind === 'restarting').map(({ message }) => message)
    await eventually(() => waits().length >= 3, 'it dies three times')
    expect(waits().slice(0, 3)).toEqual(['in 100 ms', 'in 200 ms', 'in 400 ms'])
    await pool.stop()
    expectOwnCounts(pool)
  })

  it.each([
    ['killed', 'SIGKILL', /the process ended \(SIGKILL\)/],
    ['stopped', 'SIGSTOP', /hung: no heartbeat for \d+ ms, the process is stopped/],
  ] as const)('notices a %s worker, and starts it again', async (_, signal, reason) => {
    const { pool } = poolOf({ perSampleMs: 5 })
    await pool.apply([tenant('a', 50), tenant('b', 50)])
    await eventually(() => pool.counters()[0]!.batches > 3, 'it works')
    const pid = pool.pids()[0]!
    process.kill(pid, signal)
    await eventually(() => pool.ended().length === 1, 'the pool notices')
    expect(pool.ended()[0]).toMatchObject({ pid, failure: expect.stringMatching(reason) })
    await eventually(() => pool.counters().every(({ state }) => state === 'running'), 'it is started again')
    await pool.stop()
    expectOwnCounts(pool)
    expect(isAlive(pid)).toBe(false)
  })

  it('does not blame its workers for having been held up itself', async () => {
    const { pool } = poolOf({ perSampleMs: 5 })
    await pool.apply([tenant('a', 50), tenant('b', 50)])
    const pids = pool.pids()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200)
    await pause(350)
    expect(pool.pids()).toEqual(pids)
    expect(pool.ended()).toEqual([])
  })

  it('is stopped at any time, and leaves no process behind', async () => {
    const { pool, events } = poolOf({ loadMs: 60_000 })
    const applied = pool.apply([tenant('a', 50), tenant('b', 20)])
    const refused = expect(applied).rejects.toMatchObject({ code: 'STOPPED' })
    await pause(300)
    await pool.stop()
    await refused
    expect(pool.ended()).toHaveLength(2)
    expect(pool.counters()).toEqual([])
    expect(pool.ended().some(({ pid }) => isAlive(pid))).toBe(false)
    expect(events.map(({ kind }) => kind)).toEqual(['failed', 'failed'])
  })

  it('runs tenants again after it was stopped', async () => {
    const { pool } = poolOf()
    await pool.apply([tenant('a', 50)])
    const [before] = pool.pids()
    await pool.stop()
    await pool.apply([tenant('b', 30)])
    assertRunning(pool)
    expect(pool.pids()).not.toContain(before)
    await eventually(() => pool.counters()[0]!.batches > 0, 'it works')
  })

  it('gives up loading when it is told to', async () => {
    const { pool } = poolOf({ loadMs: 60_000 })
    await expect(pool.apply([tenant('a', 50)], { signal: AbortSignal.timeout(300) })).rejects.toThrow(/timeout/)
    await pool.stop()
    expect(pool.ended().map(({ failure }) => failure)).toEqual(['it was not waited for'])
  })

  it('notices a worker that lives and says nothing', async () => {
    const { pool } = poolOf({ hangAfterBatches: 5 })
    await pool.apply([tenant('a', 50)])
    await eventually(() => pool.ended().length === 1, 'the pool notices')
    expect(pool.ended()[0]!.failure).toMatch(/hung: no heartbeat for \d+ ms, the process is waiting/)
  })

  it('calls a worker stalled that sends heartbeats and completes nothing, and gives it a lower bound', async () => {
    const { pool, events } = poolOf({ perSampleMs: 5, stallAfterBatches: 100 }, { drainMs: 300 })
    await pool.apply([tenant('a', 50, 4)])
    await eventually(() => pool.counters()[0]!.batches > 20, 'it works')
    // The window in which it stalls: on a busy machine, where a hundred batches take longer, not the first.
    let window = await pool.measure(3500)
    for (let more = 0; more < 20 && window.validity === 'ok'; more++) window = await pool.measure(3500)
    const [measured] = window.tenants
    // What it completed, over the window (from the completion before it on): not the 200 samples/s that it had while it worked.
    expect(measured!.validity).toBe('stalled')
    expect(window.validity).toBe('stalled')
    expect(measured!.throughput!).toBeLessThanOrEqual((1000 * measured!.samples) / window.durationMs)
    expect(measured!.throughput!).toBeGreaterThanOrEqual((700 * measured!.samples) / window.durationMs)
    // Batches take longer on a busy machine, and so does it until one that does not come is missed.
    await eventually(() => pool.counters()[0]!.state === 'stalled', 'it is called stalled')
    expect(pool.counters()[0]).toMatchObject({
      state: 'stalled',
      failure: expect.stringMatching(/^stalled: no batch for \d{4} ms, a batch took \d+ ms before$/),
    })
    expect(() => assertRunning(pool)).toThrow(/a \(50 %\): stalled/)
    // A reading of the counters may find it out before the pool's own look does, which tells.
    await eventually(() => events.length > 1, 'it is told')
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'stalled'])
    const [pid] = pool.pids()
    await pool.apply([tenant('a', 50, 4)])
    expect(pool.pids()[0]).not.toBe(pid)
    expect(pool.counters()[0]!.state).toBe('running')
  })

  it('marks a window in which a worker stalled and went on', async () => {
    const { pool } = poolOf({ perSampleMs: 5, stallAfterBatches: 40, stallMs: 1800 })
    await pool.apply([tenant('a', 50, 4)])
    const window = await pool.measure(4000)
    expect(pool.counters()[0]!.state).toBe('running')
    expect(window.tenants[0]).toMatchObject({ validity: 'stalled', disturbance: expect.any(String) })
  })

  it('knows no rate where a batch is longer than the window', async () => {
    const { pool } = poolOf({ perSampleMs: 400 })
    await pool.apply([tenant('a', 50, 4)])
    expect(pool.counters()[0]).toMatchObject({ state: 'running', samples: 0, batches: 0, latencySumMs: 0 })
    await eventually(() => pool.counters()[0]!.batches === 1, 'its first batch')
    const window = await pool.measure(500)
    expect(window).toMatchObject({ throughput: 0, validity: 'too-short' })
    expect(window.tenants[0]).toMatchObject({
      throughput: null,
      disturbance: 'it completed no batch of its size during the window',
    })
  })

  it('ends a worker whose counters fall, and never has a negative rate', async () => {
    const { pool } = poolOf({ perSampleMs: 5, fallAfterBatches: 60 })
    await pool.apply([tenant('a', 50, 4)])
    await eventually(() => pool.counters()[0]!.batches > 20, 'it works')
    // The window in which they fall, on a busy machine not the first.
    let window = await pool.measure(1500)
    for (let more = 0; more < 20 && pool.ended().length === 0; more++) window = await pool.measure(1500)
    expect(window.validity).toMatch(/failed|restarted/)
    expect(window.throughput).toBeGreaterThanOrEqual(0)
    // The window's own report may come before the first batch after the fall.
    expect(pool.ended()[0]!.failure).toMatch(
      /broke the protocol: its counters fell from 240 samples in 60 batches to (0 in 0|4 in 1)/,
    )
  })

  it('ends a worker that breaks the protocol, and says how', async () => {
    const { pool } = poolOf({ garbage: '{"type":"progress","samples":-1}', loadMs: 5000 })
    await pool.apply([tenant('a', 50)])
    expect(pool.counters()[0]).toMatchObject({
      state: 'failed',
      failure: expect.stringMatching(/broke the protocol: report\./),
    })
    const talkative = poolOf({ garbage: 'Loading weights ...', loadMs: 5000 }).pool
    await talkative.apply([tenant('a', 50)])
    expect(talkative.counters()[0]!.failure).toMatch(/got 'Loading weights \.\.\.', expected one JSON object per line/)
  })

  it('says what stands in the way of a program that does not start', async () => {
    const worker = commandWorker(['/no/such/program'])
    const { pool } = poolOf({}, { worker })
    await pool.apply([tenant('a', 50)])
    expect(pool.counters()[0]).toMatchObject({ state: 'failed', failure: expect.stringMatching(/no\/such\/program/) })
    const slow = poolOf({ loadMs: 60_000 }, { loadMs: 300 }).pool
    await slow.apply([tenant('a', 50)])
    expect(slow.counters()[0]!.failure).toBe('it did not load within 300 ms')
  })

  it('has workers verified as MPS clients, and takes none that is not', async () => {
    const asked: number[] = []
    const mps = {
      clientEnvironment: (percent: number) => ({ CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(percent) }),
      verifyClient: async (pid: number) => {
        asked.push(pid)
        if (asked.length === 2) throw new Error(`process ${pid} is no client of the MPS daemon`)
      },
    }
    const { pool } = poolOf({}, { mps })
    await pool.apply([tenant('a', 50), tenant('b', 50)])
    expect(asked).toHaveLength(2)
    const states = pool.counters().map(({ state }) => state)
    expect(states.sort()).toEqual(['failed', 'running'])
    expect(pool.counters().find(({ state }) => state === 'failed')!.failure).toMatch(/no client of the MPS daemon/)
  })

  it('refuses what no board could run, and keeps what runs', async () => {
    const { pool } = poolOf()
    await pool.apply([tenant('a', 50)])
    expect(() => pool.apply([tenant('a', 60), tenant('b', 60)])).toThrow(/at most 100/)
    expect(pool.counters()[0]!.state).toBe('running')
  })
})
