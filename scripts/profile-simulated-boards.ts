/**
 * Profiles the simulated boards as one would profile real boards: through the `Gpu` and `TenantPool` interfaces, with
 * the board's own sensors and common measuring windows. The measured unit has a calibrated power sensor without gain or
 * offset error, because shipped parameters describe the board type, and sensor errors belong to one unit. Writes
 * `<folder>/<board>.csv`.
 *
 *   pnpm profile-boards <folder> [board ...]
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { calibratedBoards, physicsOfBoard, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { findGpuSpec, formatTraceCsv, type TraceRow, VirtualClock } from '@pctodl/platform'
import { type DesignPoint, profileDesign } from './profile-designs.js'

const WARM_UP_MS = 15_000
const WINDOW_MS = 8_000
const SAMPLE_MS = 100

const [folder, ...boards] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder to write to')
mkdirSync(folder, { recursive: true })
for (const board of boards.length > 0 ? boards : calibratedBoards) {
  const spec = findGpuSpec(board)
  const started = performance.now()
  const rows = await profile(spec.key, profileDesign(spec, 20_260))
  writeFileSync(path.join(folder, `${spec.key}.csv`), formatTraceCsv(rows))
  const failed = rows.filter((row) => row.failed).length
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${spec.key}: ${rows.length} configurations in ${seconds} s, ${failed} of them ran out of memory`)
}

async function profile(board: string, design: readonly DesignPoint[]): Promise<TraceRow[]> {
  const clock = new VirtualClock()
  const physics = physicsOfBoard(board)
  const sensor = { ...physics.sensor, gainSigma: 0, gainRange: [1, 1] as const, offsetSigmaW: 0 }
  const gpu = new SimulatedGpu(board, { clock, seed: 7, physics: { ...physics, sensor } })
  const pool = new SimulatedTenants(gpu)
  const lease = await gpu.acquire()
  const rows: TraceRow[] = []
  try {
    for (const point of design) {
      await lease.lockSmClock(point.smClockMhz)
      await lease.lockMemClock(point.memClockMhz)
      await pool.apply(point.tenants)
      await clock.sleep(WARM_UP_MS)
      rows.push(await measure(gpu, pool, clock, point))
    }
  } finally {
    await pool.stop()
    await lease.release()
  }
  return rows
}

async function measure(
  gpu: SimulatedGpu,
  pool: SimulatedTenants,
  clock: VirtualClock,
  point: DesignPoint,
): Promise<TraceRow> {
  const before = pool.counters()
  const sums = { powerW: 0, maxW: 0, smClock: 0, smUtil: 0, memUtil: 0, count: 0 }
  let memoryUsedBytes = 0
  const endMs = clock.now() + WINDOW_MS
  while (clock.now() < endMs) {
    await clock.sleep(SAMPLE_MS)
    const reading = await gpu.sample()
    sums.powerW += reading.powerAverageW!
    sums.maxW = Math.max(sums.maxW, reading.powerAverageW!)
    sums.smClock += reading.smClockMhz!
    sums.smUtil += reading.smUtilPercent!
    sums.memUtil += reading.memUtilPercent!
    sums.count++
    memoryUsedBytes = reading.memoryUsedBytes!
  }
  const after = pool.counters()
  const failed = after.some((counter) => counter.state === 'failed')
  // Measured from completion to completion, so that the edge of a window never cuts a batch.
  const tenantThroughput = after.map((counter, i) => {
    const span = counter.lastCompletionMs - before[i]!.lastCompletionMs
    return span > 0 ? ((counter.samples - before[i]!.samples) / span) * 1000 : 0
  })
  const tenantLatencyMs = after.map((counter, i) => {
    const batches = counter.batches - before[i]!.batches
    return batches > 0 ? (counter.latencySumMs - before[i]!.latencySumMs) / batches : 0
  })
  const mean = (sum: number) => sum / sums.count
  return {
    tenants: point.tenants,
    targetSmClockMhz: point.smClockMhz,
    memClockMhz: point.memClockMhz,
    smClockMhz: mean(sums.smClock),
    smUtilPercent: mean(sums.smUtil),
    memUtilPercent: mean(sums.memUtil),
    throughput: tenantThroughput.reduce((sum, value) => sum + value, 0),
    powerAverageW: mean(sums.powerW),
    powerMaxW: sums.maxW,
    tenantThroughput,
    tenantLatencyMs,
    memoryUsedBytes,
    failed,
  }
}
