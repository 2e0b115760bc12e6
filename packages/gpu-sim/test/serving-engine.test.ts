import { SeededRandom } from '@pctodl/numerics'
import { type ServiceCounters, unaccountedRequests } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { ServingEngine, type ServingEngineOptions } from '../src/serving/serving-engine.js'
import { lawful, poisson, service, TestProcess, times } from './serving-laws.js'
import { simulateByHand } from './serving-reference.js'

interface Queue {
  readonly ratePerS: number
  readonly batchMs: (batchSize: number) => number
  readonly maxBatchSize?: number
  readonly servers?: number
  readonly requests: number
  readonly options?: ServingEngineOptions
}

/** Run one service on alike processes for so many requests. */
function run({ ratePerS, batchMs, maxBatchSize = 1, servers = 1, requests, options = {} }: Queue) {
  const engine = new ServingEngine(
    lawful(({ batchSize }) => batchMs(batchSize)),
    0,
    options,
  )
  engine.addService({ service: service({ maxBatchSize }), arrivals: poisson(ratePerS, 7), maxQueued: 1e6 })
  const processes = Array.from({ length: servers }, () => new TestProcess({ batchSize: maxBatchSize }))
  engine.setProcesses(processes)
  const durationMs = (1000 * requests) / ratePerS
  engine.advance(durationMs, 1410, 1215)
  const [counters] = engine.counters()
  return { counters: counters!, processes, durationMs, mean: engine.mean }
}

/** Mean latency of all completed, ms: from Little's law on the histogram would be coarse; its buckets' middles are not. */
function meanLatencyMs({ latencies }: ServiceCounters): number {
  let sum = 0
  const steps = 20_000
  for (let i = 0; i < steps; i++) sum += latencies.quantileMs((i + 0.5) / steps)
  return sum / steps
}

/** Share of M/D/1 requests whose wait is at most `waitMs` (Crommelin 1932, Erlang 1909). */
function waitWithin(waitMs: number, serviceMs: number, load: number): number {
  const perMs = load / serviceMs
  let sum = 0
  for (let k = 0; k * serviceMs <= waitMs; k++) {
    const x = perMs * (waitMs - k * serviceMs)
    let term = Math.exp(x)
    for (let j = 1; j <= k; j++) term *= -x / j
    sum += term
  }
  return (1 - load) * sum
}

describe('against closed forms, within 2 %', () => {
  it.each([0.3, 0.6, 0.8])('M/D/1 at a load of %d: mean latency, and every quantile', (load) => {
    const { counters, mean } = run({ ratePerS: 500 * load, batchMs: () => 2, requests: 400_000 })
    expect(counters.arrived / 400_000).toBeCloseTo(1, 2)
    const expectedMs = 2 + (2 * load) / (2 * (1 - load))
    expect(Math.abs(meanLatencyMs(counters) / expectedMs - 1)).toBeLessThan(0.02)
    for (const share of [0.5, 0.9, 0.99]) {
      const latencyMs = counters.latencies.quantileMs(share)
      let [low, high] = [2, 200]
      while (high - low > 1e-3) {
        const middle = (low + high) / 2
        if (waitWithin(middle - 2, 2, load) < share) low = middle
        else high = middle
      }
      expect(Math.abs(latencyMs / high - 1), `p${100 * share}: ${latencyMs} ms, should be ${high} ms`).toBeLessThan(
        0.02,
      )
    }
    // The one process is busy for that share of the time.
    expect(Math.abs(mean.busySms / load - 1)).toBeLessThan(0.02)
    expect(Math.abs(mean.throughput / (500 * load) - 1)).toBeLessThan(0.02)
  })

  it.each([0.3, 0.7])('M/G/1 with a spread of %d: Pollaczek and Khinchine', (batchSpread) => {
    const load = 0.6
    const queue = { ratePerS: 500 * load, batchMs: () => 2, requests: 800_000 }
    const { counters } = run({ ...queue, options: { batchSpread, seed: 5 } })
    const secondMoment = 4 * Math.exp(batchSpread ** 2)
    const expectedMs = 2 + ((load / 2) * secondMoment) / (2 * (1 - load))
    expect(Math.abs(meanLatencyMs(counters) / expectedMs - 1)).toBeLessThan(0.02)
  })

  it.each([
    [8, 0.5],
    [8, 0.85],
    [32, 0.7],
  ])('batches of up to %d of constant time at a load of %d: the chain of queues that batches leave', (most, load) => {
    const batchMs = 5
    const ratePerS = (1000 * load * most) / batchMs
    const { counters } = run({ ratePerS, batchMs: () => batchMs, maxBatchSize: most, requests: 300_000 })
    expect(Math.abs(meanLatencyMs(counters) / bulkLatencyMs(ratePerS / 1000, batchMs, most) - 1)).toBeLessThan(0.02)
  })

  it('two processes of one queue: Erlang, where batches spread as an exponential', () => {
    // Lognormal with the variance of an exponential is close to M/M/2 in its mean wait: Lee and Longton's form is exact there.
    const load = 0.7
    const spread = Math.sqrt(Math.log(2))
    const queue = { ratePerS: 1000 * load, batchMs: () => 2, servers: 2, requests: 800_000 }
    const { counters } = run({ ...queue, options: { batchSpread: spread, seed: 3 } })
    const erlangC = (2 * load ** 2) / (1 + load)
    const expectedMs = 2 + (erlangC * 2) / (2 * (1 - load))
    expect(Math.abs(meanLatencyMs(counters) / expectedMs - 1)).toBeLessThan(0.04)
  })
})

