import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { type Service, systemClock, type Tenant, unaccountedRequests } from '@pctodl/platform'
import { commandWorker, InferencePool, RequestDesk, syntheticImages } from '@pctodl/tenants'
import { constantArrivals, poissonArrivals, serverLoad } from '@pctodl/traffic'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import type { PoolEvent } from '../src/pool/inference-pool-options.js'
import type { Answer } from '../src/requests/pending-request.js'
import type { ServiceTraffic } from '../src/requests/service-traffic.js'
import { eventually, isAlive } from './eventually.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-requests-'))
const images = await syntheticImages({ folder, count: 1 })
const program = path.resolve(import.meta.dirname, 'scripted-worker.mjs')
const open: { stop(): Promise<void> }[] = []
afterEach(() => Promise.all(open.splice(0).map((each) => each.stop())))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const search: Service = {
  name: 'search',
  model: 'a',
  objective: { p99Ms: 60_000 },
  weight: 1,
  maxBatchSize: 8,
  maxQueueDelayMs: 0,
}
const ads: Service = { ...search, name: 'ads' }
const tenant = (service: string | undefined, mpsPercent = 25, batchSize = 8): Tenant => ({
  model: 'a',
  mpsPercent,
  batchSize,
  ...(service === undefined ? {} : { service }),
})

interface Opened {
  readonly behaviour?: Record<string, unknown>
  readonly services?: readonly Service[]
  readonly traffic?: ServiceTraffic
  readonly more?: Partial<ConstructorParameters<typeof InferencePool>[0]>
}

/** A desk that serves, and a pool that has no tenants yet. */
function opened({ behaviour = {}, services = [search], traffic = {}, more = {} }: Opened = {}) {
  const events: PoolEvent[] = []
  const desk = new RequestDesk({ trafficOf: () => traffic })
  desk.serve(services)
  const worker = commandWorker([process.execPath, program], { options: behaviour })
  const onEvent = (event: PoolEvent) => events.push(event)
  const pool = new InferencePool({ worker, images, desk, onEvent, backOffMs: 20, ...more })
  open.push({
    stop: async () => {
      desk.close()
      await pool.stop()
    },
  })
  return { desk, pool, events }
}

const countsOf = ({ desk }: { desk: RequestDesk }) => {
  const { latencies: _, timeMs: __, service: ___, failure: ____, ...counts } = desk.counters()[0]!
  return counts
}
const nothing = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0, running: 0 }

