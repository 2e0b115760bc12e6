/**
 * Compares the latencies of requests to real processes with a queue that has the same arrivals and batch times. The
 * processes only wait for known batch times; arrivals are Poisson. Single requests are compared with the M/D/1 law. All
 * cases are compared with the simulated board's queues for exactly the same arrivals. There, a batch takes the known
 * time plus the time to hand it over and back, which is measured beforehand without waiting requests.
 *
 * Needs a machine with free processors; on a loaded one, start it with `chrt -r 1`, so that the kernel prefers it.
 * Prints the table of the README of `@pctodl/tenants`, and fails if a quantile differs by more than the tolerance.
 * Usage: `tsx --conditions=@pctodl/source scripts/request-latencies.ts [seconds a case]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { type LatencyHistogram, type Service, systemClock, unaccountedRequests } from '@pctodl/platform'
import { InferencePool, RequestDesk, syntheticImages, timedWorker } from '@pctodl/tenants'
import { poissonArrivals } from '@pctodl/traffic'
import { ServingEngine } from '../packages/gpu-sim/src/serving/serving-engine.js'
import { lawful, TestProcess } from '../packages/gpu-sim/test/serving-laws.js'

interface Case {
  readonly name: string
  readonly ratePerS: number
  readonly baseMs: number
  readonly perSampleMs: number
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
  readonly instances: number
}

const cases: readonly Case[] = [
  {
    name: 'one at a time',
    ratePerS: 35,
    baseMs: 0,
    perSampleMs: 20,
    maxBatchSize: 1,
    maxQueueDelayMs: 0,
    instances: 1,
  },
  { name: 'busier', ratePerS: 42, baseMs: 0, perSampleMs: 20, maxBatchSize: 1, maxQueueDelayMs: 0, instances: 1 },
  { name: 'batches', ratePerS: 150, baseMs: 15, perSampleMs: 4, maxBatchSize: 8, maxQueueDelayMs: 0, instances: 1 },
  {
    name: 'batches that wait',
    ratePerS: 100,
    baseMs: 15,
    perSampleMs: 4,
    maxBatchSize: 8,
    maxQueueDelayMs: 25,
    instances: 1,
  },
  {
    name: 'three instances',
    ratePerS: 250,
    baseMs: 15,
    perSampleMs: 4,
    maxBatchSize: 4,
    maxQueueDelayMs: 5,
    instances: 3,
  },
]
/**
 * Tolerance of a quantile: a share of it, and in addition the time for messages, timers of a millisecond and a loaded
 * machine, ms.
 */
const TOLERANCE = 0.05
const TOLERANCE_MS = 3
/** Number of batches of each instance that are timed beforehand. */
const HANDED_OVER = 100
const SHARES = [0.5, 0.9, 0.99] as const