/** Mean latency where a batch takes all that wait, at most `most`, in constant time: the embedded chain, solved by iteration. */
function bulkLatencyMs(perMs: number, batchMs: number, most: number): number {
  const states = 12 * most
  const mean = perMs * batchMs
  const arrivals = new Float64Array(states)
  arrivals[0] = Math.exp(-mean)
  for (let k = 1; k < states; k++) arrivals[k] = (arrivals[k - 1]! * mean) / k
  let left = new Float64Array(states)
  left[0] = 1
  for (let round = 0; round < 2000; round++) {
    const next = new Float64Array(states)
    for (let n = 0; n < states; n++) {
      const stay = Math.max(0, Math.max(1, n) - most)
      for (let k = 0; stay + k < states; k++) next[stay + k]! += left[n]! * arrivals[k]!
    }
    const moved = next.reduce((sum, x, i) => sum + Math.abs(x - left[i]!), 0)
    left = next
    if (moved < 1e-12) break
  }
  // Time that requests spend waiting in a cycle, over the requests that come in one; an empty queue waits for one first.
  let waitMs = 0
  left.forEach((share, n) => {
    waitMs += share * (Math.max(0, n - most) * batchMs + (perMs * batchMs ** 2) / 2)
  })
  const cycleMs = batchMs + left[0]! / perMs
  return waitMs / (perMs * cycleMs) + batchMs
}