describe('a pool that serves requests', () => {
  it('answers them in batches, counts them, and its workers count the same', async () => {
    const logFolder = mkdtempSync(path.join(folder, 'logs-'))
    const { desk, pool } = opened({ behaviour: { perSampleMs: 3 }, more: { logFolder } })
    await pool.apply([tenant('search'), tenant('search', 20, 4)])
    const answers = await Promise.all(Array.from({ length: 50 }, () => desk.ask('search')))
    expect(answers.every(({ outcome, reason }) => outcome === 'completed' && reason === undefined)).toBe(true)
    expect(countsOf({ desk })).toEqual({ ...nothing, arrived: 50, completed: 50 })
    expect(desk.counters()[0]!.latencies.count).toBe(50)
    // The first finds an idle instance of each; what waits is taken as many at a time as there is room for.
    const [large, small] = pool.counters()
    await pool.stop()
    const [first, second] = pool.ended().map(({ counters }) => counters)
    expect(first!.samples + second!.samples).toBe(50)
    expect(first!.batches + second!.batches).toBeLessThan(20)
    expect([large!.tenant.service, small!.tenant.batchSize]).toEqual(['search', 4])
    for (const { logFile, counters } of pool.ended()) {
      const own = existsSync(logFile!) ? JSON.parse(readFileSync(logFile!, 'utf8').trim().split('\n').at(-1)!) : {}
      expect({ samples: counters.samples, batches: counters.batches }).toEqual(own)
    }
  })

  it('lets a free tenant wait for others no longer than it may', async () => {
    const patient = { ...search, maxQueueDelayMs: 100 }
    const { desk, pool } = opened({ behaviour: { perSampleMs: 1 }, services: [patient] })
    await pool.apply([tenant('search')])
    const three = await Promise.all([desk.ask('search'), desk.ask('search'), desk.ask('search')])
    for (const { latencyMs } of three) expect(latencyMs).toBeGreaterThanOrEqual(99)
    const eight = await Promise.all(Array.from({ length: 8 }, () => desk.ask('search')))
    await pool.stop()
    expect(pool.ended()[0]!.counters).toMatchObject({ samples: 11, batches: 2 })
    expect(eight).toHaveLength(8)
  })

  it('sheds what it has no room for, what is due too late and what is called off, and says why', async () => {
    const { desk } = opened({ traffic: { maxQueued: 3 } })
    const calling = new AbortController()
    const reason = new Error('the user has left')
    const calledOff = expect(desk.ask('search', { signal: calling.signal })).rejects.toBe(reason)
    const late = desk.ask('search', { deadlineMs: 30 })
    const third = desk.ask('search')
    const fourth = await desk.ask('search')
    expect(fourth).toMatchObject({ outcome: 'shed', reason: '3 requests wait already' })
    calling.abort(reason)
    await calledOff
    expect(await late).toMatchObject({ outcome: 'shed', reason: 'its turn had not come after 30 ms' })
    expect(countsOf({ desk })).toEqual({ ...nothing, arrived: 4, shed: 3, queued: 1 })
    await expect(desk.ask('search', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    desk.close()
    expect(await third).toMatchObject({ outcome: 'shed', reason: 'the desk is closed' })
    expect(desk.departed[0]).toMatchObject({ ...nothing, arrived: 4, shed: 4 })
  })

  it('refuses times of another clock, and numbers that are none', async () => {
    const { desk } = opened()
    const ask = (options: object) => desk.ask('search', options)
    await expect(ask({ arrivedMs: Date.now() })).rejects.toThrow(/arrivedMs: got .*the desk's clock is at/)
    await expect(ask({ deadlineMs: '5' })).rejects.toThrow(/deadlineMs: got '5', expected ms above 0/)
    expect(countsOf({ desk })).toEqual(nothing)
  })

  it('answers one that was called off too late to nobody', async () => {
    const { desk, pool } = opened({ behaviour: { perSampleMs: 30 } })
    await pool.apply([tenant('search')])
    const calling = new AbortController()
    const asked = expect(desk.ask('search', { signal: calling.signal })).rejects.toThrow('enough')
    calling.abort(new Error('enough'))
    await asked
    expect(countsOf({ desk })).toEqual({ ...nothing, arrived: 1, running: 1 })
    await eventually(() => desk.counters()[0]!.completed === 1, 'the batch ends')
  })

  it('lets others have their turn while more arrives than anybody could take in', async () => {
    const { desk } = opened({ traffic: { arrivals: constantArrivals({ ratePerS: 1e9 }).start(1), maxQueued: 10 } })
    await eventually(() => desk.counters()[0]!.arrived > 5000, 'some have arrived')
    desk.close()
    const [{ arrived, shed } = { arrived: 0, shed: 0 }] = desk.departed
    expect(shed).toBe(arrived)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(desk.departed[0]!.arrived).toBe(arrived)
  })

  it('lets in a share of the requests, as a policy wants it', async () => {
    const { desk, pool } = opened()
    await pool.apply([tenant('search')])
    desk.admit('search', 0.25)
    const answers = await Promise.all(Array.from({ length: 40 }, () => desk.ask('search')))
    const completed = answers.filter(({ outcome }) => outcome === 'completed')
    expect(completed).toHaveLength(10)
    expect(() => desk.admit('search', 2)).toThrow(/a share from 0 to 1/)
    expect(() => desk.admit('photos', 1)).toThrow(/one of search/)
  })

  it('gives what a dead tenant had begun to another one, once', async () => {
    // Whoever comes to its third batch dies amid it.
    const { desk, pool } = opened({ behaviour: { perSampleMs: 2, dieAfterBatches: 3 }, more: { backOffMs: 5 } })
    await pool.apply([tenant('search', 25, 1), tenant('search', 25, 1)])
    const answers = await Promise.all(Array.from({ length: 8 }, () => desk.ask('search')))
    const failed = answers.filter(({ outcome }) => outcome === 'failed')
    // All are decided. The batch that a worker dies with is tried again; two in a row fail.
    expect(answers.filter(({ outcome }) => outcome === 'completed').length + failed.length).toBe(8)
    for (const { reason } of failed) {
      expect(reason).toBe('two tenants were lost with the request, the last one: the process ended (exit code 3)')
    }
    expect(countsOf({ desk })).toMatchObject({ arrived: 8, failed: failed.length, queued: 0, running: 0 })
  })

  it('fails a request that kills whoever takes it, with the reason', async () => {
    const { desk, pool } = opened({ behaviour: { dieAfterBatches: 1 }, more: { backOffMs: 5 } })
    await pool.apply([tenant('search'), tenant('search', 20)])
    expect(await desk.ask('search')).toMatchObject({
      outcome: 'failed',
      reason: 'two tenants were lost with the request, the last one: the process ended (exit code 3)',
    })
    expect(desk.counters()[0]).toMatchObject({ failed: 1, failure: expect.stringMatching(/exit code 3/) })
    await eventually(() => pool.counters().every(({ state }) => state === 'running'), 'both are started again')
  })

  it('ends a tenant that stalls amid a batch, and has another one answer', async () => {
    const { desk, pool, events } = opened({ behaviour: { perSampleMs: 5, stallAfterBatches: 2 } })
    await pool.apply([tenant('search', 25, 1)])
    expect((await desk.ask('search')).outcome).toBe('completed')
    expect((await desk.ask('search')).outcome).toBe('completed')
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'stalled', 'failed', 'restarting', 'started'])
    expect(pool.ended()[0]!.failure).toMatch(/^stalled: no batch for \d+ ms, a batch took \d+ ms before$/)
    // One that is asked for nothing does not stall.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(pool.counters()[0]!.state).toBe('running')
  })

  it('keeps processes when a tenant serves another service, and restarts those that are to run freely', async () => {
    const { desk, pool } = opened({ behaviour: { perSampleMs: 2 }, services: [search, ads] })
    await pool.apply([tenant('search'), tenant('search')])
    const [first, second] = pool.pids()
    await pool.apply([tenant('ads', 25, 2), tenant('search')])
    // Whoever serves search already goes on with it.
    expect([...pool.pids()].sort()).toEqual([first, second].sort())
    const [forAds, forSearch] = await Promise.all([desk.ask('ads'), desk.ask('search')])
    expect([forAds.outcome, forSearch.outcome]).toEqual(['completed', 'completed'])
    expect(() => desk.serve([search])).toThrow(/tenants serve ads; apply tenants without it first/)
    await pool.apply([tenant('search'), tenant('search')])
    desk.serve([search])
    expect(desk.departed[0]).toMatchObject({ service: 'ads', arrived: 1, completed: 1 })
    await expect(desk.ask('ads')).rejects.toThrow(/one of search/)
    await pool.apply([tenant('search'), tenant(undefined)])
    expect(pool.pids()).toContain(forSearch.outcome === 'completed' ? pool.pids()[0] : 0)
    expect(pool.pids().filter((pid) => pid === first || pid === second)).toHaveLength(1)
    await eventually(() => pool.counters()[1]!.batches > 3, 'it runs freely')
  })

  it('refuses what cannot be served, and workers that take no requests', async () => {
    const { pool } = opened()
    expect(() => pool.apply([tenant('photos')])).toThrow(/tenants\[0\]\.service.*'photos'.*one of search/)
    expect(() => pool.apply([{ ...tenant('search'), model: 'b' }])).toThrow(/'a', the network of search/)
    const worker = commandWorker([process.execPath, program])
    const without = new InferencePool({ worker, images })
    expect(() => without.apply([tenant('search')])).toThrow(/this pool has no desk that takes requests in/)
    const old = opened({ behaviour: { speaks: 1 } })
    await old.pool.apply([tenant('search')])
    expect(old.pool.counters()[0]!.failure).toMatch(
      /it speaks protocol 1, and was started with protocol 2; a worker of protocol 1 takes no requests, so its tenant cannot serve 'search'/,
    )
    const twice = opened({ behaviour: { answersTwice: true } })
    await twice.pool.apply([tenant('search')])
    await twice.desk.ask('search')
    await eventually(() => twice.pool.ended().length > 0, 'it is ended')
    expect(twice.pool.ended()[0]!.failure).toMatch(/it answered batch 1, which was not requested/)
    expect(() => new RequestDesk({ trafficOf: () => ({ maxQueued: 0 }) }).serve([search])).toThrow(/maxQueued/)
    expect(() => new RequestDesk({ trafficOf: () => ({ saturating: 9, maxQueued: 8 }) }).serve([search])).toThrow(
      /saturating.*at most maxQueued, which is 8/,
    )
  })

  it('takes a worker that has failed for failed, whatever else it says', async () => {
    const { pool, desk } = opened({
      behaviour: { readyAfterFailing: true, loadMs: 60_000 },
      more: { backOffMs: 60_000 },
    })
    await pool.apply([tenant('search')])
    expect(pool.counters()[0]).toMatchObject({ state: 'failed', failure: 'no board' })
    const asked = desk.ask('search')
    expect(countsOf({ desk })).toEqual({ ...nothing, arrived: 1, queued: 1 })
    desk.close()
    expect(await asked).toMatchObject({ outcome: 'shed' })
  })

  it('gives no requests to a tenant that dies while others are changed', async () => {
    const { pool, desk } = opened({ behaviour: { stallAfterBatches: 2 }, more: { drainMs: 3000, backOffMs: 5 } })
    const tenants = [tenant('search'), tenant(undefined)]
    await pool.apply(tenants)
    await eventually(() => pool.counters()[1]!.state === 'stalled', 'the other one stalls')
    // The change waits for the one that stalls, which does not end by itself, and its neighbour dies meanwhile.
    const changed = pool.apply(tenants)
    process.kill(pool.pids()[0]!, 'SIGKILL')
    const asked = Array.from({ length: 8 }, () => desk.ask('search'))
    await changed
    expect((await Promise.all(asked)).map(({ outcome }) => outcome)).toEqual(asked.map(() => 'completed'))
    expect(countsOf({ desk })).toEqual({ ...nothing, arrived: 8, completed: 8 })
  })

  it('does not wait for a child of a dead worker that holds its output open', async () => {
    const eventLog = path.join(folder, 'strays.jsonl')
    const { pool, desk } = opened({ behaviour: { strayMs: 60_000, eventLog } })
    try {
      await pool.apply([tenant('search')])
      process.kill(pool.pids()[0]!, 'SIGKILL')
      expect(await desk.ask('search')).toMatchObject({ outcome: 'completed' })
      await pool.stop()
      expect(strays().map(isAlive)).toEqual([true, true])
    } finally {
      for (const pid of strays()) process.kill(pid, 'SIGKILL')
    }

    function strays(): number[] {
      const events: { what: string; pid: number }[] = readFileSync(eventLog, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      return events.filter(({ what }) => what === 'stray').map(({ pid }) => pid)
    }
  })

  it('is driven by the load generator, and by saturation, as by anybody', async () => {
    const { desk, pool } = opened({ behaviour: { perSampleMs: 1 } })
    await pool.apply([tenant('search')])
    const options = { clock: systemClock, minDurationMs: 500, minQueries: 1 }
    const arrivals = poissonArrivals({ ratePerS: 200 })
    const system = {
      answer: async ({ dueMs }: { dueMs: number }) => (await desk.ask('search', { arrivedMs: dueMs })).outcome,
    }
    const server = await serverLoad(system, { ...options, arrivals, latencyBoundMs: 60_000 })
    expect(server).toMatchObject({ shed: 0, failed: 0, queries: server.completed })
    expect(countsOf({ desk })).toMatchObject({ arrived: server.queries, completed: server.queries })

    const full = opened({ behaviour: { perSampleMs: 1 }, traffic: { saturating: 16 } })
    await full.pool.apply([tenant('search')])
    await eventually(() => full.desk.counters()[0]!.completed > 200, 'it works')
    await full.pool.stop()
    const { samples, batches } = full.pool.ended()[0]!.counters
    // Always a whole batch, for there are always enough.
    expect(samples).toBe(8 * batches)
  })

  it(`loses none of its requests in ${longTests ? 12 : 3} random runs in which workers are killed`, async () => {
    for (let seed = 1; seed <= (longTests ? 12 : 3); seed++) {
      const random = new SeededRandom(seed)
      const arrivals = poissonArrivals({ ratePerS: 150 }).start(seed)
      const { desk, pool } = opened({
        behaviour: { perSampleMs: 4 },
        traffic: { arrivals, maxQueued: 200, shedAfterMs: 2000 },
      })
      const audit = setInterval(() => {
        for (const counters of desk.counters()) expect(unaccountedRequests(counters)).toBe(0)
      }, 3)
      const answers: Promise<Answer>[] = []
      const victims = new Set<number>()
      try {
        await pool.apply([tenant('search', 30), tenant('search', 20, 4), tenant('search', 10, 2)])
        for (let kill = 0; kill < 6; kill++) {
          for (let i = 0; i < 10; i++) answers.push(desk.ask('search'))
          await new Promise((resolve) => setTimeout(resolve, 150 * random.uniform()))
          const pids = pool.pids().filter((pid) => pid > 0)
          const pid = pids[Math.floor(random.uniform() * pids.length)]!
          try {
            victims.add(pid)
            process.kill(pid, kill % 3 === 2 ? 'SIGSTOP' : 'SIGKILL')
          } catch {
            // It is dead already, and its successor not here yet.
          }
        }
        const decided = await Promise.all(answers)
        expect(decided).toHaveLength(60)
        const noticed = (pid: number) => pool.ended().some((ended) => ended.pid === pid)
        await eventually(() => [...victims].every(noticed), 'the pool notices')
        desk.close()
        await pool.stop()
      } finally {
        clearInterval(audit)
      }
      const [last] = desk.departed
      expect(last).toMatchObject({ queued: 0, running: 0 })
      expect(unaccountedRequests(last!)).toBe(0)
      expect(last!.completed).toBeGreaterThan(0)
      // Nobody can have answered more than was asked of them.
      const samples = pool.ended().reduce((sum, { counters }) => sum + counters.samples, 0)
      expect(last!.completed).toBeLessThanOrEqual(samples + 8)
    }
  })
})