const seconds = Number(process.argv[2] ?? 60)
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-request-latencies-'))
const images = await syntheticImages({ folder, count: 1 })
let worst = 0
console.log(
  'case               hand-over ms  utilisation  requests   p50 ms (queue)   p90 ms (queue)   p99 ms (queue)   M/D/1 p50, p90, p99',
)
try {
  for (const [seed, each] of cases.entries()) {
    const { latencies: real, handOverMs } = await answered(each, seed)
    const queue = simulated({ ...each, baseMs: each.baseMs + handOverMs }, seed)
    const cells = SHARES.map((share) => {
      const [here, there] = [real.quantileMs(share), queue.latencies.quantileMs(share)]
      worst = Math.max(worst, (Math.abs(here - there) - TOLERANCE_MS) / there)
      return `${here.toFixed(1)} (${there.toFixed(1)})`.padStart(17)
    })
    const single = each.maxBatchSize === 1
    const law = SHARES.map((share) =>
      mD1QuantileMs(each.perSampleMs + handOverMs, each.ratePerS, share).toFixed(1),
    ).join(', ')
    const head = `${each.name.padEnd(18)} ${handOverMs.toFixed(2).padStart(12)}  ${queue.utilisation.toFixed(2).padStart(11)}  ${String(real.count).padStart(8)}`
    console.log(`${head}${cells.join('')}   ${single ? law : '-'}`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const load = loadavg()[0]!.toFixed(1)
console.log(
  `worst quantile off by ${(100 * Math.max(0, worst)).toFixed(1)} % beyond ${TOLERANCE_MS} ms; load of the machine ${load}`,
)
if (worst > TOLERANCE) {
  console.log(`more than ${100 * TOLERANCE} %: the machine is too busy to say, or the queues are wrong`)
  process.exitCode = 1
}

function serviceOf({ maxBatchSize, maxQueueDelayMs }: Case): Service {
  return { name: 'photos', model: 'a', objective: { p99Ms: 1000 }, weight: 1, maxBatchSize, maxQueueDelayMs }
}

/**
 * Runs a case with processes in real time. Returns the latencies from arrival to answer, and the time for handing over
 * a batch besides its run time, ms.
 */
async function answered(
  given: Case,
  seed: number,
): Promise<{ readonly latencies: LatencyHistogram; readonly handOverMs: number }> {
  const { ratePerS, instances, baseMs, perSampleMs, maxBatchSize: batchSize } = given
  // Arrivals begin only when all instances are ready.
  const desk = new RequestDesk({
    trafficOf: ({ name }) => (name === 'photos' ? { arrivals: poissonArrivals({ ratePerS }).start(seed) } : {}),
  })
  desk.serve([{ ...serviceOf(given), name: 'before', maxQueueDelayMs: 0 }])
  const pool = new InferencePool({ worker: timedWorker({ batchTimes: { baseMs, perSampleMs } }), images, desk })
  try {
    const before = { model: 'a', mpsPercent: Math.floor(100 / instances), batchSize, service: 'before' }
    const tenants = Array.from({ length: instances }, () => before)
    await pool.apply(tenants)
    await turnAroundMs(desk, given) // the first ones take longer
    const handOverMs = (await turnAroundMs(desk, given)) - baseMs - perSampleMs * batchSize
    desk.serve([{ ...serviceOf(given), name: 'before' }, serviceOf(given)])
    await pool.apply(tenants.map((tenant) => ({ ...tenant, service: 'photos' })))
    await systemClock.sleep(1000 * seconds)
    const counters = desk.counters().find(({ service }) => service === 'photos')!
    if (unaccountedRequests(counters) !== 0) throw new Error('requests are not accounted for')
    return { latencies: counters.latencies, handOverMs }
  } finally {
    desk.close()
    await pool.stop()
  }
}

/** Time from the start of a batch to the start of the next while enough requests wait, ms. */
async function turnAroundMs(desk: RequestDesk, { instances, maxBatchSize }: Case): Promise<number> {
  const startMs = systemClock.now()
  await Promise.all(Array.from({ length: HANDED_OVER * instances * maxBatchSize }, () => desk.ask('before')))
  return (systemClock.now() - startMs) / HANDED_OVER
}

/** Runs a case with the simulated board's queues, for the same arrivals and batch times. */
function simulated(given: Case, seed: number) {
  const { ratePerS, instances, baseMs, perSampleMs, maxBatchSize: batchSize } = given
  const engine = new ServingEngine(
    lawful((tenant) => baseMs + perSampleMs * tenant.batchSize),
    0,
  )
  engine.addService({ service: serviceOf(given), arrivals: poissonArrivals({ ratePerS }).start(seed) })
  const processes = Array.from(
    { length: instances },
    () => new TestProcess({ model: 'a', batchSize, service: 'photos' }),
  )
  engine.setProcesses(processes)
  engine.advance(1000 * seconds, 1000, 1000)
  const busyMs = processes.reduce((sum, { latencySumMs }) => sum + latencySumMs, 0)
  return { latencies: engine.counters()[0]!.latencies, utilisation: busyMs / (1000 * seconds * instances) }
}

/**
 * Quantile of waiting plus service time in an M/D/1 queue, ms, by Crommelin's series for the waiting time W: P(W <= t)
 * = (1 - rho) * sum over k of (-lambda (t - k D))^k / k! * exp(lambda (t - k D)), k from 0 to floor(t / D). lambda is
 * the arrival rate, D the service time and rho = lambda D.
 */
function mD1QuantileMs(serviceMs: number, ratePerS: number, share: number): number {
  const perMs = ratePerS / 1000
  const waitsAtMost = (ms: number) => {
    let sum = 0
    let logFactorial = 0
    for (let k = 0; k * serviceMs <= ms; k++) {
      if (k > 0) logFactorial += Math.log(k)
      const x = perMs * (ms - k * serviceMs)
      const size = k === 0 ? 1 : x === 0 ? 0 : Math.exp(k * Math.log(x) - logFactorial)
      sum += (k % 2 === 0 ? 1 : -1) * size * Math.exp(x)
    }
    return (1 - perMs * serviceMs) * sum
  }
  let [low, high] = [0, 20 * serviceMs]
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (waitsAtMost(middle) < share) low = middle
    else high = middle
  }
  return high + serviceMs
}