describe('against an independent simulation', () => {
  let shed = 0
  let late = 0

  it.each([1, 2, 3, 4, 5, 6])('the same requests meet the same fate at the same time, case %i', (seed) => {
    const random = new SeededRandom(seed)
    const services = Array.from({ length: 1 + random.integer(3) }, (_, i) =>
      service({
        name: `s${i}`,
        maxBatchSize: 1 + random.integer(8),
        maxQueueDelayMs: random.integer(3) * 2.5,
        objective: { p99Ms: 20 },
      }),
    )
    const tenants = services.flatMap(({ name, maxBatchSize }) =>
      Array.from({ length: 1 + random.integer(2) }, (_, k) => ({
        model: 'resnet50',
        mpsPercent: 10 + 5 * k,
        batchSize: maxBatchSize,
        service: name,
      })),
    )
    const arrivalsMs = services.map((_, i) => {
      const source = poisson(150 + 600 * random.uniform(), seed * 10 + i)
      return Array.from({ length: 400 }, () => source.nextMs())
    })
    // A batch takes longer the larger it is and the more run beside it; the clock changes every 100 ms.
    const law = lawful(
      ({ batchSize, mpsPercent }, mix) =>
        ((2 + 0.8 * batchSize + mpsPercent / 50) * (1 + 0.2 * mix.tenants.length) * 1000) / mix.smClockMhz,
    )
    const clockAt = (timeMs: number) => 800 + 200 * (Math.floor(timeMs / 100) % 3)
    const engine = new ServingEngine(law, 0)
    services.forEach((each, i) => {
      engine.addService({ service: each, arrivals: times(arrivalsMs[i]!), maxQueued: 12 })
    })
    engine.setProcesses(tenants.map((tenant) => new TestProcess(tenant)))
    const untilMs = 8000
    for (let timeMs = 0; timeMs < untilMs; timeMs += 100) engine.advance(timeMs + 100, clockAt(timeMs), 1000)

    const byHand = simulateByHand({ law, services, tenants, arrivalsMs, maxQueued: 12, clockAt, untilMs })
    engine.counters().forEach((counters, i) => {
      const hand = byHand[i]!
      shed += counters.shed
      late += counters.late
      expect(counters).toMatchObject({ arrived: 400, shed: hand.shed, completed: hand.latenciesMs.length, queued: 0 })
      const sorted = hand.latenciesMs.sort((a, b) => a - b)
      for (const share of [0.1, 0.5, 0.9, 0.99]) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1]!
        expect(Math.abs(counters.latencies.quantileMs(share) / exact - 1)).toBeLessThan(0.008)
      }
      expect(counters.late).toBe(sorted.filter((latencyMs) => latencyMs > 20).length)
    })
  })

  it('comes by requests that are shed, and by late ones', () => {
    expect(shed).toBeGreaterThan(100)
    expect(late).toBeGreaterThan(100)
  })
})

/** Each week of a thousand. */
const RUNS = cases(1000, 100)

describe('sums', () => {
  it(`agree at every instant of ${RUNS} random runs with faults, and time only goes forward`, () => {
    let failed = 0
    let completed = 0
    for (let seed = 0; seed < RUNS; seed++) {
      const random = new SeededRandom(seed)
      const engine = new ServingEngine(
        lawful(({ batchSize }, { tenants }) => 1 + batchSize * tenants.length * 0.7),
        0,
        { seed, batchSpread: 0.3 * random.integer(2) },
      )
      const names = ['a', 'b', 'c'].slice(0, 1 + random.integer(3))
      for (const name of names) {
        engine.addService({
          service: service({ name, maxBatchSize: 1 + random.integer(6), maxQueueDelayMs: random.integer(2) * 3 }),
          arrivals: poisson(100 + 500 * random.uniform(), seed),
          maxQueued: 1 + random.integer(40),
          ...(random.integer(3) === 0 ? { shedAfterMs: 10 } : {}),
        })
      }
      let processes: TestProcess[] = []
      const start = () => {
        const name = random.integer(4) === 0 ? undefined : names[random.integer(names.length)]!
        const process = new TestProcess({ batchSize: 1 + random.integer(6), mpsPercent: 20 })
        const { service: _, ...tenant } = process.tenant
        process.tenant = name === undefined ? tenant : { ...tenant, service: name }
        processes = [...processes, process]
      }
      for (let i = 0; i < 3; i++) start()
      engine.setProcesses(processes)
      let before = engine.counters()
      for (let timeMs = 0; timeMs < 70; ) {
        const fate = random.integer(10)
        if ((fate === 0 || fate === 6 || fate === 7) && processes.length > 0)
          processes = processes.filter((_, i) => i !== random.integer(processes.length))
        else if (fate === 1 || fate >= 8) start()
        else if (fate === 2 && processes.length > 0) processes[0]!.hung = !processes[0]!.hung
        else if (fate === 3) engine.admit(names[0]!, random.uniform())
        else if (fate === 4) engine.changeService(service({ name: names[0]!, maxBatchSize: 1 + random.integer(8) }))
        else if (fate === 5 && processes.length > 0) {
          const process = processes[random.integer(processes.length)]!
          process.wantsBatchSize = true
          if (!engine.busy(process)) {
            process.tenant = { ...process.tenant, batchSize: 1 + random.integer(6) }
            process.wantsBatchSize = false
          }
        }
        if (fate <= 2 || fate >= 5) engine.setProcesses(processes)
        // Any instant: not only the edges of ticks.
        timeMs += 7 * random.uniform()
        engine.advance(timeMs, 1000 + 100 * random.integer(3), 1000, 1 + 0.1 * random.integer(2))
        const after = engine.counters()
        after.forEach((counters, i) => {
          const earlier = before[i]!
          if (unaccountedRequests(counters) !== 0) throw new Error(`seed ${seed}: ${JSON.stringify(counters)}`)
          for (const key of ['timeMs', 'arrived', 'completed', 'late', 'shed', 'failed'] as const) {
            if (counters[key] < earlier[key]) throw new Error(`seed ${seed}: ${key} fell`)
          }
          if (counters.queued < 0 || counters.running < 0 || counters.latencies.count !== counters.completed) {
            throw new Error(`seed ${seed}: ${JSON.stringify(counters)}`)
          }
          // A restart may put back what it had begun with, at most a batch of each process.
          if (counters.queued > 40 + 8 * processes.length + 8 * 12)
            throw new Error(`seed ${seed}: a queue of ${counters.queued}`)
        })
        before = after
      }
      failed += before.reduce((sum, counters) => sum + counters.failed, 0)
      completed += before.reduce((sum, counters) => sum + counters.completed, 0)
    }
    // The runs do come by what they are meant to come by.
    expect(failed).toBeGreaterThan(RUNS / 50)
    expect(completed).toBeGreaterThan(10 * RUNS)
  })
})

