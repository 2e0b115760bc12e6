/**
 * Compares the latencies of requests to real processes with the simulated board's queues, for exactly the same arrivals.
 * The processes only wait for known batch times; arrivals are Poisson. In the simulation, a batch takes the known time
 * plus the time to hand it over and back, which is measured beforehand without waiting requests.
 *
 *   node --import tsx --conditions=@pctodl/source scripts/request-latencies.ts [--seconds 60]
 *
 * Needs a machine with free processors; on a loaded one, start it with `chrt -r 1`, so that the kernel prefers it. Fails
 * if a quantile differs by more than the tolerance.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type LatencyHistogram, type Service, systemClock, unaccountedRequests } from '@pctodl/platform'
import { InferencePool, RequestDesk, syntheticImages, timedWorker } from '@pctodl/tenants'
import { poissonArrivals } from '@pctodl/traffic'
import { ServingEngine } from '../packages/gpu-sim/src/serving/serving-engine.js'
import { lawful, TestProcess } from '../packages/gpu-sim/test/serving-laws.js'
import { scriptOptions } from './evaluation/script-options.js'

interface Case {
  readonly ratePerS: number
  readonly baseMs: number
  readonly perSampleMs: number
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
  readonly instances: number
}

const single = { ratePerS: 35, baseMs: 0, perSampleMs: 20, maxBatchSize: 1, maxQueueDelayMs: 0, instances: 1 }
const batches = { ...single, ratePerS: 150, baseMs: 15, perSampleMs: 4, maxBatchSize: 8 }
const cases: Readonly<Record<string, Case>> = {
  'one at a time': single,
  busier: { ...single, ratePerS: 42 },
  batches,
  'batches that wait': { ...batches, ratePerS: 100, maxQueueDelayMs: 25 },
  'three instances': { ...batches, ratePerS: 250, maxBatchSize: 4, maxQueueDelayMs: 5, instances: 3 },
}
/**
 * Tolerance of a quantile: a share of it, and in addition the time for messages, timers of a millisecond and a loaded
 * machine, ms.
 */
const TOLERANCE = 0.05
const TOLERANCE_MS = 3
/** Number of batches of each instance that are timed beforehand. */
const HANDED_OVER = 100

const { seconds } = scriptOptions(import.meta.filename, { seconds: 60 })
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-request-latencies-'))
const images = await syntheticImages({ folder, count: 1 })
const rows: Record<string, unknown>[] = []
let worst = 0
try {
  for (const [seed, [name, each]] of Object.entries(cases).entries()) {
    const { latencies: real, handOverMs } = await answered(each, seed)
    const queue = simulated({ ...each, baseMs: each.baseMs + handOverMs }, seed)
    const row: Record<string, unknown> = { case: name, 'hand-over ms': handOverMs.toFixed(2), requests: real.count }
    for (const share of [0.5, 0.9, 0.99]) {
      const [here, there] = [real.quantileMs(share), queue.quantileMs(share)]
      worst = Math.max(worst, (Math.abs(here - there) - TOLERANCE_MS) / there)
      row[`p${100 * share} ms (queue)`] = `${here.toFixed(1)} (${there.toFixed(1)})`
    }
    rows.push(row)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.table(rows)
console.log(`worst quantile off by ${(100 * worst).toFixed(1)} % beyond ${TOLERANCE_MS} ms`)
process.exitCode = worst > TOLERANCE ? 1 : 0

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

/** Latencies of a case with the simulated board's queues, for the same arrivals and batch times. */
function simulated(given: Case, seed: number): LatencyHistogram {
  const { ratePerS, instances, baseMs, perSampleMs, maxBatchSize: batchSize } = given
  const engine = new ServingEngine(
    lawful((tenant) => baseMs + perSampleMs * tenant.batchSize),
    0,
  )
  engine.addService({ service: serviceOf(given), arrivals: poissonArrivals({ ratePerS }).start(seed) })
  const tenant = { model: 'a', batchSize, service: 'photos' }
  engine.setProcesses(Array.from({ length: instances }, () => new TestProcess(tenant)))
  engine.advance(1000 * seconds, 1000, 1000)
  return engine.counters()[0]!.latencies
}
