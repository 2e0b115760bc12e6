import { SeededRandom } from '@pctodl/numerics'
import { type Service, type ServiceCounters, type Tenant, unaccountedRequests, VirtualClock } from '@pctodl/platform'
import { gammaArrivals, poissonArrivals } from '@pctodl/traffic'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { ServingEngine } from '../../gpu-sim/src/serving/serving-engine.js'
import { lawful, TestProcess } from '../../gpu-sim/test/serving-laws.js'
import type { Answer } from '../src/requests/pending-request.js'
import { RequestDesk } from '../src/requests/request-desk.js'
import { ServingInstance } from '../src/requests/serving-instance.js'

const service = (change: Partial<Service> = {}): Service => ({
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 50 },
  weight: 1,
  maxBatchSize: 8,
  maxQueueDelayMs: 0,
  ...change,
})

/** A process in virtual time whose batches take what a law says. */
class VirtualProcess {
  readonly instance: ServingInstance
  tenant: Tenant
  dead = false

  constructor(clock: VirtualClock, tenant: Tenant, batchMs: (batchSize: number) => number) {
    this.tenant = tenant
    const told = () => this.tenant
    this.instance = new ServingInstance({
      get tenant() {
        return told()
      },
      run: (requests, batchSize) => {
        expect(requests).toBeLessThanOrEqual(batchSize)
        expect(batchSize).toBeLessThanOrEqual(this.tenant.batchSize)
        void clock.sleep(batchMs(batchSize)).then(() => this.dead || this.instance.answered())
      },
    })
  }
}

/** The promise is of a thousand, as each week. */
const RUNS = cases(1000, 100)

const monotonic = ['timeMs', 'arrived', 'completed', 'late', 'shed', 'failed'] as const

/** Holds what must hold of counters at every instant. */
class Auditor {
  readonly #last = new Map<string, ServiceCounters>()

  check(all: readonly ServiceCounters[]): void {
    for (const counters of all) {
      const before = this.#last.get(counters.service)
      // One expectation: there are hundreds of thousands of readings.
      const holds =
        unaccountedRequests(counters) === 0 &&
        counters.latencies.count === counters.completed &&
        counters.late <= counters.completed &&
        counters.queued >= 0 &&
        counters.running >= 0 &&
        monotonic.every((key) => counters[key] >= (before?.[key] ?? 0))
      if (!holds) expect({ before, counters }).toBe('sums that agree and counters that rise')
      this.#last.set(counters.service, counters)
    }
  }
}

/** One run of random users, processes and faults. @returns how many requests were decided, by outcome */
async function randomRun(seed: number): Promise<Record<string, number>> {
  const random = new SeededRandom(seed)
  const draw = (below: number) => Math.floor(random.uniform() * below)
  const clock = new VirtualClock()
  const names = ['a', 'b', 'c'].slice(0, 1 + draw(3))
  const services = names.map((name) =>
    service({
      name,
      objective: { p99Ms: 5 + draw(60) },
      maxBatchSize: 1 + draw(8),
      maxQueueDelayMs: draw(2) * draw(20),
    }),
  )
  const desk = new RequestDesk({
    clock,
    trafficOf: () => ({
      ...(draw(2) === 0 ? { arrivals: poissonArrivals({ ratePerS: 50 + draw(400) }).start(seed) } : {}),
      saturating: draw(4) === 0 ? 1 + draw(6) : 0,
      maxQueued: 6 + draw(40),
      shedAfterMs: draw(2) === 0 ? 5 + draw(100) : Number.POSITIVE_INFINITY,
    }),
  })
  desk.serve(services)
  const auditor = new Auditor()
  const audit = () => auditor.check([...desk.departed, ...desk.counters()])
  const alive: VirtualProcess[] = []
  const start = () => {
    const name = names[draw(names.length)]!
    const tenant = { model: 'resnet50', mpsPercent: 1 + draw(50), batchSize: 1 + draw(10), service: name }
    const perSampleMs = 1 + draw(4)
    const process = new VirtualProcess(clock, tenant, (size) => perSampleMs * size)
    alive.push(process)
    desk.join(process.instance)
  }
  const decided: Record<string, number> = { completed: 0, shed: 0, failed: 0, aborted: 0 }
  const asked: Promise<unknown>[] = []
  const ask = () => {
    const calling = new AbortController()
    const bounded = draw(3) === 0 ? { deadlineMs: 1 + draw(40) } : {}
    const answer = desk.ask(names[draw(names.length)]!, { ...bounded, signal: calling.signal })
    if (draw(4) === 0) void clock.sleep(draw(40)).then(() => calling.abort(new Error('called off')))
    asked.push(
      answer.then(
        ({ outcome, reason, latencyMs }: Answer) => {
          decided[outcome]!++
          const holds = (outcome === 'completed') === (reason === undefined) && latencyMs >= 0
          if (!holds) expect({ outcome, reason, latencyMs }).toBe('an outcome with its reason, and a latency')
        },
        (error: Error) => {
          decided['aborted']!++
          expect(error.message).toBe('called off')
        },
      ),
    )
  }
  for (let i = 0; i < 2; i++) start()
  for (let step = 0; step < 25; step++) {
    await clock.sleep(draw(15))
    const what = draw(10)
    const victim = alive[draw(alive.length)]
    if (what < 4) for (let i = draw(8); i >= 0; i--) ask()
    else if (what < 6 && victim) {
      // Killed, busy or not.
      alive.splice(alive.indexOf(victim), 1)
      victim.dead = true
      desk.lost(victim.instance, 'killed')
    } else if (what < 8 && alive.length < 5) start()
    else if (what === 8) desk.admit(names[draw(names.length)]!, random.uniform())
    else if (victim) {
      const drained = draw(3) === 0
      if (drained) desk.leave(victim.instance)
      else {
        victim.tenant = { ...victim.tenant, service: names[draw(names.length)]! }
        desk.join(victim.instance)
      }
    }
    audit()
  }
  desk.close()
  audit()
  for (const process of alive) {
    process.dead = true
    desk.lost(process.instance, 'the end')
  }
  audit()
  for (const { queued, running } of desk.departed) expect({ queued, running }).toEqual({ queued: 0, running: 0 })
  await Promise.all(asked)
  expect(Object.values(decided).reduce((sum, count) => sum + count, 0)).toBe(asked.length)
  for (const { failed, failure } of desk.departed) expect(failure !== undefined).toBe(failed > 0)
  return decided
}