describe('a batch', () => {
  const batches = (maxQueueDelayMs: number, arrivalsMs: readonly number[], maxBatchSize = 4) => {
    const engine = new ServingEngine(
      lawful(({ batchSize }) => 10 * batchSize),
      0,
    )
    engine.addService({ service: service({ maxBatchSize, maxQueueDelayMs }), arrivals: times(arrivalsMs) })
    const process = new TestProcess({ batchSize: maxBatchSize })
    engine.setProcesses([process])
    return { engine, process }
  }

  it('waits for others, but not for long', () => {
    const { engine, process } = batches(5, [1, 2, 30, 31, 32, 33])
    engine.advance(6, 1000, 1000)
    expect(engine.counters()[0]).toMatchObject({ arrived: 2, queued: 0, running: 2 })
    engine.advance(26, 1000, 1000)
    expect(process).toMatchObject({ batches: 1, samples: 2, lastCompletionMs: 26, latencySumMs: 20 })
    // Four fill the batch at 33: nobody waits until 35.
    engine.advance(33, 1000, 1000)
    expect(engine.counters()[0]).toMatchObject({ arrived: 6, running: 4, completed: 2 })
  })

  it('of three takes as long as one of four, the next size that is compiled', () => {
    const { engine, process } = batches(0, [0, 5, 6, 7])
    engine.advance(100, 1000, 1000)
    expect(process).toMatchObject({ batches: 2, samples: 4, lastCompletionMs: 50 })
  })

  it('goes on at another pace when a clock or a neighbour changes amid it', () => {
    const engine = new ServingEngine(
      lawful((_, { smClockMhz, tenants }) => (1000 * 100 * tenants.length) / smClockMhz),
      0,
    )
    engine.addService({ service: service(), arrivals: times([0]) })
    engine.addService({ service: service({ name: 'other' }), arrivals: times([50]) })
    const [first, second] = [new TestProcess(), new TestProcess({ service: 'other' })]
    engine.setProcesses([first, second])
    engine.advance(25, 1000, 1000) // a quarter of 100 ms
    engine.advance(50, 500, 1000) // an eighth of 200 ms; then a neighbour comes: 400 ms each
    engine.advance(51, 500, 1000)
    expect(engine.mean.busySms).toBe(2)
    engine.advance(1000, 500, 1000)
    // 5/8 are left at 50: 250 ms. The other has done 5/8 then too, and ends alone: 75 ms more.
    expect(first.lastCompletionMs).toBeCloseTo(300, 9)
    expect(second.lastCompletionMs).toBeCloseTo(375, 9)
    expect(engine.mean.busySms).toBeCloseTo((2 * (300 - 51) + 75) / (1000 - 51), 9)
    expect(engine.mean.flopPerS).toBeCloseTo(10 * engine.mean.busySms, 9)
  })

  it('lost with its process goes to another one first in line, and fails the second time', () => {
    const engine = new ServingEngine(
      lawful(() => 100),
      0,
    )
    engine.addService({ service: service(), arrivals: times([0, 10]) })
    const [first, second] = [new TestProcess(), new TestProcess()]
    engine.setProcesses([first])
    engine.advance(50, 1000, 1000)
    engine.setProcesses([second])
    expect(engine.counters()[0]).toMatchObject({ running: 0, queued: 2, failed: 0 })
    engine.advance(100, 1000, 1000)
    expect(engine.counters()[0]).toMatchObject({ running: 1, queued: 1 })
    engine.setProcesses([])
    expect(engine.counters()[0]).toMatchObject({
      failed: 1,
      queued: 1,
      failure: expect.stringContaining('two processes'),
    })
    engine.setProcesses([first])
    engine.advance(250, 1000, 1000)
    // The second request waited for all that: from 10 to 200.
    expect(engine.counters()[0]!.completed).toBe(1)
    expect(engine.counters()[0]!.latencies.quantileMs(1)).toBeCloseTo(190, -1)
  })

  it('of a process that hangs stays with it, and goes on when it does', () => {
    const { engine, process } = batches(0, [0, 1])
    engine.advance(5, 1000, 1000)
    process.hung = true
    engine.setProcesses([process])
    engine.advance(500, 1000, 1000)
    expect(engine.counters()[0]).toMatchObject({ running: 1, queued: 1, completed: 0 })
    expect(engine.mean.busySms).toBe(0)
    process.hung = false
    engine.setProcesses([process])
    engine.advance(505, 1000, 1000)
    expect(engine.counters()[0]).toMatchObject({ running: 1, queued: 0, completed: 1 })
  })
})

