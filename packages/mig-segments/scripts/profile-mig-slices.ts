import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MigInstance, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { findGpuSpec, networkNames, PctodlError, type TenantCounters, VirtualClock } from '@pctodl/platform'
import { findMigBoard, formatProfileCsv, type ProfilePoint, type SegmentSize, segmentSizes } from '../src/index.js'

// Makes the example profiles that ship with this package: every network on every size of instance of a simulated board, with
// batches of 1 to 128 and one to three processes, in virtual time. The SM clock is locked at the board's base clock, which it
// holds with all its instances busy, and the rest of the board is busy too: a profile taken on an otherwise idle board promises
// what neighbours take away.
//
//   tsx --conditions=@pctodl/source scripts/profile-mig-slices.ts A100-80GB H100

const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128]
const processCounts = [1, 2, 3]
const WINDOW_MS = 1000
const LEAST_BATCHES = 4

for (const board of process.argv.slice(2)) {
  const folder = join(import.meta.dirname, '..', 'profiles', findMigBoard(board).key)
  mkdirSync(folder, { recursive: true })
  for (const model of networkNames) {
    const points: ProfilePoint[] = []
    for (const sizeGpcs of segmentSizes) {
      for (const batchSize of batchSizes) {
        for (const processes of processCounts) points.push(await measure(board, model, sizeGpcs, batchSize, processes))
      }
    }
    writeFileSync(join(folder, `${model}.csv`), formatProfileCsv({ model, points }))
    process.stderr.write(`${board} ${model}: ${points.length} points\n`)
  }
}

async function measure(
  board: string,
  model: string,
  sizeGpcs: SegmentSize,
  batchSize: number,
  processes: number,
): Promise<ProfilePoint> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock })
  const lease = await gpu.acquire()
  try {
    await lease.lockSmClock(sustainedClock(board))
    const instance = gpu.createMigInstance(findMigBoard(board).profileNames[sizeGpcs])
    await fillWithNeighbours(board, gpu)
    const pool = new SimulatedTenants(gpu, { instance })
    const mpsPercent = 100 / processes
    await pool.apply(Array.from({ length: processes }, () => ({ model, mpsPercent, batchSize })))
    const before = pool.counters()
    let after = before
    do {
      await clock.sleep(WINDOW_MS)
      after = pool.counters()
      if (after.some(({ state }) => state === 'failed')) {
        return { sizeGpcs, batchSize, processes, processThroughput: 0, latencyMs: 0 }
      }
    } while (after.some(({ batches }, i) => batches - before[i]!.batches < LEAST_BATCHES))
    const mean = (of: (at: TenantCounters, since: TenantCounters) => number) =>
      after.reduce((sum, counters, i) => sum + of(counters, before[i]!), 0) / processes
    return {
      sizeGpcs,
      batchSize,
      processes,
      // From completed batch to completed batch, so that no window cuts a batch in two.
      processThroughput: mean(
        (at, since) => (1000 * (at.samples - since.samples)) / (at.lastCompletionMs - since.lastCompletionMs),
      ),
      latencyMs: mean((at, since) => (at.latencySumMs - since.latencySumMs) / (at.batches - since.batches)),
    }
  } finally {
    await lease.release()
  }
}

/** A small network on every slice that is left. */
async function fillWithNeighbours(board: string, gpu: SimulatedGpu): Promise<void> {
  const profile = findMigBoard(board).profileNames[1]
  for (;;) {
    let instance: MigInstance
    try {
      instance = gpu.createMigInstance(profile)
    } catch (error) {
      if (error instanceof PctodlError && error.code === 'NO_ROOM') return
      throw error
    }
    await new SimulatedTenants(gpu, { instance }).apply([{ model: 'mobilenet_v2', mpsPercent: 100, batchSize: 8 }])
  }
}

/** The highest supported clock that is not above the board's base clock. */
function sustainedClock(board: string): number {
  const { clockStates, baseClockMhz } = findGpuSpec(board)
  const supported = clockStates.at(-1)!.smClocksMhz
  return supported.filter((clock) => clock <= baseClockMhz).at(-1)!
}