describe('requests', () => {
  it(`are answered, shed, failed, waiting or running, at every instant of ${RUNS} random runs with faults`, async () => {
    const total: Record<string, number> = {}
    for (let seed = 0; seed < RUNS; seed++) {
      for (const [outcome, count] of Object.entries(await randomRun(seed))) {
        total[outcome] = (total[outcome] ?? 0) + count
      }
    }
    // Runs in which nothing goes wrong, or nothing goes right, would hold nothing.
    for (const outcome of ['completed', 'shed', 'failed', 'aborted']) expect(total[outcome]).toBeGreaterThan(50)
  })

  it('meet in a pool what they meet on the simulated board, down to each latency', async () => {
    const spec = fc.record({
      seed: fc.nat(1e6),
      ratePerS: fc.integer({ min: 20, max: 900 }),
      burstiness: fc.constantFrom(1, 4),
      maxBatchSize: fc.integer({ min: 1, max: 16 }),
      maxQueueDelayMs: fc.constantFrom(0, 3.7, 20),
      maxQueued: fc.constantFrom(5, 10_000),
      admitted: fc.constantFrom(1, 0.6),
      baseMs: fc.constantFrom(1, 7),
      perSampleMs: fc.constantFrom(0.5, 3),
      tenants: fc.array(
        fc.record({ mpsPercent: fc.integer({ min: 1, max: 30 }), batchSize: fc.integer({ min: 1, max: 12 }) }),
        { minLength: 1, maxLength: 3 },
      ),
      // Where a queue is bounded, whoever is late leaves it sooner here than there, and makes room.
      shedAfterMs: fc.constantFrom(40, Number.POSITIVE_INFINITY),
    })
    const run = async ({ maxQueued, shedAfterMs, ...given }: typeof spec extends fc.Arbitrary<infer T> ? T : never) => {
      const { seed, ratePerS, burstiness, maxBatchSize, maxQueueDelayMs, baseMs, perSampleMs } = given
      const search = service({ maxBatchSize, maxQueueDelayMs })
      const bounds = { maxQueued: shedAfterMs < Infinity ? 10_000 : maxQueued, shedAfterMs }
      const arrivals = () => gammaArrivals({ ratePerS, burstiness }).start(seed)
      const tenants = given.tenants.map((each) => ({ ...each, model: 'resnet50', service: 'search' }))
      const batchMs = (size: number) => baseMs + perSampleMs * size

      const clock = new VirtualClock()
      const desk = new RequestDesk({ clock, trafficOf: () => ({ ...bounds, arrivals: arrivals() }) })
      desk.serve([search])
      desk.admit('search', given.admitted)
      for (const tenant of tenants) desk.join(new VirtualProcess(clock, tenant, batchMs).instance)

      const engine = new ServingEngine(
        lawful((tenant) => batchMs(tenant.batchSize)),
        0,
      )
      engine.addService({ ...bounds, service: search, arrivals: arrivals() })
      engine.admit('search', given.admitted)
      engine.setProcesses(tenants.map((tenant) => new TestProcess(tenant)))

      for (const untilMs of [133.3, 700.1]) {
        await clock.sleep(untilMs - clock.now())
        engine.advance(untilMs, 1000, 1000)
        const [here] = desk.counters()
        const [there] = engine.counters()
        const { latencies, timeMs: _, queued, shed, ...counts } = here!
        const { latencies: latenciesThere, timeMs: __, queued: queuedThere, shed: shedThere, ...countsThere } = there!
        expect(counts).toEqual(countsThere)
        // Those who are late and wait are shed there when it is their turn.
        expect(queued + shed).toBe(queuedThere + shedThere)
        if (shedAfterMs === Number.POSITIVE_INFINITY) expect(queued).toBe(queuedThere)
        for (const share of [0.5, 0.9, 0.99, 1]) {
          expect(latencies.quantileMs(share)).toBe(latenciesThere.quantileMs(share))
        }
      }
      desk.close()
    }
    await fc.assert(fc.asyncProperty(spec, run), { numRuns: cases(200, 40) })
  })
})