describe('shedding', () => {
  it('lets in a share of the arrivals, evenly', () => {
    const engine = new ServingEngine(
      lawful(() => 1),
      0,
    )
    engine.addService({ service: service(), arrivals: times(Array.from({ length: 1000 }, (_, i) => 2 * i)) })
    engine.setProcesses([new TestProcess()])
    engine.admit('search', 0.3)
    engine.advance(199, 1000, 1000)
    const first = engine.counters()[0]!
    expect(first.arrived).toBe(100)
    expect(Math.abs(first.shed - 70)).toBeLessThanOrEqual(1)
    engine.advance(3000, 1000, 1000)
    expect(Math.abs(engine.counters()[0]!.shed - 700)).toBeLessThanOrEqual(1)
  })

  it('keeps a queue within its bound, and lets go who has waited too long', () => {
    const engine = new ServingEngine(
      lawful(() => 100),
      0,
    )
    const arrivals = times([0, 1, 2, 3, 4])
    engine.addService({ service: service(), arrivals, maxQueued: 3, shedAfterMs: 150 })
    engine.setProcesses([new TestProcess()])
    engine.advance(50, 1000, 1000)
    expect(engine.counters()[0]).toMatchObject({ running: 1, queued: 3, shed: 1 })
    engine.advance(1000, 1000, 1000)
    // At 100 the first of the queue has waited for 99 ms; at 200 the others for more than 150.
    expect(engine.counters()[0]).toMatchObject({ completed: 2, shed: 3, queued: 0 })
  })
})
